//! Zones without time: they are filled in order, overwritten whole, or changed by commands. Units
//! beside the zones, of other sets of dies, are written as on a drive without zones.

use super::{Device, Untimed, overwrite, settle_all, settle_wanted, write, write_key};
use crate::ftl::contract::{Ftl, Hint, Lpn, ZoneLayout, ZoneState, Zones, key_among};
use crate::terms::request::Op;
use base::{Error, Result};
use std::ops::Range;

/// Zones of an FTL that has them.
fn zones_of<F: Ftl + ?Sized>(ftl: &mut F) -> &mut dyn Zones {
    ftl.zones_mut().expect("the caller has asked for zones")
}

/// Writes units: those of zones at the write pointers, and others anywhere.
pub(super) fn write_beside<F: Ftl + ?Sized, D: Device + ?Sized>(
    ftl: &mut F,
    lpns: &[Lpn],
    untimed: &mut Untimed,
    device: &mut D,
) -> Result<()> {
    let layout = zones_of(ftl).layout();
    for run in lpns.chunk_by(|&a, &b| layout.contains(a) == layout.contains(b)) {
        if layout.contains(run[0]) {
            write_in_order(ftl, run, untimed, device)?;
        } else {
            write(ftl, run, untimed, device)?;
        }
    }
    Ok(())
}

/// Writes units in order at the write pointers of their zones; passes over units beyond what zones
/// take.
fn write_in_order<F: Ftl + ?Sized, D: Device + ?Sized>(
    ftl: &mut F,
    lpns: &[Lpn],
    untimed: &mut Untimed,
    device: &mut D,
) -> Result<()> {
    let layout = zones_of(ftl).layout();
    let mut rest = lpns;
    while let Some(&first) = rest.first() {
        let Some((zone, offset)) = layout.split(first) else { return Ok(()) };
        let stays =
            |&(lpn, next): &(&Lpn, u32)| lpn.0 == next && layout.units_of(zone).contains(&next);
        // A random write area takes as much as it is long.
        let areas = layout.areas.filter(|_| zones_of(ftl).view(zone).has_area);
        let most = areas.map_or(usize::MAX, |areas| areas.units as usize);
        let run = rest.iter().zip(first.0..).take_while(stays).take(most).count();
        let (of_zone, behind) = rest.split_at(run);
        rest = behind;
        let room = layout.capacity.saturating_sub(offset);
        let units = room.min(of_zone.len() as u32);
        if units > 0 && admits(ftl, Op::Write, first, units, device)? {
            send_rows(ftl, &layout, zone, untimed, device)?;
        }
    }
    Ok(())
}

/// Places the whole rows of a zone that are admitted.
fn send_rows<F: Ftl + ?Sized, D: Device + ?Sized>(
    ftl: &mut F,
    layout: &ZoneLayout,
    zone: u32,
    untimed: &mut Untimed,
    device: &mut D,
) -> Result<()> {
    let (row, units) = (ftl.facts().row_units, zones_of(ftl).unplaced(zone));
    let first = layout.units_of(zone).start + units.start;
    let whole = (units.end - units.start) / row * row;
    place(ftl, first..first + whole, untimed, device)
}

/// Places units of a zone, in order.
fn place<F: Ftl + ?Sized, D: Device + ?Sized>(
    ftl: &mut F,
    units: Range<u32>,
    untimed: &mut Untimed,
    device: &mut D,
) -> Result<()> {
    let lpns: Vec<Lpn> = units.map(Lpn).collect();
    let Some(&first) = lpns.first() else { return Ok(()) };
    // A zone takes its rows by any of its keys.
    let keys = ftl.facts().keys;
    let key = key_among(ftl, keys, first, Hint::default());
    write_key(ftl, key, &lpns, untimed, device)
}

