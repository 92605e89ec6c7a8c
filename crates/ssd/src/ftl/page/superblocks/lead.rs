//! Room for data of the host in superblocks before collection must make more: what a window of
//! predictable latency takes.
//!
//! A span opens superblocks for the host down to its reserve, and fills the open one of its stream.
//! In each row of a superblock as many dies hold parity as a stripe has pages of it, whichever dies
//! these are. Rows go to the dies in turn, so the poorest span decides.

use super::Spans;
use crate::ftl::contract::Lead;
use nand::geometry::Die;

impl Spans {
    /// Room for data of the host ([`Account::lead`]). `None` where a cache, quotas of handles, or
    /// rows that hang on the data take a share of it.
    ///
    /// [`Account::lead`]: crate::ftl::contract::Account::lead
    pub(super) fn lead_by_span(&self) -> Option<Lead> {
        let page = &self.page;
        let is_uneven = page.cache.is_some()
            || self.quotas.is_some()
            || page.placing.are_several()
            || page.has_uneven_rows();
        if is_uneven {
            return None;
        }
        let spans = 0..self.spans.len();
        // A stripe less: spans stand at most one apart.
        let of_spans = |units: u64| {
            let stripe = u64::from(self.dies) * u64::from(page.row_units);
            spans.len() as u64 * units.saturating_sub(stripe)
        };
        let rested = page.gc.start_free_blocks.max(page.gc.background_free_blocks);
        let most = |span| self.lead_of_free(span, rested, page.reserve);
        let left = |span| {
            let free = self.lead_of_free(span, self.free(span), self.kept(span));
            let streams = 0..u32::from(page.host_streams);
            free + streams.map(|stream| self.left_in_open(span, stream)).min().unwrap_or(0)
        };
        let least = |units: &dyn Fn(usize) -> u64| spans.clone().map(units).min().unwrap_or(0);
        Some(Lead { most_units: of_spans(least(&most)), left_units: of_spans(least(&left)) })
    }

    /// Pages of parity in a stripe that a span opens now.
    fn parity_of(&self, span: usize) -> u32 {
        self.page.stripes.pages_of(self.dies - self.lost_dies(span))
    }

    /// Units of data that `free` superblocks of a span take down to `kept` of them. Streams beside
    /// the one that is written may have begun one each.
    fn lead_of_free(&self, span: usize, free: u32, kept: u32) -> u64 {
        let page = &self.page;
        let begun = u32::from(page.host_streams) - 1;
        let left = self.dies - self.lost_dies(span);
        let of_data = (left - self.parity_of(span)) * page.geometry.units_per_block();
        let own = left * page.metadata_units;
        let blocks = page.joined * page.groups;
        let set_units = u64::from(blocks) * u64::from(of_data.saturating_sub(own));
        u64::from(free.saturating_sub(kept).saturating_sub(begun)) * set_units
    }

    /// Units of data that the open superblock of a stream still takes at least: of the rows that
    /// its dies lack, parity takes those of the dies that lack most.
    fn left_in_open(&self, span: usize, stream: u32) -> u64 {
        if !self.may_fill(span, stream) {
            return 0;
        }
        let (page, parity) = (&self.page, self.parity_of(span) as usize);
        let of_group = |group: u32| -> u64 {
            let units = |die: Die| {
                let frontier = &page.frontiers[page.frontier_index(die, stream, group)];
                let is_open = frontier.takes_data();
                if is_open { frontier.left_pages() * frontier.rows.page_units } else { 0 }
            };
            let mut left: Vec<u32> = self.dies_in(span).map(units).collect();
            left.sort_unstable_by_key(|&units| std::cmp::Reverse(units));
            let data: u32 = left.iter().skip(parity).sum();
            data.saturating_sub(self.dies * page.joined * page.metadata_units).into()
        };
        (0..page.groups).map(of_group).sum()
    }
}
