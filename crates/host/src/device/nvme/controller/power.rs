//! Power states of an idle drive: their descriptors, and when the drive enters them by itself.
//!
//! State 0 is that of the awake drive; the others follow in the order in which the drive enters
//! them, and take no commands.

use crate::device::nvme::put;
use crate::device::nvme::subsystem::Identity;

/// States in the table of transitions, and its bytes.
const MOST_STATES: usize = 32;
const TABLE_BYTES: usize = 8 * MOST_STATES;

/// Bits of a descriptor: the power is in units of 0.1 mW, and the state takes no commands.
const FINE: u8 = 1;
const NOT_OPERATIONAL: u8 = 1 << 1;

/// Power of a state in the field of a descriptor, and whether its unit is 0.1 mW (else 10 mW).
fn power(power_mw: f64) -> (u16, bool) {
    let is_fine = power_mw < 6553.5;
    let units = power_mw / if is_fine { 0.1 } else { 10.0 };
    (units.round() as u16, is_fine)
}

/// Describes the states in the page of a controller.
pub(super) fn describe(page: &mut [u8], identity: &Identity) {
    let states = &identity.power_states;
    let count = states.len().min(MOST_STATES - 1);
    page[263] = count as u8;
    // The drive enters its states by itself.
    page[265] = u8::from(count > 0);
    for (number, state) in states.iter().enumerate().take(count) {
        let at = 2048 + 32 * (number + 1);
        let (power, is_fine) = power(state.power_mw);
        put(page, at, &power.to_le_bytes());
        page[at + 3] = NOT_OPERATIONAL | if is_fine { FINE } else { 0 };
        put(page, at + 4, &(state.entry_us.ceil() as u32).to_le_bytes());
        put(page, at + 8, &(state.exit_us.ceil() as u32).to_le_bytes());
        // Its power when idle, which is all that it ever takes.
        put(page, at + 16, &power.to_le_bytes());
        page[at + 18] = if is_fine { 1 << 6 } else { 2 << 6 };
        // Slower than all states before it.
        page[at + 12..at + 16].fill(number as u8 + 1);
    }
}

/// Table of the transitions: for each state the next one, and the idle time until then in ms.
pub(super) fn transitions(identity: &Identity) -> Vec<u8> {
    let mut table = vec![0; TABLE_BYTES];
    let mut since_ms = 0.0;
    for (number, state) in identity.power_states.iter().enumerate().take(MOST_STATES - 1) {
        let idle_ms = (state.idle_ms - since_ms).ceil().clamp(1.0, f64::from((1 << 24) - 1));
        let entry = (number as u64 + 1) << 3 | (idle_ms as u64) << 8;
        put(&mut table, 8 * number, &entry.to_le_bytes());
        since_ms = state.idle_ms;
    }
    table
}
