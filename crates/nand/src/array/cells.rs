//! `cells`: bit error rate of the cell's own mechanisms, in closed form.
//!
//! The rate is the mean of a block of real voltages ([`crate::block::cells`]), without keeping
//! them: equations 10 and 11 of Wang (ICS'14) for any number of bits and all mechanisms. A rate
//! takes 0.4 to 1 ms to compute, so rates are cached. For that cycles are rounded down to 1 part in
//! 64, hours and reads to 1 part in 16. Users of single cells take the cell itself.

use super::{Array, Build, PageState, needs_cell};
use crate::cell::Cell;
use crate::chip::BlockMode;
use crate::sense::single_level;
use base::family::{Member, NoParams, check, schema};
use std::collections::HashMap;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

pub const MEMBER: Member<Build> = Member {
    name: "cells",
    summary: "the mechanisms of the chip's cell, in closed form",
    citation: "wang2014",
    schema: schema::<NoParams>,
    check: check::<NoParams>,
    build: |_, cell| {
        let cell = needs_cell(cell, MEMBER.name)?.clone();
        Ok(Arc::new(Cells::new(cell, BlockMode::Native)))
    },
};

struct Cells {
    cell: Arc<Cell>,
    mode: BlockMode,
    /// Whether reads disturb the layers of a block unequally.
    by_layer: bool,
    known: RwLock<HashMap<Key, f64>>,
    /// Model of the same cells with one bit, built on request.
    single_level: OnceLock<Arc<Cells>>,
}

impl Cells {
    fn new(cell: Arc<Cell>, mode: BlockMode) -> Self {
        let by_layer = cell.disturbs_by_layer();
        Self { cell, mode, by_layer, known: RwLock::default(), single_level: OnceLock::new() }
    }

    fn work_out(&self, page: &PageState, shifts_v: &[f64]) -> f64 {
        let stress = page.stress();
        match self.mode {
            BlockMode::SingleLevel => single_level::rber(&self.cell, shifts_v, &stress),
            _ => self.cell.rber(page.page_type.into(), shifts_v, &stress).min(0.5),
        }
    }
}

/// Most cached rates, some 100 MiB.
const MOST_KNOWN: usize = 1 << 20;

/// Key of a cached rate: page type, rounded cycles, hours and reads, and the reference shifts.
type Key = (u8, u32, u64, u32, Vec<u64>);

impl Array for Cells {
    fn rber(&self, page: &PageState) -> f64 {
        self.rber_shifted(page, &[])
    }

    fn has_references(&self) -> bool {
        true
    }

    fn rber_shifted(&self, page: &PageState, shifts_v: &[f64]) -> f64 {
        let page = if self.by_layer { page.at_mean_layer(&self.cell) } else { *page };
        let page = page.rounded(6, 4, 4);
        let PageState { page_type, pe_cycles, retention, reads, .. } = page;
        let shifts = shifts_v.iter().map(|shift_v| shift_v.to_bits()).collect();
        let key = (page_type, pe_cycles, retention.0.to_bits(), reads, shifts);
        if let Some(&rber) = self.known.read().unwrap_or_else(PoisonError::into_inner).get(&key) {
            return rber;
        }
        let rber = self.work_out(&page, shifts_v);
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MOST_KNOWN {
            known.clear();
        }
        known.insert(key, rber);
        rber
    }

    fn equivalent_hours(&self, hours: f64, celsius: f64) -> Option<f64> {
        Some(self.cell.equivalent_hours(hours, celsius))
    }

    fn equivalent_reads(&self, reads: f64, celsius: f64) -> f64 {
        self.cell.equivalent_reads(reads, celsius)
    }

    fn neighbour_factor(&self) -> f64 {
        self.cell.neighbour_factor()
    }

    fn cell(&self) -> Option<&Arc<Cell>> {
        Some(&self.cell)
    }

    fn single_level(&self) -> Option<Arc<dyn Array>> {
        let single = || Arc::new(Self::new(self.cell.clone(), BlockMode::SingleLevel));
        Some(self.single_level.get_or_init(single).clone())
    }
}
