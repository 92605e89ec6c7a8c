//! `blktrace`: the binary files of blktrace in Linux, one for each CPU.
//!
//! Brunelle, "Block I/O Layer Tracing: blktrace", HP, 2006, and `blktrace_api.h`. Records of 48
//! bytes and a payload, in the byte order that the magic number tells: `u32` magic and version,
//! `u32` sequence, `u64` nanoseconds, `u64` sector, `u32` bytes, `u32` action, `u32` pid, `u32`
//! device, `u32` CPU, `u16` error, `u16` bytes of the payload. The files `NAME.blktrace.N` of all
//! CPUs are read together, merged by time.
//!
//! Actions and flags are those of `blkparse`, the text of the same events.

use super::{u16_at, u32_at, u64_at};
use crate::trace::Options;
use crate::trace::format::contract::{
    Binary, Claim, Device, Entry, Fault, Format, Frame, Parse, Parsed, Reason, Record,
};
use base::family::{Member, check, schema};
use base::{Error, Result};
use ssd::request::{Op, SECTOR_BYTES};

pub const MEMBER: Member<Entry> = Member {
    name: "blktrace",
    summary: "blktrace binary, the files of all CPUs: one action (Q or D) of each I/O, ns",
    citation: "brunelle2006",
    schema: schema::<Options>,
    check: check::<Options>,
    build: Entry {
        sample: b"\x07tae\x01\0\0\0\x10\x27\0\0\0\0\0\0\x08\0\0\0\0\0\0\0\0\x10\0\0\x01\0\x11\0\
                  \x1f\x53\0\0\0\0\x30\x10\x01\0\0\0\0\0\0\0\
                  \x07tae\x02\0\0\0\x20\x4e\0\0\0\0\0\0\x10\0\0\0\0\0\0\0\0\x20\0\0\x01\0\x12\0\
                  \x1f\x53\0\0\0\0\x30\x10\x01\0\0\0\0\0\x04\0abcd",
        takes: &["action", "urgent"],
        frame: Frame::Binary(Binary {
            head: HEAD,
            length: |head| HEAD + usize::from(Event(head).u16_at(46)),
            at: Some(|record| Event(record).u64_at(8)),
        }),
        claim,
        new: |options| Ok(Box::new(Blktrace::new(options)?)),
    },
};

const HEAD: usize = 48;
/// Magic number of an event, without its version.
const MAGIC: u32 = 0x6561_7400;
/// Actions that come once for each I/O, and can be replayed, with their numbers.
const REPLAYED: [(&str, u32); 5] = [("Q", 1), ("D", 7), ("C", 8), ("G", 4), ("I", 12)];

// Categories of an event.
const READ: u32 = 1 << 16;
const WRITE: u32 = 1 << 17;
const FLUSH: u32 = 1 << 18;
const SYNC: u32 = 1 << 19;
const PASSTHROUGH: u32 = 1 << 25;
const NOTIFY: u32 = 1 << 26;
const DISCARD: u32 = 1 << 29;
const FUA: u32 = 1 << 31;

/// Bytes of an event, in the byte order of their magic number.
#[derive(Clone, Copy)]
struct Event<'a>(&'a [u8]);

impl Event<'_> {
    fn is_big(self) -> bool {
        u32_at(self.0, 0).swap_bytes() & !0xff == MAGIC
    }

    fn is_event(self) -> bool {
        self.is_big() || u32_at(self.0, 0) & !0xff == MAGIC
    }

    fn u16_at(self, at: usize) -> u16 {
        let number = u16_at(self.0, at);
        if self.is_big() { number.swap_bytes() } else { number }
    }

    fn u32_at(self, at: usize) -> u32 {
        let number = u32_at(self.0, at);
        if self.is_big() { number.swap_bytes() } else { number }
    }

    fn u64_at(self, at: usize) -> u64 {
        let number = u64_at(self.0, at);
        if self.is_big() { number.swap_bytes() } else { number }
    }
}

struct Blktrace {
    action: u32,
    /// Events of other actions so far.
    others: u64,
}

impl Blktrace {
    fn new(options: &Options) -> Result<Self> {
        let name = options.action.as_deref().unwrap_or(REPLAYED[0].0);
        let known = REPLAYED.iter().find(|(known, _)| *known == name);
        let Some(&(_, action)) = known else {
            let names = REPLAYED.map(|(name, _)| name);
            return Err(Error::unknown("trace.action", "action", name, names));
        };
        Ok(Self { action, others: 0 })
    }
}

fn claim(head: &[u8]) -> Claim {
    let is_it = head.len() >= HEAD && Event(head).is_event();
    if is_it { Claim::Certain } else { Claim::No }
}

