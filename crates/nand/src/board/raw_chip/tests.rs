//! Tests of the raw chip: rules, times, energies and failures.

use super::*;
use crate::block::wordline::PageOrder;
use base::error::assert_carries;
use base::params;

/// Small MLC chip with a cell: two planes of sixteen blocks, sixteen pages of 112 + 16 bytes.
pub(crate) fn config() -> ChipConfig {
    let text = "cell_bits = 2\nrated_pe_cycles = 1000\npage_order = 'even_odd'\n\
        [geometry]\nplanes_per_die = 2\nblocks_per_plane = 16\npages_per_block = 16\n\
        page_bytes = 112\nspare_bytes = 16\n\
        [timing]\nt_read_us = [40.0, 60.0]\nt_program_us = [500.0, 1300.0]\nt_erase_us = 3000.0\n\
        bus_mt_s = 100.0\nt_command_us = 0.2\nt_cache_us = 3.0\n\
        [features]\ncache_read = true\n\
        [energy]\nvcc_v = 3.0\nicc_read_ma = 20.0\nicc_program_ma = 25.0\nicc_erase_ma = 15.0\n\
        icc_bus_ma = 5.0\n\
        [cell.levels]\nvth_mean_v = [-2.0, 1.0, 2.0, 3.0]\nvth_sigma_v = [0.3, 0.1, 0.1, 0.1]\n\
        coarse_margin_v = 0.5\ncoarse_sigma_v = 0.05\n\
        [cell.wear]\nwiden_v = 0.05\n[cell.read_disturb]\nrate_uv = 1.0\nfield_per_v = 1.0\n\
        [cell.retention]\nneutral_v = -1.0\nshare = 0.01\n\
        [array]\nname = 'ideal'\n";
    params::read(&params::parse(text, "test").unwrap(), "chip").unwrap()
}

pub(crate) fn page(block: u32, page: u32) -> PageAddress {
    PageAddress { block, page }
}

/// Raw chip that gets no command while it is busy.
struct Bench(RawChip, Time);

impl Bench {
    fn new() -> Self {
        Self(RawChip::new(&config(), 1).unwrap(), Time::ZERO)
    }

    fn with<T>(&mut self, command: impl FnOnce(&mut RawChip, Time) -> T) -> T {
        self.1 += Time::from_s(1.0);
        command(&mut self.0, self.1)
    }

    fn program(&mut self, at: PageAddress, byte: u8) -> Result<Done> {
        self.with(|chip, now| chip.program(at, &[byte; 128], now))
    }

    fn read(&mut self, at: PageAddress) -> Vec<u8> {
        let mut out = vec![0; 128];
        self.with(|chip, now| chip.read(at, &mut out, now)).unwrap();
        out
    }
}

#[test]
fn data_come_back_and_rules_hold() {
    let mut bench = Bench::new();
    for at in 0..16 {
        bench.program(page(2, at), 0x30 + at as u8).unwrap();
    }
    for at in 0..16 {
        assert_eq!(bench.read(page(2, at)), vec![0x30 + at as u8; 128], "page {at}");
    }
    let again = bench.program(page(2, 3), 0).unwrap_err();
    assert_carries(again, &["block 2 page 3", "erased page"]);
    let order = bench.program(page(4, 5), 0).unwrap_err();
    assert_carries(order, &["block 4 page 5", "page 0"]);
    let size = bench.with(|chip, now| chip.program(page(4, 0), &[0; 5], now)).unwrap_err();
    assert_carries(size, &["128 bytes"]);
    for at in [page(32, 0), page(0, 16)] {
        assert!(bench.program(at, 0).is_err(), "{at:?}");
        assert!(bench.with(|chip, now| chip.read(at, &mut [0; 128], now)).is_err());
    }
    bench.with(|chip, now| chip.erase(2, now)).unwrap();
    assert_eq!(bench.read(page(2, 3)), vec![0xff; 128]);
    assert_eq!(bench.0.pe_cycles(2), 1);
    // Asked for, a page is programmed again: cells only rise.
    bench.program(page(2, 0), 0xf0).unwrap();
    bench.with(|chip, now| chip.set_feature(&Feature::AnyOrder(true), now)).unwrap();
    bench.program(page(2, 0), 0x3c).unwrap();
    assert_eq!(bench.read(page(2, 0)), vec![0x30; 128]);
}

#[test]
fn a_busy_chip_answers_status_and_reset_only() {
    let mut bench = Bench::new();
    let done = bench.0.program(page(0, 0), &[0; 128], Time::ZERO).unwrap();
    let early = Time(done.time.ns() - 1);
    assert!(!bench.0.status(early).ready && bench.0.status(done.time).ready);
    assert_carries(bench.0.erase(1, early).unwrap_err(), &["busy", "1 ns"]);
    let reset = bench.0.reset(early);
    assert_eq!(reset.time, Time(5_001));
    bench.0.erase(1, early + reset.time).unwrap();
}

