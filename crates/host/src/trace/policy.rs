//! Policies of a replay: for times out of order, and for addresses beyond the drive.
//!
//! Neither policy changes the number of requests.

use crate::trace::format::contract::Entry;
use crate::trace::input::{END_OF_SPACE, Raw, Records};
use crate::trace::lines::place;
use crate::trace::summary::{CHUNK_UNITS, Tally, Touched, UNIT_BYTES};
use crate::trace::{AddressPolicy, Options, TimePolicy};
use base::family::Member;
use base::units::format_size;
use base::{Error, Result};
use ssd::request::{Op, SECTOR_BYTES};
use std::collections::BTreeMap;
use std::path::Path;

/// Default `sort_window`, in records.
const WINDOW: usize = 4096;

/// Records of a file as they are replayed: in the order of time, those with equal stamps of a
/// coarse clock spread over its step.
pub struct Replayed {
    timed: Timed,
    spread: Option<Spread>,
}

impl Replayed {
    /// Opens `path` at its start, read as `member`.
    pub fn open(path: &Path, member: &Member<Entry>, options: &Options) -> Result<Self> {
        let timed = || Ok(Timed::new(Records::open(path, member, options)?, options));
        let first = timed()?;
        let spread = match first.records.resolution_ns() {
            step_ns @ 2.. => Some(Spread::new(timed()?, step_ns)?),
            _ => None,
        };
        Ok(Self { timed: first, spread })
    }

    /// The next record; times never decrease.
    pub fn next(&mut self) -> Result<Option<Raw>> {
        let Some(mut raw) = self.timed.next()? else { return Ok(None) };
        if let Some(spread) = &mut self.spread {
            raw.at_ns = spread.spread(raw.at_ns)?;
        }
        Ok(Some(raw))
    }

    /// Records of the file, without the policies.
    pub fn records(&self) -> &Records {
        &self.timed.records
    }
}

/// Records of a file in the order of time.
struct Timed {
    records: Records,
    policy: TimePolicy,
    window: usize,
    /// Time and line of the last record given.
    last: Option<(u64, u64)>,
    /// `sort-window`: records in the window, by time, then by order in the file.
    held: BTreeMap<(u64, u64), Raw>,
    taken: u64,
}

impl Timed {
    /// Applies the time policy of `options` to `records`.
    fn new(records: Records, options: &Options) -> Self {
        Self {
            records,
            policy: options.time,
            window: options.sort_window.unwrap_or(WINDOW),
            last: None,
            held: BTreeMap::new(),
            taken: 0,
        }
    }

    fn next(&mut self) -> Result<Option<Raw>> {
        let next = match self.policy {
            TimePolicy::SortWindow => self.next_of_window()?,
            TimePolicy::Reject | TimePolicy::Clamp => self.records.next()?,
        };
        let Some(mut raw) = next else { return Ok(None) };
        if let Some((last_ns, _)) = self.last
            && raw.at_ns < last_ns
        {
            if self.policy != TimePolicy::Clamp {
                return Err(self.goes_back(&raw));
            }
            raw.at_ns = last_ns;
        }
        self.last = Some((raw.at_ns, raw.line));
        Ok(Some(raw))
    }

    fn next_of_window(&mut self) -> Result<Option<Raw>> {
        while self.held.len() < self.window {
            let Some(raw) = self.records.next()? else { break };
            if let Some((last_ns, _)) = self.last
                && raw.at_ns < last_ns
            {
                return Err(self.goes_back(&raw));
            }
            self.held.insert((raw.at_ns, self.taken), raw);
            self.taken += 1;
        }
        Ok(self.held.pop_first().map(|(_, raw)| raw))
    }

    #[cold]
    fn goes_back(&self, raw: &Raw) -> Error {
        let (last_ns, last_line) = self.last.unwrap_or_default();
        let back = seconds(last_ns - raw.at_ns);
        let place = place(self.records.path(), raw.line);
        let problem = format!(
            "time {} is {back} before the time {} of line {last_line}",
            seconds(raw.at_ns),
            seconds(last_ns)
        );
        Error::new(place, problem).hint(match self.policy {
            TimePolicy::SortWindow => format!(
                "a record is more than sort_window = {} records out of order; use a larger \
                 sort_window, or time = \"clamp\"",
                self.window
            ),
            _ => "time = \"sort-window\" sorts records by time, time = \"clamp\" uses the time of \
                  the record before"
                .to_owned(),
        })
    }
}

/// Text of a time in seconds, with every digit of its nanoseconds.
fn seconds(ns: u64) -> String {
    format!("{}.{:09} s", ns / 1_000_000_000, ns % 1_000_000_000)
}

