//! Reads of a block of real cells: of the whole block, and of each wordline where that matters.

/// Reads of a block since its erase, at the cell's reference temperature.
#[derive(Clone)]
pub(super) struct Reads {
    /// Reads of all pages.
    all: u64,
    /// Reads of each wordline; empty where all wordlines of the block are disturbed alike.
    of_wordline: Vec<u64>,
    wordlines: u64,
    /// Disturb by a read of a neighbouring wordline, as a multiple of that by any other.
    neighbour_factor: f64,
}

/// Reads that a wordline has seen.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Seen {
    /// Reads of the block.
    all: u64,
    /// Reads of the two wordlines beside it, among them; 0 where they are not counted.
    near: u64,
}

impl Reads {
    /// Creates the counts of a block that was not read, of so many wordlines.
    pub(super) fn new(wordlines: u32, neighbour_factor: f64) -> Self {
        let counted = if neighbour_factor == 1.0 { 0 } else { wordlines as usize };
        let wordlines = u64::from(wordlines.max(1));
        Self { all: 0, of_wordline: vec![0; counted], wordlines, neighbour_factor }
    }

    /// Disturbs all wordlines alike from now on.
    pub(super) fn disturb_alike(&mut self) {
        self.of_wordline.clear();
    }

    /// Reads of all pages.
    pub(super) fn all(&self) -> u64 {
        self.all
    }

    /// Forgets all reads of the block, which is erased.
    pub(super) fn clear(&mut self) {
        self.all = 0;
        self.of_wordline.fill(0);
    }

    /// Counts reads of one wordline.
    pub(super) fn count(&mut self, wordline: u32, reads: u64) {
        self.all = self.all.saturating_add(reads);
        if let Some(own) = self.of_wordline.get_mut(wordline as usize) {
            *own = own.saturating_add(reads);
        }
    }

    /// Counts reads that go to all wordlines alike.
    pub(super) fn count_alike(&mut self, reads: u64) {
        self.all = self.all.saturating_add(reads);
        let (each, rest) = (reads / self.wordlines, reads % self.wordlines);
        for (own, wordline) in self.of_wordline.iter_mut().zip(0..) {
            *own = own.saturating_add(each + u64::from(wordline < rest));
        }
    }

    /// Reads that a wordline has seen so far.
    pub(super) fn seen(&self, wordline: usize) -> Seen {
        let of = |wordline: usize| self.of_wordline.get(wordline).copied().unwrap_or(0);
        let near = of(wordline + 1).saturating_add(wordline.checked_sub(1).map_or(0, of));
        Seen { all: self.all, near }
    }

    /// Reads of far wordlines that disturb a wordline as those since `start` have.
    pub(super) fn since(&self, start: Seen, wordline: usize) -> u64 {
        let now = self.seen(wordline);
        let all = now.all.saturating_sub(start.all);
        if self.of_wordline.is_empty() {
            return all;
        }
        let near = now.near.saturating_sub(start.near) as f64;
        (all as f64 + (self.neighbour_factor - 1.0) * near).round() as u64
    }
}
