//! One client: its requests go to the disk, its answers come back.
//!
//! Without a clock (`at_once`) the client's own thread runs the drive until its requests are
//! complete: no other thread has to be woken for an answer. With a clock (`paced`) a second thread
//! sends the answers when their time has come. `nvme` is a host of an NVMe drive, with and without
//! a clock. `patient` is its socket.

mod at_once;
mod nvme;
mod paced;
mod patient;

use super::Protocol;
use super::disk::Answered;
use super::message::Failure;
use super::nbd::{self, Broken};
use super::server::Shared;
use super::socket::Socket;
use patient::Patient;
use std::io::BufReader;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Longest handshake of a client.
const HANDSHAKE: Duration = Duration::from_secs(10);

/// Time between two looks at whether the server goes on, while a thread waits for a client.
pub(super) const LOOK: Duration = Duration::from_millis(100);

/// Requests taken from a client before the first of them is answered, and their bytes: further ones
/// stay in its socket.
const MOST_REQUESTS: usize = 256;
const MOST_BYTES: usize = 4 << 20;

/// Lateness from which on an answer counts as late: no thread can be woken much faster.
pub(super) const LATE: Duration = Duration::from_micros(50);

/// Message from the thread that runs the drive to the one that writes to a client.
pub(super) enum Outgoing {
    /// The answer to a request.
    Answered(Answered),
    /// A request that never came to the drive.
    Refused {
        /// Its cookie, which the answer carries.
        cookie: u64,
        /// Reason of the refusal.
        failure: Failure,
    },
}

/// Serves a client until it leaves. Returns its error against the protocol, if that ended it.
pub(super) fn serve(
    shared: &Arc<Shared>,
    protocol: Protocol,
    number: usize,
    socket: Socket,
) -> Option<String> {
    let cuts = shared.cuts();
    let outcome = talk(shared, protocol, number, &socket, cuts);
    socket.close();
    shared.forget(number);
    match outcome {
        Ok(()) => None,
        Err(_) if shared.is_over(cuts) => None,
        Err(broken) => Some(broken.to_string()),
    }
}

fn talk(
    shared: &Arc<Shared>,
    protocol: Protocol,
    number: usize,
    socket: &Socket,
    cuts: u64,
) -> std::result::Result<(), Broken> {
    socket.set_patience(LOOK)?;
    if protocol == Protocol::Nvme
        && let Some(subsystem) = &shared.subsystem
    {
        return nvme::talk(shared, subsystem, number, socket, cuts);
    }
    let deadline = Some(Instant::now() + HANDSHAKE);
    let patient = |deadline| Patient::new(socket, shared, cuts, deadline);
    let Some(agreed) = nbd::handshake(&mut patient(deadline)?, &shared.export)? else {
        return Ok(());
    };
    let mut input = BufReader::with_capacity(1 << 18, patient(None)?);
    let mut output = patient(None)?;
    if shared.is_paced() {
        paced::paced(shared, number, cuts, &agreed, &mut input, output)
    } else {
        at_once::at_once(shared, number, cuts, &agreed, &mut input, &mut output)
    }
}