/// Spreads requests with equal coarse stamps evenly over the step of the clock.
///
/// A second reader of the file runs ahead by one stamp and counts them: memory does not grow with
/// their number.
struct Spread {
    ahead: Timed,
    /// First stamp that `ahead` has read after the counted ones.
    beyond: Option<u64>,
    step_ns: u64,
    /// Stamp given out now, the number of requests with it, and how many of those were given.
    stamp: Option<u64>,
    count: u64,
    given: u64,
}

impl Spread {
    /// Spreading of stamps, with `ahead` at the start of the file.
    fn new(mut ahead: Timed, step_ns: u64) -> Result<Self> {
        let beyond = ahead.next()?.map(|raw| raw.at_ns);
        Ok(Self { ahead, beyond, step_ns, stamp: None, count: 0, given: 0 })
    }

    /// Time of the next request, which has this stamp.
    fn spread(&mut self, stamp: u64) -> Result<u64> {
        if self.stamp != Some(stamp) {
            (self.stamp, self.count, self.given) = (Some(stamp), 0, 0);
            while self.beyond == Some(stamp) {
                self.count += 1;
                self.beyond = self.ahead.next()?.map(|raw| raw.at_ns);
            }
        }
        let part = u128::from(self.step_ns) * u128::from(self.given);
        self.given += 1;
        let part = (part / u128::from(self.count.max(1))) as u64;
        Ok(stamp.saturating_add(part.min(self.step_ns - 1)))
    }
}

/// Factor for times, applied in whole numbers and rounded to the nearest nanosecond: the result is
/// the same on every machine, and exact where the factor is 1.
#[derive(Debug, Clone, Copy)]
pub struct Scale {
    mantissa: u64,
    exponent: i32,
}

impl Scale {
    /// Scale of a positive, finite factor.
    pub fn new(factor: f64) -> Self {
        let bits = factor.to_bits();
        let (fraction, exponent) = (bits & ((1 << 52) - 1), (bits >> 52 & 0x7ff) as i32);
        match exponent {
            0 => Self { mantissa: fraction, exponent: -1074 },
            _ => Self { mantissa: fraction | 1 << 52, exponent: exponent - 1075 },
        }
    }

    /// Scaled time in ns; `None` if it is too large.
    #[inline]
    pub fn apply(self, ns: u64) -> Option<u64> {
        // The product of 64 and 53 bits fits.
        let product = u128::from(ns) * u128::from(self.mantissa);
        let scaled = match self.exponent {
            0.. if product == 0 => 0,
            0.. => {
                let shift = u32::try_from(self.exponent).ok()?;
                if shift >= product.leading_zeros() {
                    return None;
                }
                product << shift
            }
            -127..0 => {
                let shift = self.exponent.unsigned_abs();
                (product + (1 << (shift - 1))) >> shift
            }
            _ => 0,
        };
        u64::try_from(scaled).ok()
    }
}

/// Places of the devices' addresses on the drive.
pub enum Layout {
    /// Devices lie one after another.
    Linear {
        /// First byte of each device on the drive.
        bases: Vec<u64>,
        /// Extent of each device when the file was opened, in bytes.
        extents: Vec<u64>,
        /// Capacity, at which addresses wrap around, in bytes.
        capacity: u64,
    },
    /// Accessed units only, without gaps.
    Compact(Vec<Packed>),
}

/// One device of a compacted trace: its touched units in the order of their addresses.
pub struct Packed {
    /// Touched units of the devices before this one.
    base: u64,
    /// Chunk number, bits of its touched units, and the number of touched units before it.
    chunks: Vec<(u64, u64, u64)>,
}

impl Layout {
    /// Lays out the result of the first pass in `order`; an error if it does not fit.
    pub fn new(
        policy: AddressPolicy,
        capacity_bytes: u64,
        records: &Records,
        tally: &mut Tally,
    ) -> Result<Self> {
        let unit = if capacity_bytes >= UNIT_BYTES && policy != AddressPolicy::Reject {
            UNIT_BYTES
        } else {
            SECTOR_BYTES
        };
        let capacity = capacity_bytes.min(END_OF_SPACE) / unit * unit;
        if capacity == 0 {
            return Err(Error::new(records.path(), "no drive to replay on: its capacity is zero"));
        }
        match policy {
            AddressPolicy::Reject => Self::linear(capacity, records, tally, true),
            AddressPolicy::Wrap => {
                let (largest, line) = tally.largest;
                if largest > capacity {
                    let problem = format!(
                        "a request of {largest} bytes is larger than the drive, of {}",
                        format_size(capacity)
                    );
                    return Err(Error::new(place(records.path(), line), problem));
                }
                Self::linear(capacity, records, tally, false)
            }
            AddressPolicy::Compact if tally.has_zones() => {
                let problem = "requests to zones, which keep their places";
                Err(Error::new(records.path(), problem)
                    .hint("use address = \"reject\", on a drive with the same zones"))
            }
            AddressPolicy::Compact => Self::compact(capacity, records, tally),
        }
    }

