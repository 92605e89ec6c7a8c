//! Layers of a frame: a number for each block of the drive.

use super::frame::{Data, Element};
use super::scalars::View;
use nand::geometry::{Block, Geometry};
use ssd::drive::blocks::BlockState;

/// Most elements of a layer: beyond them, an element stands for several blocks.
const MOST_CELLS: u32 = 1 << 20;

/// Layer: a figure of each block.
pub(super) struct Layer {
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

pub(super) const LAYERS: [Layer; 6] = [
    Layer {
        id: "stat",
        element: Element::U8,
        name: "state",
        unit: "",
        range: [Some(0.0), Some(4.0)],
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

/// Blocks that an element of a layer stands for.
pub(super) fn blocks_per_cell(geometry: &Geometry) -> u32 {
    geometry.blocks().div_ceil(MOST_CELLS)
}

/// Writes the data of a layer.
pub(super) fn write(layer: &Layer, view: &View<'_>, data: &mut Data<'_>) {
    let geometry = view.ssd.geometry();
    let each = blocks_per_cell(geometry) as usize;
    let blocks = || (0..geometry.blocks()).map(Block);
    match layer.of {
        Of::State => data.bytes.extend(view.states.chunks(each).map(first_used)),
        Of::Valid => {
            let mut valid = Vec::with_capacity(geometry.blocks() as usize);
            view.ssd.valid_units(&mut valid);
            let units = geometry.units_per_block();
            // Valid units are seen, however few.
            let share = |valid: u32, of: u32| (255 * valid).div_ceil(of) as u8;
            let cell =
                |cell: &[u32]| share(cell.iter().sum::<u32>().div_ceil(cell.len() as u32), units);
            match each {
                1 => data.bytes.extend(valid.iter().map(|&valid| share(valid, units))),
                _ => data.bytes.extend(valid.chunks(each).map(cell)),
            }
        }
        Of::Cycles => {
            let cycles: Vec<u32> = blocks().map(|block| view.ssd.cycles_of(block)).collect();
            data.u32s(&pooled(&cycles, each, |cell| {
                (cell.iter().map(|&cycles| u64::from(cycles)).sum::<u64>() / cell.len() as u64)
                    as u32
            }));
        }
        Of::Age => {
            let mut ages = Vec::with_capacity(geometry.blocks() as usize);
            view.ssd.block_ages(&mut ages);
            data.f32s(&pooled(&ages, each, |cell| {
                let known = cell.iter().filter(|&&age| age >= 0.0);
                let (count, sum) = known.fold((0.0, 0.0), |(n, sum), age| (n + 1.0, sum + age));
                if count > 0.0 { sum / count } else { -1.0 }
            }));
        }
        Of::Kind => {
            let kinds: Vec<u8> = blocks().map(|block| view.ssd.block_origin(block) as u8).collect();
            data.bytes.extend(kinds.chunks(each).map(|cell| first(cell, |&kind| kind > 0)));
        }
        Of::Group => {
            let group = |block| view.ssd.block_group(block).unwrap_or(NO_GROUP);
            let groups: Vec<u32> = blocks().map(group).collect();
            data.u32s(&pooled(&groups, each, |cell| first(cell, |&group| group != NO_GROUP)));
        }
    }
}

/// Numbers of cells, from those of their blocks.
fn pooled<T: Copy>(of_blocks: &[T], each: usize, of_cell: impl Fn(&[T]) -> T) -> Vec<T> {
    match each {
        1 => of_blocks.to_vec(),
        _ => of_blocks.chunks(each).map(of_cell).collect(),
    }
}

/// First number of a cell that tells something, or the first one.
fn first<T: Copy>(cell: &[T], tells: impl Fn(&T) -> bool) -> T {
    cell.iter().copied().find(|number| tells(number)).unwrap_or(cell[0])
}

fn first_used(cell: &[u8]) -> u8 {
    first(cell, |&state| state != BlockState::Erased as u8)
}
