//! Bench of blocks of cells: speed of programs and reads, with the goal beside each figure.
//!
//! `./lab bench cells` runs this: one core, cells per second of wall time, pages of 16 KiB, each
//! the best of several runs.

#![allow(clippy::print_stdout)]

use base::units::Hours;
use nand::array::{Array, Grid, PageState, RateTable};
use nand::block::cells::CellBlock;
use nand::cell::{Cell, CellConfig};
use nand::wordline::PageOrder;
use std::sync::Arc;
use std::time::Instant;

const PAGE_BYTES: u32 = 16_384;
/// Cells a second: goal and floor.
const GOAL: f64 = 100e6;
const FLOOR: f64 = 30e6;

struct Case {
    name: &'static str,
    bits: u32,
    order: PageOrder,
    mechanisms: &'static str,
}

/// Mechanisms of a modern cell, all but pulse by pulse.
const ALL: &str = "[wear]\nwiden_v = 0.01\n[variation]\npage_spread = 0.05\n\
    [interference]\nbitline_ratio = 0.01\nwordline_ratio = 0.004\n\
    [read_disturb]\nrate_uv = 1.0\nv_pass_v = 9.0\nv_pass_nominal_v = 9.0\n\
    [retention]\nshare = 0.001\nspread = 0.3\n\
    [telegraph]\nmean_v = 0.01\n";

const CASES: &[Case] = &[
    Case { name: "SLC", bits: 1, order: PageOrder::OneShot, mechanisms: "" },
    Case { name: "MLC, two passes", bits: 2, order: PageOrder::EvenOdd, mechanisms: "" },
    Case { name: "TLC, one shot", bits: 3, order: PageOrder::OneShot, mechanisms: "" },
    Case { name: "TLC, one shot, everything", bits: 3, order: PageOrder::OneShot, mechanisms: ALL },
];

fn block(case: &Case) -> CellBlock {
    let levels = 1 << case.bits;
    let text = format!(
        "[levels]\nvth_mean_v = {:?}\nvth_sigma_v = {:?}\ncoarse_margin_v = 0.4\n\
         coarse_sigma_v = 0.05\n{}",
        (0..levels).map(f64::from).collect::<Vec<_>>(),
        vec![0.1; levels as usize],
        case.mechanisms
    );
    let config = CellConfig::parse(&text, "bench").expect("the bench's own cell");
    let cell = Cell::new(&config, case.bits, case.order).expect("the bench's own cell");
    CellBlock::new(Arc::new(cell), 16 * case.bits, PAGE_BYTES, 1, 0).expect("a block")
}

fn show(what: &str, cells: f64, seconds: f64) {
    let rate = cells / seconds;
    println!(
        "{what:<38} {:>7.1} M cells/s   goal {:>4.0} (floor {:>3.0}) {:>+5.1} dB",
        rate / 1e6,
        GOAL / 1e6,
        FLOOR / 1e6,
        10.0 * (rate / GOAL).log10(),
    );
}

/// Times the look-up of the error rate of a page, as the engine does it.
fn table() {
    let case = &CASES[3];
    let block = block(case);
    let start = Instant::now();
    let grid = Grid::new([2e4, 1e5, 1e6], 8).expect("the bench's own grid");
    let table = RateTable::characterize(block.cell(), &grid);
    let made = start.elapsed().as_secs_f64();
    // Blocks are seldom read more often than that before they are erased.
    for (name, reads) in [("a page", 50_000), ("a page that is read often", 1_000_000)] {
        let mut best = f64::INFINITY;
        let mut sum = 0.0;
        for _ in 0..5 {
            let start = Instant::now();
            for key in 0..1_000_000u64 {
                let page = PageState {
                    page_type: (key % 3) as u8,
                    pe_cycles: 3000,
                    retention: Hours(100.0),
                    reads: key as u32 % reads,
                    ..PageState::default()
                };
                sum += table.rber_of_page(&page, key * 0x9e37_79b9);
            }
            best = best.min(start.elapsed().as_secs_f64());
        }
        assert!(sum > 0.0);
        println!(
            "{:<38} {:>7.1} ns             goal  100             {:>+5.1} dB   made in {made:.2} s",
            format!("table, rate of {name}"),
            best * 1e3,
            10.0 * (100.0 / (best * 1e3)).log10(),
        );
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    // `cargo test --benches` calls this too: then there is nothing to measure.
    if arguments.iter().any(|argument| argument == "--test") {
        return;
    }
    let only: Vec<&String> = arguments.iter().filter(|word| !word.starts_with("--")).collect();
    println!("vectors: {}", base::vectors::Vectors::widest().name());
    for case in CASES.iter().filter(|c| only.is_empty() || only.iter().any(|w| c.name.contains(*w)))
    {
        let mut block = block(case);
        let bytes = block.program_bytes();
        let data: Vec<u8> =
            (0..bytes as u64).map(|i| ((i * i * 2_654_435_761) >> 13) as u8).collect();
        let mut out = vec![0; PAGE_BYTES as usize];
        let step = bytes / PAGE_BYTES as usize;
        let (mut program, mut read, mut sink) = (f64::INFINITY, f64::INFINITY, 0u64);
        for _ in 0..5 {
            block.erase();
            // Erased cells are drawn when they are first touched: that is part of the erase.
            for page in 0..block.pages() {
                block.voltages(page).expect("a page");
            }
            let start = Instant::now();
            for page in (0..block.pages()).step_by(step) {
                block.program(page, &data).expect("a page");
            }
            program = program.min(start.elapsed().as_secs_f64());
            let start = Instant::now();
            for page in 0..block.pages() {
                block.sense(page, &[], &mut out).expect("a page");
                sink += out.iter().map(|&byte| u64::from(byte)).sum::<u64>();
            }
            read = read.min(start.elapsed().as_secs_f64());
        }
        assert!(sink > 0);
        let cells = f64::from(PAGE_BYTES) * 8.0 * f64::from(block.pages());
        show(&format!("program, {}", case.name), cells / step as f64, program);
        show(&format!("read, {}", case.name), cells, read);
    }
    if only.is_empty() || only.iter().any(|word| "table".contains(word.as_str())) {
        table();
    }
}