/// 3 V x 25 mA x 500 us is 37.5 uJ; the bus adds 128 bytes at 100 MB/s and the command.
#[test]
fn times_and_energies_are_those_of_the_tables() {
    let mut bench = Bench::new();
    let done = bench.program(page(0, 0), 0).unwrap();
    assert_eq!(done.array, Time::from_us(500.0));
    assert_eq!(done.bus, Time::from_us(1.48));
    assert_eq!(done.time, Time::from_us(501.48));
    assert!((done.energy_uj - (37.5 + 3.0 * 5.0 * 1.48e-3)).abs() < 1e-9, "{done:?}");
    assert!((done.peak_mw - 75.0).abs() < 1e-9);
    let pair = [page(2, 0), page(3, 0)];
    let two = bench.with(|chip, now| chip.program_planes(&pair, &[0; 256], now)).unwrap();
    assert_eq!(two.time, Time::from_us(502.96), "arrays side by side, the bus one after another");
    assert!((two.peak_mw - 150.0).abs() < 1e-9);
    for wrong in [[page(2, 1), page(4, 1)], [page(2, 1), page(3, 2)]] {
        assert!(bench.with(|chip, now| chip.program_planes(&wrong, &[0; 256], now)).is_err());
    }
    let mut out = vec![0; 384];
    for at in 1..3 {
        bench.program(page(0, at), 0).unwrap();
    }
    let cached = bench.with(|chip, now| chip.read_cached(0, 0..3, &mut out, now)).unwrap();
    // 40 us, then twice 3 us and 40 us, then 3 us and the transfer.
    assert_eq!(cached.time, Time::from_us(40.0 + 2.0 * 43.0 + 3.0 + 1.48));
    assert_eq!(out, vec![0; 384]);
}

#[test]
fn copyback_stays_in_its_plane() {
    let mut bench = Bench::new();
    bench.program(page(0, 0), 0x5a).unwrap();
    let (from, to) = (page(0, 0), page(2, 0));
    let done = bench.with(|chip, now| chip.copyback(from, to, now)).unwrap();
    assert_eq!(done.array, Time::from_us(540.0));
    assert_eq!(bench.read(to), vec![0x5a; 128]);
    let other = bench.with(|chip, now| chip.copyback(from, page(1, 0), now)).unwrap_err();
    assert_carries(other, &["block 1 page 0", "same plane"]);
    // The peak is that of whichever draws more, the read or the program.
    let mut hungry = config();
    hungry.energy.icc_read_ma = 40.0;
    let mut bench = Bench(RawChip::new(&hungry, 1).unwrap(), Time::ZERO);
    bench.program(from, 0x5a).unwrap();
    let done = bench.with(|chip, now| chip.copyback(from, to, now)).unwrap();
    assert!((done.peak_mw - 120.0).abs() < 1e-9, "{done:?}");
}

#[test]
fn single_level_blocks_take_fast_pages_only() {
    let mut bench = Bench::new();
    let on = Feature::SingleLevel { block: 1, on: true };
    bench.with(|chip, now| chip.set_feature(&on, now)).unwrap();
    let fast: Vec<u32> =
        (0..16).filter(|&at| bench.0.identity().sites[at as usize].page_type == 0).collect();
    assert_eq!(fast[..4], [0, 1, 2, 3]);
    for &at in &fast {
        bench.program(page(1, at), 0x96).unwrap();
        assert_eq!(bench.read(page(1, at)), vec![0x96; 128]);
    }
    let slow = bench.program(page(1, 4), 0).unwrap_err();
    assert_carries(slow, &["block 1 page 4", "single-level", "fast pages"]);
    let late = bench.with(|chip, now| chip.set_feature(&on, now)).unwrap_err();
    assert_carries(late, &["block 1", "erased block"]);
}

#[test]
fn one_shot_wordlines_can_hold_one_bit() {
    let mut config = config();
    config.page_order = PageOrder::OneShot;
    let mut bench = Bench(RawChip::new(&config, 1).unwrap(), Time::ZERO);
    assert_eq!(bench.0.program_bytes(1).unwrap(), 256);
    let on = Feature::SingleLevel { block: 1, on: true };
    bench.with(|chip, now| chip.set_feature(&on, now)).unwrap();
    bench.program(page(1, 0), 0x96).unwrap();
    bench.program(page(1, 2), 0x69).unwrap();
    assert_eq!(bench.read(page(1, 0)), vec![0x96; 128]);
    assert!(bench.program(page(1, 5), 0).is_err());
}

