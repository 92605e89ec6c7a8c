//! Fast pages for data that somebody waits for (Grupp et al., MICRO'09): `ftl.fast_pages`; and for
//! the tables of a file system, by address (Desnoyers, HotStorage'13): `ftl.fast_region`.
//!
//! Pages of a block are programmed in order, fast and slow ones by turns. A die has two open blocks
//! in each plane, and the next page of each is fast or slow. Urgent data go to a fast page, others
//! to a slow one; where there is none, to any page. With `ftl.skip_slow_pages` urgent data leave
//! slow pages empty that stand before a fast one of the block. Where only slow pages are left, they
//! leave all but the last: a block ends with its last page, and the next block begins fast.

use super::{Lpn, PageFtl, PageParams, Stream};
use crate::ftl::contract::{DieSet, Key, Place};
use crate::space::frontier::Frontier;
use base::{Error, Result};
use nand::chip::BlockMode;
use nand::geometry::Die;
use std::ops::Range;

/// Key of urgent data: somebody waits for them, or their address lies in the region.
const URGENT: Key = Key(1);

/// Key of data by whether they are urgent.
pub(super) fn key(is_urgent: bool) -> Key {
    if is_urgent { URGENT } else { Key(0) }
}

/// Units that the region of `ftl.fast_region` touches, of a drive of `logical_units`.
pub(super) fn units(
    params: &PageParams,
    unit_bytes: u32,
    logical_units: u32,
) -> Result<Range<u32>> {
    let Some([start, end]) = params.fast_region else { return Ok(0..0) };
    let place = "ftl.fast_region";
    if !params.fast_pages {
        return Err(Error::new(place, "without `ftl.fast_pages` no page is chosen by speed")
            .expected("a region together with ftl.fast_pages = true"));
    }
    let (unit, units) = (u64::from(unit_bytes), u64::from(logical_units));
    if start >= end || end > units * unit {
        let problem = format!("[{start}, {end}] is no region of the drive");
        return Err(Error::new(place, problem).expected(format!(
            "[first byte, byte behind the last], the first below the second, and that at most {}",
            units * unit
        )));
    }
    Ok((start / unit) as u32..end.div_ceil(unit) as u32)
}

impl PageFtl {
    /// Places data of the host by the speed of the next page: on the first die in turn whose next
    /// page has the wanted speed, otherwise on the first that takes data.
    pub(super) fn place_by_speed(&mut self, key: Key, lpns: &[Lpn], dies: &DieSet) -> Place {
        let Some(first) = dies.next_from(self.next_die) else { return Place::NoRoom };
        let (mut die, mut fallback, mut skip) = (first, None, None);
        loop {
            for stream in 0..u32::from(self.host_streams) {
                let Some(index) = self.host_frontier(die, stream) else { continue };
                if self.is_fast_next(index) == (key == URGENT) {
                    return Place::At(self.append(index, die, stream, lpns));
                }
                fallback = fallback.or(Some((index, die, stream)));
                if key == URGENT && stream != self.gc_frontier {
                    let skipped = self.skipped(index).map(|skipped| (skipped, index, die, stream));
                    skip =
                        [skip, skipped].into_iter().flatten().min_by_key(|&(skipped, ..)| skipped);
                }
            }
            match dies.next_from(die.0 + 1) {
                Some(next) if next != first => die = next,
                _ => break,
            }
        }
        if let Some(((_, pages), index, die, stream)) = skip {
            self.skip(index, pages);
            return Place::At(self.append(index, die, stream, lpns));
        }
        match fallback {
            Some((index, die, stream)) => Place::At(self.append(index, die, stream, lpns)),
            None => Place::NoRoom,
        }
    }

    /// Slow pages of a frontier that urgent data leave empty, where no plane has been programmed at
    /// the first of them: whether these are the last ones of the block, and their number. It is
    /// zero where the last page comes next.
    fn skipped(&self, index: usize) -> Option<(bool, u32)> {
        let Frontier { page, planes_done, .. } = self.frontiers[index];
        if !self.skips_slow || planes_done > 0 {
            return None;
        }
        let left = &self.by_speed[page as usize..];
        let fast = left.iter().position(|&is_fast| is_fast);
        Some((fast.is_none(), fast.unwrap_or(left.len() - 1) as u32))
    }

    /// Leaves the next pages of a frontier empty.
    fn skip(&mut self, index: usize, pages: u32) {
        let frontier = &mut self.frontiers[index];
        let place = (Die(0), Stream::host(0), BlockMode::Native);
        let empty = frontier.empty_row(place);
        (frontier.page, frontier.planes_done) = (empty.page + pages, 0);
        self.pad(&empty, pages);
    }

    /// Speed of pages that data of a key want: true is fast; `None` where data are not placed by
    /// speed.
    pub(super) fn wanted_speed(&self, key: Key) -> Option<bool> {
        (!self.by_speed.is_empty()).then_some(key == URGENT)
    }

    fn host_frontier(&self, die: Die, stream: u32) -> Option<usize> {
        self.frontier_for(die, stream, self.reserve + u32::from(self.needs_room(die)))
    }

    /// Whether the next page of a frontier is fast, as the first page of a new block is.
    pub(super) fn is_fast_next(&self, index: usize) -> bool {
        let frontier = &self.frontiers[index];
        !frontier.open || self.by_speed[frontier.page as usize]
    }
}
