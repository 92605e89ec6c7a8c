//! Tests of reduced levels: times and errors of blocks that have them, and refusals.

use crate::chip::{BlockMode, ChipConfig, Chips};
use crate::geometry::{Block, Die};
use base::error::assert_carries;
use base::params;
use base::units::Hours;
use base::{Result, Time};

const LAW: &str = "name = 'power_law'";
const OF_CELLS: &str = "name = 'cells'";
const CELL: &str = "[cell.levels]\nvth_mean_v = [-2.0, 1.0, 2.0, 3.0]\n\
    vth_sigma_v = [0.3, 0.13, 0.13, 0.13]\ncoarse_margin_v = 0.8\n\
    [cell.program]\nstep_v = 0.2\npulse_us = 20.0\n[cell.wear]\nwiden_v = 0.02\nspeedup = 0.05\n\
    [cell.retention]\nneutral_v = -1.0\nshare = 0.003\n";
const LOWER: &str = "levels = { vth_mean_v = [-2.0, 0.8, 1.6, 2.4], coarse_margin_v = 0.6 }";

/// Small chip of two bits a cell with `timing`, an `array`, and further tables.
fn config(t_program_us: &str, array: &str, more: &str) -> ChipConfig {
    let text = format!(
        "cell_bits = 2\nrated_pe_cycles = 1000\npage_order = 'even_odd'\n\
         [geometry]\nplanes_per_die = 1\nblocks_per_plane = 4\npages_per_block = 8\n\
         page_bytes = 4096\nspare_bytes = 256\n\
         [timing]\nt_read_us = [40.0, 60.0]\nt_program_us = {t_program_us}\nt_erase_us = 3000.0\n\
         bus_mt_s = 400.0\n\
         [energy]\nvcc_v = 3.3\nicc_read_ma = 25.0\nicc_program_ma = 25.0\nicc_erase_ma = 25.0\n\
         [array]\n{array}\n{more}"
    );
    params::read(&params::parse(&text, "test").unwrap(), "chip").unwrap()
}

fn chips(config: &ChipConfig) -> Result<Chips> {
    Chips::new(config, 1, 1024, 100, Hours(0.0), 1)
}

/// Times of all programs of a block in this mode.
fn programs(chips: &mut Chips, mode: BlockMode, block: u32) -> Vec<Time> {
    (0..8).map(|page| chips.program_in(mode, Block(block), page).unwrap()).collect()
}

fn rber(chips: &mut Chips, block: u32, page: u32) -> f64 {
    chips.read(Block(block), page, 0.0).unwrap().1
}

/// Programs take the times given, with the wear of all; reads and erases stay.
#[test]
fn programs_at_reduced_levels_take_their_own_times() {
    let given = "[reduced]\nt_program_us = [300.0, 500.0]\nrber_factor = 2.0\n";
    let mut config = config("[400.0, 1000.0]", LAW, given);
    config.timing.wear = vec![
        crate::timing::WearPoint { pe_cycles: 0, read: 1.0, program: 1.0, erase: 1.0 },
        crate::timing::WearPoint { pe_cycles: 200, read: 1.0, program: 0.8, erase: 1.0 },
    ];
    let mut chips = chips(&config).unwrap();
    let us = |of: &[f64; 2], pages: &[u8]| -> Vec<Time> {
        pages.iter().map(|&page_type| Time::from_us(0.9 * of[usize::from(page_type)])).collect()
    };
    let types: Vec<u8> = (0..8).map(|page| chips.of_die(Die(0)).page_type(page)).collect();
    assert_eq!(programs(&mut chips, BlockMode::Native, 0), us(&[400.0, 1000.0], &types));
    assert_eq!(programs(&mut chips, BlockMode::Reduced, 1), us(&[300.0, 500.0], &types));
    for page in 0..8 {
        let [native, reduced] = [0, 1].map(|block| chips.read(Block(block), page, 0.0).unwrap().0);
        assert_eq!(native, reduced, "page {page}");
    }
    let row = |mode| chips.of_die(Die(0)).timing_row(mode, 0);
    let rows = [BlockMode::Native, BlockMode::SingleLevel, BlockMode::Reduced].map(row);
    assert_eq!(rows, [0, 2, 3]);
    let range = |row| chips.of_die(Die(0)).timing.program_range(row);
    assert_eq!(range(4), (Time::from_us(400.0), Time::from_us(500.0)));
    assert_eq!(chips.of_die(Die(0)).timing.longest_program(), Time::from_us(1000.0));
    // The levels are those of all pages until the erase.
    assert_eq!(chips.mode(Block(1)), BlockMode::Reduced);
    let error = chips.program_in(BlockMode::Native, Block(1), 1).unwrap_err().to_string();
    assert_carries(error, &["page 1"]);
    chips.erase(Block(1));
    assert_eq!(chips.mode(Block(1)), BlockMode::Native);
}