/// Programs still succeed long after data are no longer kept (Desnoyers).
#[test]
fn failures_come_long_after_the_errors() {
    let mut bench = Bench::new();
    bench.with(|chip, _| chip.cycle(0, 50_000)).unwrap();
    let done = bench.program(page(0, 0), 0x0f).unwrap();
    bench.program(page(0, 1), 0x0f).unwrap();
    for at in 2..6 {
        bench.program(page(0, at), 0x33).unwrap();
    }
    let read = bench.read(page(0, 4));
    let errors: u32 = read.iter().map(|byte| (byte ^ 0x33).count_ones()).sum();
    assert!(!done.failed && !bench.0.status(bench.1).failed, "reported as well");
    assert!(errors > 0, "though data are lost");
    bench.with(|chip, _| chip.cycle(0, 250_000)).unwrap();
    assert!(bench.program(page(0, 0), 0x0f).unwrap().failed);
    let later = bench.1 + Time::from_s(1.0);
    assert!(bench.0.status(later).failed);
    assert!(bench.with(|chip, now| chip.erase(0, now)).unwrap().failed);
}

/// Programs of young blocks fail by chance, the same ones in each run.
#[test]
fn programs_fail_by_chance() {
    let failed = || {
        let mut config = config();
        config.fault.program_failure_chance = 0.1;
        let mut bench = Bench(RawChip::new(&config, 1).unwrap(), Time::ZERO);
        let mut failed = Vec::new();
        for cycle in 0..20 {
            bench.with(|chip, now| chip.erase(1, now)).unwrap();
            for at in 0..bench.0.identity().pages() {
                let done = bench.program(page(1, at), 0x3c).unwrap();
                assert_eq!(bench.0.status(bench.1).failed, done.failed);
                if done.failed {
                    failed.push((cycle, at));
                }
            }
        }
        failed.len() as u32 * 10 / bench.0.identity().pages()
    };
    // Twenty of two hundred pages of each number, give or take four.
    assert!((8..33).contains(&failed()), "{}", failed());
    assert_eq!(failed(), failed());
}

#[test]
fn factory_bad_blocks_are_refused() {
    let mut config = config();
    config.geometry.bad_block_fraction = 0.45;
    let mut bench = Bench(RawChip::new(&config, 3).unwrap(), Time::ZERO);
    let bad = (0..8).find(|&block| bench.0.is_bad(block)).expect("one of eight");
    let error = bench.program(page(bad, 0), 0).unwrap_err();
    assert_eq!(error.place, format!("block {bad}"));
    assert_carries(&error.problem, &["bad"]);
    let none = ChipConfig { cell: None, ..config };
    assert_carries(RawChip::new(&none, 1).err().unwrap(), &["chip.cell.preset"]);
}

/// A command is refused as a whole, even if only the last of several addresses is wrong.
#[test]
fn refused_commands_change_nothing() {
    let mut config = config();
    config.geometry.bad_block_fraction = 0.45;
    let mut bench = Bench(RawChip::new(&config, 3).unwrap(), Time::ZERO);
    let find = |bad: bool, plane| {
        let blocks = (0..32).filter(|block| block % 2 == plane);
        blocks.into_iter().find(|&block| bench.0.is_bad(block) == bad).unwrap()
    };
    let (good, bad, beyond) = (find(false, 0), find(true, 1), 33);
    bench.program(page(good, 0), 0x5a).unwrap();
    for other in [bad, beyond] {
        assert!(bench.with(|chip, now| chip.erase_planes(&[good, other], now)).is_err());
        assert_eq!(bench.0.pe_cycles(good), 0);
    }
    let mut out = vec![7; 256];
    let far = [page(good, 0), page(beyond, 0)];
    assert!(bench.with(|chip, now| chip.read_planes(&far, &mut out, now)).is_err());
    assert!(bench.with(|chip, now| chip.read_cached(good, 15..17, &mut out, now)).is_err());
    assert_eq!(out, vec![7; 256]);
    assert_eq!(bench.0.slot(good).unwrap().cells.reads(), 0);
    assert_eq!(bench.read(page(good, 0)), vec![0x5a; 128]);
}

#[test]
fn references_move_on_request() {
    let mut bench = Bench::new();
    bench.program(page(0, 0), 0x0f).unwrap();
    let shift = |volts: f32| Feature::ReadShift { page_type: 0, shifts_v: vec![volts] };
    bench.with(|chip, now| chip.set_feature(&shift(20.0), now)).unwrap();
    assert_eq!(bench.read(page(0, 0)), vec![0xff; 128], "all cells are below");
    bench.with(|chip, now| chip.reset(now));
    assert_eq!(bench.read(page(0, 0)), vec![0x0f; 128]);
    assert!(bench.with(|chip, now| chip.set_feature(&shift(f32::NAN), now)).is_err());
    let none = Feature::ReadShift { page_type: 2, shifts_v: Vec::new() };
    assert!(bench.with(|chip, now| chip.set_feature(&none, now)).is_err());
}