    fn linear(capacity: u64, records: &Records, tally: &Tally, must_fit: bool) -> Result<Self> {
        let count = tally.spaces.len();
        let (mut bases, mut extents) = (vec![0; count], vec![0; count]);
        let mut base = 0u128;
        for index in records.device_order() {
            let (extent, line) = tally.spaces[index].extent;
            let end = base + u128::from(extent);
            if must_fit && end > u128::from(capacity) {
                let name = &records.device_names()[index];
                let laid = if base == 0 {
                    String::new()
                } else {
                    format!(" (device laid out from {base}, after the devices before it)")
                };
                let problem = format!(
                    "offset + length `{extent}` of device `{name}`{laid} is beyond the drive's \
                     capacity of {capacity} bytes ({})",
                    format_size(capacity)
                );
                return Err(Error::new(place(records.path(), line), problem).hint(
                    "use a larger drive, address = \"wrap\" (folds addresses), \
                     address = \"compact\" (packs the addresses in use), or device = [...] to \
                     choose devices",
                ));
            }
            bases[index] = (base % u128::from(capacity)) as u64;
            extents[index] = extent;
            base += u128::from(extent.next_multiple_of(UNIT_BYTES));
        }
        Ok(Self::Linear { bases, extents, capacity })
    }

    fn compact(capacity: u64, records: &Records, tally: &mut Tally) -> Result<Self> {
        let mut devices: Vec<Packed> = Vec::new();
        devices.resize_with(tally.spaces.len(), || Packed { base: 0, chunks: Vec::new() });
        let mut units = 0;
        for index in records.device_order() {
            let touched = std::mem::take(&mut tally.spaces[index].touched);
            let packed = Packed::new(units, touched);
            units = packed.rank(u64::MAX);
            devices[index] = packed;
        }
        if units > capacity / UNIT_BYTES {
            let problem = format!(
                "the trace touches {units} units of 4 KiB ({}), more than the drive's {}",
                format_size(units.saturating_mul(UNIT_BYTES)),
                format_size(capacity)
            );
            return Err(Error::new(records.path(), problem).hint(
                "use a larger drive, address = \"wrap\", or device = [...] to choose devices",
            ));
        }
        Ok(Self::Compact(devices))
    }

    /// Offset and length of a request on the drive; `None` where the request was not in the file
    /// when it was opened.
    #[inline]
    pub fn place(&self, raw: &Raw) -> Option<(u64, u64)> {
        let device = raw.device as usize;
        match self {
            Self::Linear { bases, extents, capacity } => {
                let end = raw.offset.checked_add(raw.length)?;
                if end > *extents.get(device)? {
                    return None;
                }
                let mut offset = bases[device] + raw.offset % capacity;
                if offset >= *capacity {
                    offset -= capacity;
                }
                let room = capacity - offset;
                if raw.length <= room {
                    return Some((offset, raw.length));
                }
                if raw.op == Op::Trim {
                    return Some((offset, room));
                }
                // Moved down by whole units, so that it stays aligned as it was.
                let down = (raw.length - room).next_multiple_of(UNIT_BYTES);
                let offset = offset.checked_sub(down).or(capacity.checked_sub(raw.length))?;
                Some((offset, raw.length))
            }
            Self::Compact(devices) => devices.get(device)?.place(raw),
        }
    }
}

impl Packed {
    fn new(base: u64, touched: Touched) -> Self {
        let mut chunks: Vec<(u64, u64, u64)> =
            touched.into_iter().map(|(chunk, bits)| (chunk, bits, 0)).collect();
        chunks.sort_unstable();
        let mut before = 0;
        for (_, bits, rank) in &mut chunks {
            *rank = before;
            before += u64::from(bits.count_ones());
        }
        Self { base, chunks }
    }

    /// Number of touched units below `unit`, with those of the devices before.
    #[inline]
    fn rank(&self, unit: u64) -> u64 {
        self.look(unit).0
    }

    /// Rank of `unit`, and whether it is touched itself.
    #[inline]
    fn look(&self, unit: u64) -> (u64, bool) {
        let (chunk, bit) = (unit / CHUNK_UNITS, unit % CHUNK_UNITS);
        let after = self.chunks.partition_point(|&(number, ..)| number <= chunk);
        let Some(&(number, bits, rank)) = after.checked_sub(1).map(|index| &self.chunks[index])
        else {
            return (self.base, false);
        };
        if number < chunk {
            return (self.base + rank + u64::from(bits.count_ones()), false);
        }
        let below = bits & !(u64::MAX << bit);
        (self.base + rank + u64::from(below.count_ones()), bits >> bit & 1 == 1)
    }