/// By a law of rates, data err by one factor more, and age by another.
#[test]
fn data_err_more_and_are_lost_sooner_by_two_factors() {
    let given = "[reduced]\nt_program_us = 300.0\nrber_factor = 3.0\nhours_factor = 50.0\n";
    let mut chips = chips(&config("900.0", LAW, given)).unwrap();
    programs(&mut chips, BlockMode::Native, 0);
    programs(&mut chips, BlockMode::Reduced, 1);
    let fresh = [0, 1].map(|block| rber(&mut chips, block, 3));
    assert!((fresh[1] / fresh[0] - 3.0).abs() < 1e-12, "{fresh:?}");
    chips.age(Hours(10.0));
    let [_, reduced] = [0, 1].map(|block| rber(&mut chips, block, 3));
    chips.age(Hours(490.0));
    let native = chips.rber_after(Block(0), 3, 500 * 60);
    assert!((reduced / (3.0 * native) - 1.0).abs() < 1e-12, "{reduced} {native}");
    let aged = chips.rber_after(Block(1), 3, 10 * 60);
    assert!((reduced / aged - 1.0).abs() < 1e-12, "{reduced} {aged}");
}

/// With cells, a block with reduced levels is one of a chip that has only these levels: in times,
/// wear and errors at any age.
#[test]
fn with_cells_blocks_have_the_cell_at_other_levels() {
    let given = format!("{CELL}[reduced]\nt_program_us = 'cell'\ncell = {{ {LOWER} }}\n");
    let mut mixed = chips(&config("'cell'", OF_CELLS, &given)).unwrap();
    let [whole, full] = [&given, CELL].map(|more| config("'cell'", OF_CELLS, more));
    let mut table = params::write(whole.cell.as_ref().unwrap()).unwrap();
    params::merge(&mut table, params::parse(LOWER, "test").unwrap());
    let cell = Some(params::read(&table, "cell").unwrap());
    let mut lower = chips(&ChipConfig { cell, reduced: None, ..whole }).unwrap();
    let mut full = chips(&full).unwrap();
    for (mode, same) in [(BlockMode::Native, &mut full), (BlockMode::Reduced, &mut lower)] {
        let block = u32::from(mode == BlockMode::Reduced);
        let times = programs(&mut mixed, mode, block);
        assert_eq!(times, programs(same, BlockMode::Native, block));
        for hours in [0.0, 2000.0] {
            let at = |of: &Chips, page| of.rber_after(Block(block), page, 60 * hours as u32);
            for page in [0, 5] {
                assert_eq!(at(&mixed, page), at(same, page), "{mode:?} {hours} {page}");
            }
        }
    }
    let faster = |of: &mut Chips| of.program_in(BlockMode::Native, Block(3), 0).unwrap();
    assert!(faster(&mut lower) < faster(&mut full));
    assert!(lower.rber_after(Block(1), 5, 6000) > 2.0 * full.rber_after(Block(0), 5, 6000));
}

#[test]
fn refuses_levels_without_a_price_or_without_a_cell() {
    let refused = |array: &str, more: &str| {
        let error = chips(&config("900.0", array, more)).err().expect("refused");
        error.to_string()
    };
    let reduced = "[reduced]\nt_program_us = ";
    for (array, more, parts) in [
        (LAW, "300.0".to_owned(), &["chip.reduced", "errors of all others"][..]),
        (LAW, "300.0\nrber_factor = 0.5".to_owned(), &["chip.reduced.rber_factor", "0.5"]),
        (LAW, "300.0\nhours_factor = 1e9".to_owned(), &["chip.reduced.hours_factor"]),
        (LAW, "'cell'\nrber_factor = 2.0".to_owned(), &["chip.reduced.t_program_us", "levels"]),
        (LAW, format!("'cell'\ncell = {{ {LOWER} }}"), &["chip.reduced.cell", "chip.cell"]),
        (LAW, "-1.0\nrber_factor = 2.0".to_owned(), &["chip.reduced.t_program_us", "-1"]),
        (LAW, "[300.0, 0.0]\nrber_factor = 2.0".to_owned(), &["chip.reduced.t_program_us", "0"]),
        (
            OF_CELLS,
            format!("300.0\nrber_factor = 2.0\ncell = {{ {LOWER} }}\n{CELL}"),
            &["chip.reduced", "rates of the cell"],
        ),
        (
            OF_CELLS,
            format!("300.0\ncell = {{ levels = {{ vth_mean_v = [1.0] }} }}\n{CELL}"),
            &["chip.reduced.cell.levels"],
        ),
    ] {
        assert_carries(refused(array, &format!("{reduced}{more}")), parts);
    }
    // Without errors there is no price.
    for factor in ["", "\nrber_factor = 2.0"] {
        let more = format!("{reduced}300.0{factor}");
        assert!(chips(&config("900.0", "name = 'ideal'", &more)).is_ok());
    }
}