impl Format for Blktrace {
    fn line<'a>(&mut self, record: &'a [u8]) -> Parse<Parsed<'a>> {
        let event = Event(record);
        if !event.is_event() {
            let magic = format!("{:#x}", u32_at(record, 0));
            let problem = "not the magic number of an event";
            let expected = "0x65617407, in either byte order";
            return Err(Fault::new(Reason::Header, "magic", magic.as_bytes(), problem, expected));
        }
        let action = event.u32_at(28);
        let has = |category: u32| action & category != 0;
        if has(NOTIFY) || action & 0xff != self.action {
            self.others += 1;
            return Ok(Parsed::Nothing);
        }
        let length = u64::from(event.u32_at(24));
        let op = match () {
            () if has(PASSTHROUGH) => return Ok(Parsed::Skip(Reason::NoDirection)),
            () if has(DISCARD) => Op::Trim,
            () if has(FLUSH) && length == 0 => Op::Flush,
            () if has(WRITE) => Op::Write,
            () if has(READ) => Op::Read,
            () => return Ok(Parsed::Skip(Reason::NoDirection)),
        };
        let sector = event.u64_at(16);
        let Some(offset) = sector.checked_mul(SECTOR_BYTES) else {
            let (text, expected) = (sector.to_string(), "a sector below 2^54");
            let fault =
                Fault::new(Reason::TooLarge, "sector", text.as_bytes(), "too large", expected);
            return Err(fault);
        };
        let record = Record {
            at_ns: event.u64_at(8),
            device: Device::Number(u64::from(event.u32_at(36))),
            op,
            fua: has(FUA) && op == Op::Write,
            waited: has(SYNC),
            offset,
            length,
        };
        Ok(match op {
            Op::Write if has(FLUSH) => Parsed::FlushThen(record),
            _ => Parsed::Request(record),
        })
    }

    fn device_number(&self, number: u64) -> String {
        format!("{},{}", number >> 20, number & 0xf_ffff)
    }

    fn found(&self) -> String {
        format!("{} events of other actions", self.others)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::format::contract::trial::short;
    use proptest::prelude::*;

    /// An event with these fields.
    fn event(at_ns: u64, sector: u64, bytes: u32, action: u32, is_big: bool) -> Vec<u8> {
        let words = [MAGIC | 7, 1, bytes, action, 21, 259 << 20 | 3, 2];
        let [magic, sequence, bytes, action, pid, device, cpu] = words.map(|word| match is_big {
            true => word.to_be_bytes(),
            false => word.to_le_bytes(),
        });
        let [at, sector] = [at_ns, sector].map(|word| match is_big {
            true => word.to_be_bytes(),
            false => word.to_le_bytes(),
        });
        [&magic[..], &sequence, &at, &sector, &bytes, &action, &pid, &device, &cpu, &[0; 4]]
            .concat()
    }

    fn read(event: &[u8]) -> String {
        match Blktrace::new(&Options::default()).unwrap().line(event).unwrap() {
            Parsed::Request(record) => short(&record),
            Parsed::FlushThen(record) => format!("flush+{}", short(&record)),
            other => format!("{other:?}"),
        }
    }

    #[test]
    fn flags_are_those_of_blkparse() {
        let of = |categories| read(&event(5, 8, 4096, categories | 1, false));
        let device = 259 << 20 | 3;
        assert_eq!(of(READ), format!("5 {device} read 4096+4096"));
        assert_eq!(of(WRITE | FUA | SYNC), format!("5 {device} write! 4096+4096"));
        assert_eq!(of(WRITE | FLUSH), format!("flush+5 {device} write 4096+4096"));
        assert_eq!(of(WRITE | DISCARD), format!("5 {device} trim 4096+4096"));
        assert_eq!(of(NOTIFY), "Nothing");
        assert_eq!(of(READ | PASSTHROUGH), "Skip(NoDirection)");
        assert_eq!(read(&event(5, 8, 4096, READ | 7, false)), "Nothing");
        assert_eq!(Blktrace { action: 1, others: 0 }.device_number(device), "259,3");
        let mut other = event(5, 8, 4096, READ | 1, false);
        other[3] = 0;
        let fault = Blktrace::new(&Options::default()).unwrap().line(&other).unwrap_err();
        assert_eq!(fault.reason, Reason::Header);
    }

    proptest! {
        #[test]
        fn the_byte_order_changes_nothing(at: u64, sector in 0u64..1 << 54, bytes: u32) {
            let of = |is_big| event(at, sector, bytes, WRITE | 1, is_big);
            prop_assert_eq!(read(&of(false)), read(&of(true)));
            prop_assert_eq!(claim(&of(true)), Claim::Certain);
        }
    }
}
