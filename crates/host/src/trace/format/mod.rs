//! Trace formats: how one line of a trace is read. A family; its roster is here.
//!
//! A line of text, or a record of bytes, comes in, at most one request goes out. `field` cuts a line into fields and reads
//! them strictly; `clock` follows times that two clocks have stamped. Formats cite their sources.

mod alibaba;
mod blkparse;
mod blktrace;
mod clock;
pub mod contract;
mod disksim;
mod field;
mod fio_iolog;
mod fiu;
mod mqsim;
mod msr;
mod oracle_general;
mod spc;
mod ssdsim;
mod systor;
mod tencent;
mod vscsi;

use base::family::Member;
use contract::Entry;

/// Roster of the trace formats.
pub const ROSTER: &[Member<Entry>] = &[
    msr::MEMBER,
    spc::MEMBER,
    disksim::MEMBER,
    ssdsim::MEMBER,
    mqsim::MEMBER,
    blkparse::MEMBER,
    blktrace::MEMBER,
    fio_iolog::MEMBER,
    alibaba::MEMBER,
    tencent::MEMBER,
    systor::MEMBER,
    fiu::MEMBER,
    vscsi::MEMBER,
    oracle_general::MEMBER,
];