    #[inline]
    fn place(&self, raw: &Raw) -> Option<(u64, u64)> {
        let end = raw.offset.checked_add(raw.length)?;
        let (first, last) = (raw.offset / UNIT_BYTES, end.checked_sub(1)? / UNIT_BYTES);
        let (first_rank, known) = self.look(first);
        if !known {
            return None;
        }
        let offset = first_rank * UNIT_BYTES + raw.offset % UNIT_BYTES;
        let (last_rank, last_known) = self.look(last);
        if raw.op == Op::Trim {
            // A trim reaches up to its own end, or to the end of the last touched unit in it.
            let within = if last_known { end - last * UNIT_BYTES } else { 0 };
            let end = last_rank * UNIT_BYTES + within;
            return Some((offset, end.checked_sub(offset)?));
        }
        // Every unit of a read or write is touched, so neighbours stay neighbours.
        let whole = last_known && last_rank - first_rank == last - first;
        whole.then_some((offset, raw.length))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    #[test]
    fn scaling_by_one_is_exact_and_by_others_rounds() {
        for ns in [0, 1, 123_456_789_012_345_678, u64::MAX] {
            assert_eq!(Scale::new(1.0).apply(ns), Some(ns));
        }
        assert_eq!(Scale::new(0.5).apply(3), Some(2));
        assert_eq!(Scale::new(1000.0).apply(979), Some(979_000));
        assert_eq!(Scale::new(1e-300).apply(u64::MAX), Some(0));
        assert_eq!(Scale::new(2.0).apply(u64::MAX), None);
        assert_eq!(Scale::new(1e300).apply(1), None);
        assert_eq!(Scale::new(1e300).apply(0), Some(0));
    }

    fn raw(op: Op, offset: u64, length: u64) -> Raw {
        Raw {
            line: 1,
            at_ns: 0,
            device: 0,
            op,
            fua: false,
            marked: false,
            handle: 0,
            offset,
            length,
        }
    }

    proptest! {
        #[test]
        fn scaling_is_multiplication(ns in 0u64..1 << 50, factor in 1e-3f64..1e3) {
            let exact = ns as f64 * factor;
            let scaled = Scale::new(factor).apply(ns).unwrap() as f64;
            prop_assert!((scaled - exact).abs() <= 0.5 + exact * 1e-15, "{} {}", scaled, exact);
        }

        /// A wrapped request stays inside, keeps its length and, where there is room, its
        /// alignment.
        #[test]
        fn wrapping_fits(
            sectors in 64u64..1000,
            base in 0u64..1000,
            (offset, length) in (0u64..5000, 1u64..64),
        ) {
            let capacity = sectors * 4096;
            let layout = Layout::Linear {
                bases: vec![base * 4096 % capacity],
                extents: vec![u64::MAX],
                capacity,
            };
            let (offset, length) = (offset * 512, length * 512);
            let (at, bytes) = layout.place(&raw(Op::Write, offset, length)).unwrap();
            prop_assert!(at + bytes <= capacity && bytes == length);
            prop_assert_eq!(at % 4096, offset % 4096);
            let (at, bytes) = layout.place(&raw(Op::Trim, offset, 1 << 40)).unwrap();
            prop_assert_eq!(at + bytes, capacity);
        }

        /// Compacting maps touched units one to one, keeps neighbours, and wastes nothing.
        #[test]
        fn compacting_is_a_bijection(
            requests in prop::collection::vec((0u64..500, 1u64..20, any::<bool>()), 1..60)
        ) {
            let mut touched = Touched::default();
            let mut units = BTreeSet::new();
            for &(unit, count, trim) in &requests {
                let last = if trim { unit } else { unit + count - 1 };
                for unit in unit..=last {
                    *touched.entry(unit / 64).or_default() |= 1 << (unit % 64);
                    units.insert(unit);
                }
            }
            let packed = Packed::new(7, touched);
            prop_assert_eq!(packed.rank(u64::MAX), 7 + units.len() as u64);
            for (rank, &unit) in units.iter().enumerate() {
                prop_assert_eq!(packed.look(unit), (7 + rank as u64, true));
            }
            for (unit, count, trim) in requests {
                let op = if trim { Op::Trim } else { Op::Write };
                let request = raw(op, unit * 4096 + 512, count * 4096 - 1024);
                let (at, bytes) = packed.place(&request).unwrap();
                prop_assert_eq!(at, packed.rank(unit) * 4096 + 512);
                if trim {
                    let inside = units.range(unit..unit + count).count() as u64;
                    prop_assert!(bytes > 0 && bytes <= inside * 4096);
                } else {
                    prop_assert_eq!(bytes, request.length);
                }
            }
        }
    }
}
