//! Layers of a frame: a number for each block of the drive.

use super::scalars::View;
use super::{Data, Element};
use nand::geometry::Block;
use ssd::drive::blocks::BlockState;
use std::ops::Range;

/// Layer: a figure of each block.
pub(in crate::window) struct Layer {
    pub id: &'static str,
    pub element: Element,
    pub name: &'static str,
    pub unit: &'static str,
    /// Least and largest number; no end where it is not known.
    pub range: [Option<f64>; 2],
    pub meaning: &'static str,
    of: Of,
}

/// Figure of a layer.
#[derive(Clone, Copy)]
enum Of {
    State,
    Valid,
    Cycles,
    Age,
    Kind,
    Group,
}

/// Group of a block that belongs to none.
const NO_GROUP: u32 = u32::MAX;

/// Age of an erased block.
const NO_AGE: f32 = -1.0;

const ERASED: u8 = BlockState::Erased as u8;

pub(in crate::window) const LAYERS: [Layer; 6] = [
    Layer {
        id: "stat",
        element: Element::U8,
        name: "state",
        unit: "",
        range: [Some(0.0), Some(BlockState::ALL.len() as f64 - 1.0)],
        meaning: "state of each block",
        of: Of::State,
    },
    Layer {
        id: "vald",
        element: Element::U8,
        name: "valid",
        unit: "1/255",
        range: [Some(0.0), Some(255.0)],
        meaning: "valid share of each block's units",
        of: Of::Valid,
    },
    Layer {
        id: "eras",
        element: Element::U32,
        name: "cycles",
        unit: "cycles",
        range: [Some(0.0), None],
        meaning: "P/E cycles of each block",
        of: Of::Cycles,
    },
    Layer {
        id: "bage",
        element: Element::F32,
        name: "age",
        unit: "h",
        range: [Some(-1.0), None],
        meaning: "time since the first program of each block after its erase; -1 of an erased one",
        of: Of::Age,
    },
    Layer {
        id: "kind",
        element: Element::U8,
        name: "kind",
        unit: "",
        range: [Some(0.0), Some(9.0)],
        meaning: "origin of the data of each block",
        of: Of::Kind,
    },
    Layer {
        id: "grou",
        element: Element::U32,
        name: "group",
        unit: "",
        range: [Some(0.0), None],
        meaning: "zone or superblock of each block; 2^32 - 1 for none",
        of: Of::Group,
    },
];

/// Writes the data of a layer for a range of cells.
pub(super) fn write(layer: &Layer, view: &View<'_>, range: Range<u32>, data: &mut Data<'_>) {
    let (ssd, cells) = (view.ssd, view.cells);
    match layer.of {
        Of::State => {
            let state = |block: Block| view.states[block.0 as usize];
            data.u8s(cells.each(range, state, |cell| first(cell, |&state| state != ERASED)));
        }
        Of::Valid => {
            let units = ssd.geometry().units_per_block();
            // Valid units are seen, however few.
            let share = |valid: u32| (255 * valid).div_ceil(units) as u8;
            let mean = |cell: &[u32]| cell.iter().sum::<u32>().div_ceil(cell.len() as u32);
            data.u8s(cells.each(range, |block| ssd.valid_units(block), mean).map(share));
        }
        Of::Cycles => {
            let mean = |cell: &[u32]| {
                let sum: u64 = cell.iter().map(|&cycles| u64::from(cycles)).sum();
                (sum / cell.len() as u64) as u32
            };
            data.u32s(cells.each(range, |block| ssd.cycles_of(block), mean));
        }
        Of::Age => {
            let mean = |cell: &[f32]| {
                let known = cell.iter().filter(|&&age| age >= 0.0);
                let (count, sum) = known.fold((0.0, 0.0), |(n, sum), age| (n + 1.0, sum + age));
                if count > 0.0 { sum / count } else { NO_AGE }
            };
            let age = |block| ssd.block_age_hours(block).unwrap_or(NO_AGE);
            data.f32s(cells.each(range, age, mean));
        }
        Of::Kind => {
            let kind = |block| ssd.block_origin(block) as u8;
            data.u8s(cells.each(range, kind, |cell| first(cell, |&kind| kind > 0)));
        }
        Of::Group => {
            let group = |block| ssd.block_group(block).unwrap_or(NO_GROUP);
            data.u32s(cells.each(range, group, |cell| first(cell, |&group| group != NO_GROUP)));
        }
    }
}

/// First number of a cell that tells something, or the first one.
fn first<T: Copy>(cell: &[T], tells: impl Fn(&T) -> bool) -> T {
    cell.iter().copied().find(|number| tells(number)).unwrap_or(cell[0])
}