/// Carries out an append of one unit, or a command on a zone, with the erases and the padding that
/// follow from it. A commit is named by the last unit of it, other commands by the first of the
/// zone. Refuses what the zone does not admit.
pub(super) fn command<F: Ftl + ?Sized, D: Device + ?Sized>(
    ftl: &mut F,
    op: Op,
    named: Lpn,
    untimed: &mut Untimed,
    device: &mut D,
) -> Result<()> {
    let layout = zones_of(ftl).layout();
    let Some((zone, offset)) = layout.split(named) else { return Ok(()) };
    let (first, units) = match op {
        Op::ZoneCommit => (Lpn(named.0 - offset), offset + 1),
        _ => (named, 1),
    };
    if !admits(ftl, op, first, units, device)? {
        return Ok(());
    }
    match op {
        Op::ZoneAppend | Op::ZoneCommit => send_rows(ftl, &layout, zone, untimed, device)?,
        Op::ZoneFinish if zones_of(ftl).is_finishing(zone) => {
            let unplaced = zones_of(ftl).unplaced(zone);
            place(ftl, first.0 + unplaced.start..first.0 + unplaced.end, untimed, device)?;
            while zones_of(ftl).is_finishing(zone) {
                if settle_all(ftl, untimed, device)? == 0 {
                    let problem = format!("zone {zone} cannot be finished");
                    return Err(ftl.fault(true).unwrap_or_else(|| Error::new("ftl", problem)));
                }
            }
        }
        _ => {}
    }
    settle_wanted(ftl, untimed, device)
}

/// Admits a request. False where blocks have failed and none could be spared, so that the zone is
/// out of use: the device learns of it.
fn admits<F: Ftl + ?Sized, D: Device + ?Sized>(
    ftl: &mut F,
    op: Op,
    first: Lpn,
    units: u32,
    device: &mut D,
) -> Result<bool> {
    let zones = zones_of(ftl);
    let Err(status) = zones.admit(op, first, units) else { return Ok(true) };
    let Some((zone, offset)) = zones.layout().split(first) else { return Ok(false) };
    if matches!(zones.view(zone).state, ZoneState::ReadOnly | ZoneState::Offline) {
        device.cannot_spare(zones.layout().first_block);
        return Ok(false);
    }
    let problem = format!("{} at unit {offset} of zone {zone}: {}", op.name(), status.name());
    Err(Error::new("zones", problem).expected("requests that the state of their zone allows"))
}

/// Overwrites `count` units in all: each time that there are enough of zones for it, the zone of a
/// drawn unit is emptied and written anew. Units beside the zones are overwritten one by one.
pub(super) fn overwrite_beside<F: Ftl + ?Sized, D: Device + ?Sized>(
    ftl: &mut F,
    count: u64,
    draw: &mut dyn FnMut() -> Lpn,
    untimed: &mut Untimed,
    device: &mut D,
) -> Result<()> {
    let layout = zones_of(ftl).layout();
    let capacity = u64::from(layout.capacity);
    if layout.is_all(ftl.facts().logical_units) {
        // One draw for each zone: all units are of zones.
        *zones_of(ftl).overwriting() += count;
        while *zones_of(ftl).overwriting() >= capacity {
            *zones_of(ftl).overwriting() -= capacity;
            rewrite(ftl, &layout, draw(), untimed, device)?;
        }
        return Ok(());
    }
    let mut others = Vec::new();
    for _ in 0..count {
        let lpn = draw();
        if !layout.contains(lpn) {
            others.push(lpn);
            continue;
        }
        *zones_of(ftl).overwriting() += 1;
        if *zones_of(ftl).overwriting() >= capacity {
            *zones_of(ftl).overwriting() -= capacity;
            rewrite(ftl, &layout, lpn, untimed, device)?;
        }
    }
    let mut drawn = others.iter().copied();
    let last = others.last().copied().unwrap_or(Lpn(0));
    // More are drawn ahead than are written.
    let mut draw = || drawn.next().unwrap_or(last);
    overwrite(ftl, others.len() as u64, &mut draw, untimed, device)
}

/// Empties the zone of a unit, and writes it anew.
fn rewrite<F: Ftl + ?Sized, D: Device + ?Sized>(
    ftl: &mut F,
    layout: &ZoneLayout,
    of: Lpn,
    untimed: &mut Untimed,
    device: &mut D,
) -> Result<()> {
    let Some((zone, _)) = layout.split(of) else { return Ok(()) };
    let zones = zones_of(ftl);
    if matches!(zones.view(zone).state, ZoneState::ReadOnly | ZoneState::Offline) {
        return Ok(());
    }
    let first = layout.units_of(zone).start;
    let is_emptied = zones.admit(Op::ZoneReset, Lpn(first), 0).is_ok();
    // A zone that could not be opened beside others that are stays empty.
    if is_emptied && zones.admit(Op::Write, Lpn(first), layout.capacity).is_ok() {
        place(ftl, first..first + layout.capacity, untimed, device)?;
    }
    Ok(())
}
