//! Requests and completions as they cross the border.

use base::{Error, Result, Time};
use host::lockstep::Done;
use ssd::request::{self, Op};

/// Operation of a request: a value of `op`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub enum Operation {
    /// Returns the newest data.
    Read = 0,
    /// Replaces the data by new ones.
    Write = 1,
    /// Forgets the data (discard, deallocate).
    Trim = 2,
    /// Makes all data durable that were acknowledged; offset and length are 0.
    Flush = 3,
    /// Writes at the write pointer of the zone that begins at the offset; the completion tells the
    /// place.
    ZoneAppend = 4,
    /// Empties the zone that begins at the offset; the length is 0.
    ZoneReset = 5,
    /// Makes the zone full; the length is 0.
    ZoneFinish = 6,
    /// Opens the zone, and keeps it open; the length is 0.
    ZoneOpen = 7,
    /// Closes the zone; the length is 0.
    ZoneClose = 8,
    /// Opens the zone with a random write area; the length is 0.
    ZoneOpenArea = 9,
    /// Commits the random write area of the zone that begins at the offset up to the end of the
    /// request.
    ZoneCommit = 10,
}

/// End of a request by the names of NVM Express: a value of `status`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub enum Status {
    /// Successful Completion: the request was carried out.
    Success = 0,
    /// Invalid Command Opcode: the drive does not know the operation.
    InvalidOpcode = 1,
    /// Invalid Field in Command: no whole units, or not the start of a zone.
    InvalidField = 2,
    /// Zone Boundary Error: the request goes beyond the zone or its data.
    ZoneBoundaryError = 3,
    /// Zone Is Full: no room is left.
    ZoneIsFull = 4,
    /// Zone Is Read Only: the zone takes no writes any more.
    ZoneIsReadOnly = 5,
    /// Zone Is Offline: the zone is out of use.
    ZoneIsOffline = 6,
    /// Zone Invalid Write: the write does not begin at the write pointer.
    ZoneInvalidWrite = 7,
    /// Too Many Active Zones: the limit is reached.
    TooManyActiveZones = 8,
    /// Too Many Open Zones: the limit is reached.
    TooManyOpenZones = 9,
    /// Invalid Zone State Transition: the zone cannot go there from its state.
    InvalidZoneStateTransition = 10,
    /// Invalid Zone Operation Request: the zone has a random write area, or cannot have one.
    InvalidZoneOperation = 11,
    /// ZRWA Resources Unavailable: all random write areas are taken.
    AreasUnavailable = 12,
}

/// Request to a drive.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct Request {
    /// Number of the caller's choice, which the completion has again.
    pub tag: u64,
    /// Time at which the request arrives, in ns: the present time of the drive or a later one.
    pub at_ns: u64,
    /// First byte, a multiple of 512.
    pub offset: u64,
    /// Bytes, a multiple of 512.
    pub length: u64,
    /// Operation of the request, of `nandlab_operation`.
    pub op: u8,
    /// Hint of writes: data of one stream or placement handle die together; 0 says nothing.
    pub stream: u8,
    /// Whether a write is acknowledged only when it is durable (force unit access).
    pub fua: bool,
    /// Hint of writes: whether somebody waits for this one.
    pub is_urgent: bool,
}

impl Request {
    /// The request as drives take it, and the time at which it arrives.
    pub fn read(&self) -> Result<(request::Request, Time)> {
        let &Self { at_ns, offset, length, op, stream, fua, is_urgent, .. } = self;
        let op = *Op::ALL.get(usize::from(op)).ok_or_else(|| {
            let most = Op::ALL.len() - 1;
            Error::new("op", op.to_string()).expected(format!("0 to {most}, of nandlab_operation"))
        })?;
        Ok((request::Request { op, fua, stream, is_urgent, offset, length }, Time(at_ns)))
    }
}

/// Completion of a request.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Completion {
    /// Number of the request, as it was given.
    pub tag: u64,
    /// Time at which the request arrived, in ns. The latency is the difference to `at_ns`.
    pub arrival_ns: u64,
    /// Time of the completion, in ns.
    pub at_ns: u64,
    /// First byte of the request; of a zone append the place of its data.
    pub offset: u64,
    /// Reason for which a zoned drive has refused the request, of `nandlab_status`.
    pub status: u8,
    /// Whether data could not be corrected, or the drive has refused the request.
    pub has_failed: bool,
}

impl From<Done> for Completion {
    fn from(done: Done) -> Self {
        let Done { tag, offset, arrival, at, has_failed, status } = done;
        let place = request::Status::ERRORS.iter().position(|&error| error == status);
        let status = place.map_or(0, |place| place as u8 + 1);
        Self { tag, arrival_ns: arrival.ns(), at_ns: at.ns(), offset, status, has_failed }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The numbers of the header are those of the engine.
    #[test]
    fn numbers_have_the_order_of_the_engine() {
        let operations = [
            (Operation::Read, Op::Read),
            (Operation::Write, Op::Write),
            (Operation::Trim, Op::Trim),
            (Operation::Flush, Op::Flush),
            (Operation::ZoneAppend, Op::ZoneAppend),
            (Operation::ZoneReset, Op::ZoneReset),
            (Operation::ZoneFinish, Op::ZoneFinish),
            (Operation::ZoneOpen, Op::ZoneOpen),
            (Operation::ZoneClose, Op::ZoneClose),
            (Operation::ZoneOpenArea, Op::ZoneOpenArea),
            (Operation::ZoneCommit, Op::ZoneCommit),
        ];
        assert_eq!(operations.map(|(_, op)| op), Op::ALL);
        for (number, (operation, _)) in (0..).zip(operations) {
            assert_eq!(operation as u8, number);
        }
        let statuses = [
            (Status::Success, request::Status::Success),
            (Status::InvalidOpcode, request::Status::InvalidOpcode),
            (Status::InvalidField, request::Status::InvalidField),
            (Status::ZoneBoundaryError, request::Status::ZoneBoundaryError),
            (Status::ZoneIsFull, request::Status::ZoneIsFull),
            (Status::ZoneIsReadOnly, request::Status::ZoneIsReadOnly),
            (Status::ZoneIsOffline, request::Status::ZoneIsOffline),
            (Status::ZoneInvalidWrite, request::Status::ZoneInvalidWrite),
            (Status::TooManyActiveZones, request::Status::TooManyActiveZones),
            (Status::TooManyOpenZones, request::Status::TooManyOpenZones),
            (Status::InvalidZoneStateTransition, request::Status::InvalidZoneStateTransition),
            (Status::InvalidZoneOperation, request::Status::InvalidZoneOperation),
            (Status::AreasUnavailable, request::Status::AreasUnavailable),
        ];
        assert_eq!(statuses.len(), request::Status::ERRORS.len() + 1);
        for (status, known) in statuses {
            let done = Done {
                tag: 1,
                offset: 0,
                arrival: Time(1),
                at: Time(2),
                has_failed: false,
                status: known,
            };
            assert_eq!(Completion::from(done).status, status as u8);
        }
    }
}
