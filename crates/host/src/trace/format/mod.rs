//! Trace formats: how one line of a trace is read. A family; its roster is here.
//!
//! A line of text, or a record of bytes (`binary`), comes in, at most one request goes out. `field`
//! cuts a line into fields and reads them strictly; `clock` follows times that two clocks have
//! stamped. Formats cite their sources.

mod alibaba;
mod binary;
mod blkparse;
mod clock;
pub mod contract;
mod disksim;
mod field;
mod fio_iolog;
mod fiu;
mod mqsim;
mod msr;
mod spc;
mod ssdsim;
mod systor;
mod tencent;

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
    binary::blktrace::MEMBER,
    fio_iolog::MEMBER,
    alibaba::MEMBER,
    tencent::MEMBER,
    systor::MEMBER,
    fiu::MEMBER,
    binary::vscsi::MEMBER,
    binary::oracle_general::MEMBER,
];
