//! Tests of the chips of a drive: states of blocks and pages in the device.

use super::*;
use crate::block::wordline::PageOrder;
use crate::chip::ChipConfig;
use base::error::assert_carries;
use base::params;

/// Small chip whose model of errors includes retention.
fn config(bits: u32, order: PageOrder, array: &str) -> ChipConfig {
    let text = format!(
        "cell_bits = {bits}\nrated_pe_cycles = 1000\npage_order = 'one_shot'\n\
         [geometry]\nplanes_per_die = 2\nblocks_per_plane = 4\npages_per_block = 12\n\
         page_bytes = 4096\nspare_bytes = 256\n\
         [timing]\nt_read_us = 50.0\nt_program_us = 900.0\nt_erase_us = 3000.0\nbus_mt_s = 400.0\n\
         single_level = {{ t_read_us = 20.0, t_program_us = 150.0 }}\n\
         [energy]\nvcc_v = 3.3\nicc_read_ma = 25.0\nicc_program_ma = 25.0\nicc_erase_ma = 25.0\n\
         [array]\n{array}"
    );
    let mut config: ChipConfig =
        params::read(&params::parse(&text, "test").unwrap(), "chip").unwrap();
    config.page_order = order;
    config
}

fn chips(bits: u32, order: PageOrder, array: &str) -> Chips {
    Chips::new(&config(bits, order, array), 1, 1024, 100, Hours(500.0), 1).unwrap()
}

const LAW: &str = "name = 'power_law'";
const IDEAL: &str = "name = 'ideal'";

/// A page errs as its layer does, in blocks of either mode, now and at another age.
#[test]
fn pages_err_by_the_layer_of_their_wordline() {
    let law = "name = 'power_law'\ngamma = 0.0\nlayer_factors = [2.0, 0.5]";
    let mut chips = chips(3, PageOrder::OneShot, law);
    chips.load(Block(0), 12);
    chips.load_in(BlockMode::SingleLevel, Block(1), 4);
    for (block, pages) in [(Block(0), 12), (Block(1), 4)] {
        let first = chips.read(block, 0, 0.0).unwrap().1;
        let later = chips.rber_after(block, 0, 60);
        for page in 0..pages {
            let factor = if page < pages / 2 { 1.0 } else { 0.25 };
            assert_eq!(chips.read(block, page, 0.0).unwrap().1, factor * first, "page {page}");
            assert_eq!(chips.rber_after(block, page, 60), factor * later, "page {page}");
        }
    }
}

/// Without added hours, and within a minute, data are as old as the drive says or fresh. Otherwise
/// the data of a block age from its first program.
#[test]
fn data_are_as_old_as_their_block() {
    let mut chips = chips(3, PageOrder::OneShot, LAW);
    let hours = |chips: &Chips, block: u32| chips.state(Block(block), 0).retention.0;
    chips.load(Block(0), 6);
    chips.program(Block(1), 0).unwrap();
    chips.advance_to(Time(MINUTE - 1));
    assert_eq!((hours(&chips, 0), hours(&chips, 1)), (500.0, 0.0));
    // Pages that join a block which the run began with are not of its first age.
    chips.program(Block(0), 6).unwrap();
    assert_eq!(chips.state(Block(0), 6).retention.0, 0.0);
    chips.age(Hours(1000.0));
    chips.program(Block(2), 0).unwrap();
    assert_eq!([0, 1, 2].map(|block| hours(&chips, block)), [1500.0, 1000.0, 0.0]);
    chips.advance_to(Time(90 * MINUTE));
    assert_eq!([0, 1, 2].map(|block| hours(&chips, block)), [1501.5, 1001.5, 1.5]);
    assert_eq!(chips.device_age().0, 1001.5);
    // Later pages of a block count from its birth; an erase begins a new life.
    chips.program(Block(2), 3).unwrap();
    assert_eq!(chips.state(Block(2), 3).retention.0, 1.5);
    chips.erase(Block(0));
    chips.program(Block(0), 0).unwrap();
    assert_eq!(hours(&chips, 0), 0.0);
    let rber = |chips: &mut Chips, block| chips.read(Block(block), 0, 0.0).unwrap().1;
    assert!(rber(&mut chips, 1) > rber(&mut chips, 0));
}

/// Ages of data in real hours at any temperature, and the time at which a device has an age.
#[test]
fn ages_are_told_in_minutes() {
    let mut chips = chips(3, PageOrder::OneShot, LAW);
    chips.load(Block(0), 6);
    chips.program(Block(1), 0).unwrap();
    let minutes = |chips: &Chips, block| chips.data_minutes(Block(block));
    assert_eq!([0, 1, 2].map(|block| minutes(&chips, block)), [Some(30_000), Some(0), None]);
    chips.age_by_minutes(90);
    chips.advance_to(Time(7 * MINUTE));
    assert_eq!([0, 1].map(|block| minutes(&chips, block)), [Some(30_097), Some(97)]);
    assert_eq!((chips.age_minutes(), chips.time_at_age(100)), (97, Time(10 * MINUTE)));
    // What a page will be like at an age is what it is like then.
    let read = chips.read(Block(1), 0, 0.0).unwrap().1;
    let then = chips.rber_after(Block(1), 0, 97);
    assert_eq!(read.to_bits(), then.to_bits());
    chips.disturb(Block(1), 1000);
    assert_eq!(chips.reads(Block(1)), 1001);
    assert!(chips.rber_after(Block(1), 0, 970) > then);
    // Pages of a row of cells are in one row.
    assert_eq!(chips.row_of(Die(0), 0), chips.row_of(Die(0), 2));
    assert_ne!(chips.row_of(Die(0), 0), chips.row_of(Die(0), 3));
}

/// A year at 30 C is 506 hours at 52 C (JESD218): old data, and hours that pass in the run.
#[test]
fn data_age_by_the_temperature_of_the_drive() {
    let warm = format!("{LAW}\nactivation_ev = 1.1");
    let mut chips = chips(3, PageOrder::OneShot, &warm);
    chips.load(Block(0), 6);
    chips.program(Block(1), 0).unwrap();
    chips.keep_at(52.0).unwrap();
    chips.age(Hours(506.0));
    let hours = |block: u32| chips.state(Block(block), 0).retention.0;
    assert!((hours(1) / 8760.0 - 1.0).abs() < 0.005, "{}", hours(1));
    assert!((hours(0) / (hours(1) / 506.0 * 1006.0) - 1.0).abs() < 1e-9, "{}", hours(0));
    // At the temperature that the law holds for hours are hours, to the bit.
    chips.keep_at(30.0).unwrap();
    assert_eq!(chips.state(Block(1), 0).retention.0, 506.0);
}

/// Models without activation energy refuse a temperature, and so do ages beyond measured points.
#[test]
fn temperatures_that_a_law_does_not_know() {
    let keep = |array: &str, celsius: f64| {
        let mut chips = chips(3, PageOrder::OneShot, array);
        chips.can_be_at(celsius).then(|| chips.keep_at(celsius).is_ok())
    };
    let rates = "rber = [1e-4, 1e-4, 1e-4]";
    let points = format!(
        "name = 'table'\npoints = [{{ pe_cycles = 100, hours = 0, reads = 0, {rates} }}, \
         {{ pe_cycles = 100, hours = 1000, reads = 0, {rates} }}]"
    );
    for array in [LAW, "name = 'exponential'", &points] {
        assert_eq!(keep(array, 40.0), None, "{array}");
    }
    // At the temperature of the measurements hours are hours.
    let warm = format!("{points}\nreference_c = 40.0");
    let warm_law = format!("{LAW}\nreference_c = 40.0");
    for array in [&warm, &warm_law] {
        assert_eq!((keep(array, 40.0), keep(array, 30.0)), (Some(true), None), "{array}");
        let kept = |celsius: f64| {
            let mut chips = chips(3, PageOrder::OneShot, array);
            chips.keep_at(celsius).unwrap();
            chips.state(Block(1), 0).retention.0
        };
        assert_eq!(kept(40.0), chips(3, PageOrder::OneShot, array).state(Block(1), 0).retention.0);
    }
    let known = format!("{points}\nactivation_ev = 1.1");
    assert_eq!([25.0, 30.0, 40.0].map(|c| keep(&known, c)), [Some(true), Some(true), Some(false)]);
    assert_eq!(keep("name = 'retention_law'", 85.0), Some(true));
}

/// A block in single-level mode has a third of the pages, its own times, and keeps its mode.
#[test]
fn single_level_blocks() {
    let mut chips = chips(3, PageOrder::OneShot, LAW);
    let mode = BlockMode::SingleLevel;
    assert_eq!((chips.first().pages(mode), chips.first().pages_per_program_in(mode)), (4, 1));
    for page in 0..4 {
        let time = chips.program_in(mode, Block(1), page).unwrap();
        assert_eq!(time, Time::from_us(150.0));
    }
    assert_eq!(chips.mode(Block(1)), mode);
    assert!(chips.program_in(mode, Block(1), 4).is_err());
    assert_eq!(chips.read(Block(1), 3, 0.0).unwrap().0, Time::from_us(20.0));
    assert!(chips.read(Block(1), 4, 0.0).is_err());
    // A late read of a page that the block had in native mode.
    assert_eq!(chips.sense_erased(Block(1), 11), Time::from_us(20.0));
    chips.load_in(mode, Block(2), 4);
    assert_eq!(chips.state(Block(2), 3).retention.0, 500.0);
    assert_eq!(chips.state(Block(2), 3).page_type, 0);
    chips.erase(Block(1));
    assert_eq!(chips.mode(Block(1)), BlockMode::Native);
    assert_eq!(chips.program(Block(1), 0).unwrap(), Time::from_us(900.0));
    let mixed = chips.program_in(mode, Block(1), 3).unwrap_err();
    assert_carries(mixed, &["native", "erased block"]);
    assert_eq!(chips.read(Block(1), 2, 0.0).unwrap().0, Time::from_us(50.0));
}

/// A block with one bit a cell has far fewer errors than a native one, by its own cells.
#[test]
fn single_level_blocks_err_by_their_own_law() {
    let mut config = config(2, PageOrder::AllBitline, "name = 'cells'");
    config.cell = Some(
        crate::cell::CellConfig::parse(
            "[levels]\nvth_mean_v = [-1.0, 0.0, 1.0, 2.0]\nvth_sigma_v = [0.3, 0.3, 0.3, 0.3]\n\
             coarse_sigma_v = 0.2\ncoarse_margin_v = 0.3\n[wear]\nwiden_v = 0.01\n",
            "test",
        )
        .unwrap(),
    );
    let mut chips = Chips::new(&config, 1, 1024, 100, Hours(0.0), 1).unwrap();
    chips.program(Block(0), 0).unwrap();
    chips.program_in(BlockMode::SingleLevel, Block(1), 0).unwrap();
    let mut rber = |block| chips.read(Block(block), 0, 0.0).unwrap().1;
    let (native, single) = (rber(0), rber(1));
    assert!(single > 0.0 && single < 0.5 * native, "{single} {native}");
}

/// Unit whose owner is also its sequence number; 103 is lost.
fn owned(owner: u32) -> Owned {
    Owned { owner, sequence: owner.into(), is_lost: owner == 103 }
}

/// Areas are written with a completed program, are padded, and go with the erase.
#[test]
fn out_of_band_areas_come_and_go_with_the_data() {
    let mut chips = chips(3, PageOrder::OneShot, IDEAL);
    let ppn = |chips: &Chips, page, slot| chips.geometry.ppn(Block(1), page, slot);
    chips.program(Block(1), 0).unwrap();
    chips.write_oob(Block(1), 0, &[owned(7)], 1, 0);
    assert_eq!(chips.oob(ppn(&chips, 0, 0)), None, "none are kept");
    chips.keep_oob();
    // 8 blocks of 12 pages of 4 units, 4 programs a block.
    assert_eq!(chips.oob_bytes(), 8 * (12 * 4 * 12 + 4 * 8 + 8));
    assert_eq!(chips.oob(ppn(&chips, 0, 0)), None, "its program has not completed");
    let units: Vec<Owned> = (100..110).map(owned).collect();
    chips.write_oob(Block(1), 0, &units, 41, 5);
    let oob = |unit| Some(Oob { unit, stamp: 41 });
    assert_eq!(chips.oob(ppn(&chips, 0, 0)), oob(owned(100)));
    assert_eq!(chips.oob(ppn(&chips, 0, 3)), oob(owned(103)));
    assert_eq!(chips.oob(ppn(&chips, 2, 1)), oob(owned(109)));
    assert_eq!(chips.oob(ppn(&chips, 2, 2)), oob(Owned::PADDING));
    assert_eq!(chips.oob(ppn(&chips, 3, 0)), None);
    assert_eq!((chips.stamp(Block(1), 2), chips.stamp(Block(1), 3)), (Some(41), None));
    chips.write_oob(Block(1), 0, &units, 41, 0);
    assert_eq!(chips.tag(Block(1)), 5);
    chips.erase(Block(1));
    assert_eq!((chips.oob(ppn(&chips, 0, 0)), chips.tag(Block(1))), (None, 0));
    // One page a program in single-level mode.
    for (page, stamp) in (0..4).zip(50..) {
        chips.program_in(BlockMode::SingleLevel, Block(1), page).unwrap();
        chips.write_oob(Block(1), page, &[owned(page); 4], stamp, 0);
    }
    assert_eq!(chips.oob(ppn(&chips, 3, 2)), Some(Oob { unit: owned(3), stamp: 53 }));
    let copy = chips.clone();
    assert_eq!(copy.oob(ppn(&chips, 3, 2)), chips.oob(ppn(&chips, 3, 2)));
}

/// A block that is full of data has its summary behind them, written with the last page.
#[test]
fn summaries_come_with_the_last_page() {
    let mut chips = chips(2, PageOrder::AllBitline, IDEAL);
    // 12 pages of 4 KiB, in units of a KiB: 4 units a page.
    chips.keep_summaries(100, 4096).unwrap();
    assert_eq!((chips.summary_pages(), chips.geometry.pages_per_block), (2, 10));
    let plain: Vec<Time> = (0..9).map(|page| chips.program(Block(1), page).unwrap()).collect();
    let last = chips.program(Block(1), 9).unwrap();
    assert!(last > plain[8] && last > plain[7], "three pages");
    assert_eq!(chips.programmed_pages(Block(1)), 10);
    assert!(chips.program(Block(1), 10).is_err());
    chips.load(Block(2), 10);
    assert!(chips.program(Block(2), 10).is_err());
    assert!(chips.keep_summaries(1 << 20, 4096).is_err());
}

/// Pages of a torn program cannot be read, nor earlier pages on their cells.
#[test]
fn torn_pages_are_lost_until_the_erase() {
    let mut chips = chips(2, PageOrder::AllBitline, IDEAL);
    chips.keep_oob();
    for page in 0..5 {
        chips.program(Block(1), page).unwrap();
        chips.write_oob(Block(1), page, &[owned(page); 4], u64::from(page), 0);
    }
    // Page 4 is the upper page of the wordline of page 2.
    let site = |page| chips.first().rules.site(BlockMode::Native, page).wordline;
    assert_eq!(site(4), site(2 - 1));
    let lower = 1;
    chips.tear_program(Block(1));
    for page in 0..5 {
        let lost = page == 4 || page == lower;
        assert_eq!(chips.is_torn(Block(1), page), lost, "page {page}");
        let rber = chips.read(Block(1), page, 0.0).unwrap().1;
        assert_eq!(rber, if lost { 0.5 } else { 0.0 });
        let ppn = chips.geometry.ppn(Block(1), page, 0);
        assert_eq!(chips.oob(ppn).is_none(), lost, "page {page}");
    }
    assert_eq!(chips.programmed_pages(Block(1)), 5);
    chips.program(Block(1), 5).unwrap();
    assert!(!chips.is_torn(Block(1), 5));
    chips.erase(Block(1));
    chips.program(Block(1), 0).unwrap();
    assert_eq!(chips.read(Block(1), 0, 0.0).unwrap().1, 0.0);
    chips.tear_erase(Block(1));
    assert!(chips.is_torn(Block(1), 11) && chips.program(Block(1), 1).is_err());
    chips.erase(Block(1));
    chips.program(Block(1), 0).unwrap();
    assert!(!chips.is_torn(Block(1), 0));
}

/// After `n` copies at a rate `q` each a page has the rate `(1 - (1 - 2q)^(n + 1)) / 2` of `n + 1`
/// readings in a row. A program by the controller starts over, and other pages have no such errors.
#[test]
fn copies_add_their_errors() {
    let law = "name = 'power_law'\nepsilon = 3e-3\nalpha = 0\nbeta = 0\ngamma = 0";
    let mut chips = chips(1, PageOrder::AllBitline, law);
    chips.keep_copies();
    let q = 3e-3_f64;
    chips.program(Block(0), 0).unwrap();
    for n in 0..20u8 {
        let page = u32::from(n) % 12;
        let block = Block(u32::from(n) / 12);
        let (_, rber) = chips.read(block, page, 0.0).unwrap();
        let expected = (1.0 - (1.0 - 2.0 * q).powi(i32::from(n) + 1)) / 2.0;
        assert!((rber / expected - 1.0).abs() < 1e-6, "{n}: {rber}, not {expected}");
        assert_eq!(chips.copies_of(block, page), n);
        let (to, next) = (Block(u32::from(n + 1) / 12), u32::from(n + 1) % 12);
        chips.program(to, next).unwrap();
        assert_eq!(chips.copies_of(to, next), 0);
        chips.take_over(to, next, rber, n + 1);
    }
    chips.erase(Block(0));
    chips.program(Block(0), 0).unwrap();
    let (_, rber) = chips.read(Block(0), 0, 0.0).unwrap();
    assert!((rber / q - 1.0).abs() < 1e-9 && chips.copies_of(Block(0), 0) == 0, "{rber}");
}

/// Programs and erases spread around their means, in each drive of a seed alike.
#[test]
fn times_spread_around_their_means() {
    let of_seed = |seed| {
        let mut config = config(2, PageOrder::EvenOdd, IDEAL);
        let spread = "program_page = [0.0, 0.05]\nprogram_block = 0.02\nerase_cycle = 0.05";
        let table = params::parse(spread, "test").unwrap();
        config.timing.spread = params::read(&table, "chip.timing.spread").unwrap();
        let mut chips = Chips::new(&config, 1, 1024, 0, Hours(0.0), seed).unwrap();
        let mut pages = |block| -> Vec<Time> {
            (0..12).map(|page| chips.program(block, page).unwrap()).collect()
        };
        let programs = [pages(Block(0)), pages(Block(1))];
        let erases: Vec<Time> = (0..8).map(|_| chips.erase(Block(0))).collect();
        (programs, erases, chips)
    };
    let (programs, erases, chips) = of_seed(1);
    let spread_of = |times: &mut dyn Iterator<Item = Time>| {
        let times: Vec<u64> = times.map(|time| time.0).collect();
        times.iter().max().unwrap() - times.iter().min().unwrap()
    };
    for block in &programs {
        let silicon = chips.first();
        let of_type = |page_type| {
            let pages = (0..12).filter(move |&page| silicon.page_type(page) == page_type);
            pages.map(|page| block[page as usize])
        };
        assert_eq!(spread_of(&mut of_type(0)), 0, "{block:?}");
        assert!(spread_of(&mut of_type(1)) > 30_000, "{block:?}");
    }
    assert_ne!(programs[0][0], programs[1][0]);
    assert!(spread_of(&mut erases.iter().copied()) > 100_000, "{erases:?}");
    let again = of_seed(1);
    assert_eq!((&programs, &erases), (&again.0, &again.1));
    assert_ne!(programs, of_seed(2).0);
}

/// Chips whose cells recover by a tenth for each factor e of the rest in hours.
fn recovering() -> Chips {
    let mut config = config(1, PageOrder::AllBitline, LAW);
    let cell = "[levels]\nvth_mean_v = [0.0, 2.0]\nvth_sigma_v = [0.3, 0.1]\n\
         [wear]\nrecovery = 0.1\nrecovery_hours = 1.0";
    config.cell = Some(crate::cell::CellConfig::parse(cell, "test").unwrap());
    Chips::new(&config, 1, 1024, 100, Hours(0.0), 1).unwrap()
}

/// A block rests from erase to erase. Cycles are counted, and errors go by what they have worn.
#[test]
fn blocks_recover_between_their_erases() {
    let (mut chips, mut others) = (recovering(), chips(1, PageOrder::AllBitline, LAW));
    let wear = |hours: f64| 1.0 - 0.1 * libm::log1p(hours);
    for _ in 0..200 {
        chips.age(Hours(50.0));
        chips.erase(Block(0));
        chips.erase(Block(1));
        chips.erase(Block(1));
        others.erase(Block(0));
    }
    let all =
        |chips: &Chips, block| (chips.pe_cycles(Block(block)), chips.worn_cycles(Block(block)));
    assert_eq!(all(&chips, 0), (300, (100.0 + 200.0 * wear(50.0)).round() as u32));
    assert_eq!(all(&chips, 1), (500, (300.0 + 200.0 * wear(50.0)).round() as u32));
    assert_eq!((all(&chips, 2), all(&others, 0)), ((100, 100), (300, 300)));
    let rber = |chips: &mut Chips| {
        chips.program(Block(0), 0).unwrap();
        chips.read(Block(0), 0, 0.0).unwrap().1
    };
    assert!(rber(&mut chips) < rber(&mut others));
    // Cycles of a leap rest as they are told to, and those blocks have been erased of late since.
    chips.wear(Block(2), 1000, Hours(50.0));
    chips.age_others(Hours(50_000.0), |block| block == Block(2));
    assert_eq!(all(&chips, 2), (1100, (100.0 + 1000.0 * wear(50.0)).round() as u32));
    chips.erase(Block(2));
    let worn = 100.0 + 1000.0 * wear(50.0) + wear(200.0 * 50.0);
    assert_eq!(all(&chips, 2), (1101, worn.round() as u32));
    chips.replace(Die(0), 7);
    assert_eq!(all(&chips, 0), (7, 7));
}

/// Chip whose cell is disturbed by reads twice as much at 50 C as at 30 C.
fn warm_chips() -> Chips {
    let ev = 8.617_333_262e-5 * 2f64.ln() / (1.0 / 303.15 - 1.0 / 323.15);
    let text = format!(
        "[levels]\nvth_mean_v = [-2.0, 1.0, 2.0, 3.0]\nvth_sigma_v = [0.4, 0.13, 0.13, 0.13]\n\
         [read_disturb]\nrate_uv = 20.0\nactivation_ev = {ev:?}"
    );
    let mut config = config(2, PageOrder::OneShot, "name = 'table'");
    config.cell = Some(crate::cell::CellConfig::parse(&text, "test").unwrap());
    Chips::new(&config, 1, 1024, 100, Hours(0.0), 1).unwrap()
}

/// Errors go by the dose of reads, each at its temperature; the count of reads goes on. An erase
/// ends both, and a saved drive keeps both.
#[test]
fn reads_disturb_by_their_temperature() {
    let (mut cold, mut warm) = (warm_chips(), warm_chips());
    warm.keep_at(50.0).unwrap();
    for chips in [&mut cold, &mut warm] {
        chips.program(Block(0), 0).unwrap();
    }
    cold.disturb(Block(0), 20_000);
    warm.disturb(Block(0), 10_000);
    assert_eq!((cold.reads(Block(0)), warm.reads(Block(0))), (20_000, 10_000));
    assert_eq!(cold.state(Block(0), 0).reads, warm.state(Block(0), 0).reads);
    let rates = [&cold, &warm].map(|chips| chips.rber_after(Block(0), 0, 0));
    assert_eq!(rates[0], rates[1]);
    assert!(rates[0] > warm.rber_read(Block(0), 0, 5_000));
    assert_eq!(cold.rber_read(Block(0), 0, 10_000), warm.rber_read(Block(0), 0, 5_000));
    warm.read(Block(0), 0, 0.0).unwrap();
    assert_eq!(warm.state(Block(0), 0).reads, 20_002);
    // Reads at another temperature add their own dose.
    warm.read_at(30.0);
    warm.disturb(Block(0), 1_000);
    assert_eq!((warm.reads(Block(0)), warm.state(Block(0), 0).reads), (11_001, 21_002));
    let mut bytes = Vec::new();
    let mut saved = Archive::saving(&mut bytes);
    warm.exchange(&mut saved).unwrap();
    saved.end().unwrap();
    let mut loaded = warm_chips();
    loaded.keep_at(50.0).unwrap();
    loaded.exchange(&mut Archive::loading(&mut bytes.as_slice())).unwrap();
    assert_eq!(loaded.state(Block(0), 0).reads, 21_002);
    warm.erase(Block(0));
    warm.program(Block(0), 0).unwrap();
    warm.read(Block(0), 0, 0.0).unwrap();
    assert_eq!((warm.reads(Block(0)), warm.state(Block(0), 0).reads), (1, 1));
}

/// Chip of one-shot MLC whose reads disturb the neighbours of a wordline `factor` times as much.
fn hammered_chips(factor: f64) -> Chips {
    let text = format!(
        "[levels]\nvth_mean_v = [-2.0, 1.0, 2.0, 3.0]\nvth_sigma_v = [0.4, 0.13, 0.13, 0.13]\n\
         [read_disturb]\nrate_uv = 20.0\nactivation_ev = 0.2\nneighbour_factor = {factor:?}"
    );
    let mut config = config(2, PageOrder::OneShot, "name = 'table'");
    config.geometry.pages_per_block = 16;
    config.cell = Some(crate::cell::CellConfig::parse(&text, "test").unwrap());
    let mut chips = Chips::new(&config, 1, 1024, 100, Hours(0.0), 1).unwrap();
    for page in (0..16).step_by(2) {
        chips.program(Block(1), page).unwrap();
    }
    chips
}

/// Doses of wordlines are n + (f - 1) times the reads of both neighbours, at every temperature; an
/// erase and a new chip end them, and a saved drive keeps them.
#[test]
fn neighbours_of_a_wordline_have_a_dose_of_their_own() {
    let hammer = |chips: &mut Chips, page: u32, reads: u32| {
        for _ in 0..reads {
            chips.read(Block(1), page, 0.0).unwrap();
        }
    };
    let dose = |chips: &Chips, wordline: u32| chips.state(Block(1), 2 * wordline).reads;
    let mut chips = hammered_chips(8.0);
    let mut even = hammered_chips(1.0);
    for chips in [&mut chips, &mut even] {
        hammer(chips, 7, 1000);
        hammer(chips, 0, 10);
    }
    let all: Vec<u32> = (0..8).map(|wordline| dose(&chips, wordline)).collect();
    assert_eq!(all, [1010, 1080, 8010, 1010, 8010, 1010, 1010, 1010]);
    assert!((0..8).all(|wordline| dose(&even, wordline) == 1010));
    assert_eq!(chips.reads(Block(1)), 1010, "the firmware counts reads");
    let rber = |chips: &Chips, page| chips.rber_read(Block(1), page, chips.reads(Block(1)));
    assert!(rber(&chips, 4) > rber(&chips, 6));
    // A reading of the page meets what is foretold of it, its own read included.
    let foretold = chips.rber_read(Block(1), 4, 1011);
    let read = chips.clone().read(Block(1), 4, 0.0).unwrap().1;
    assert!((read / foretold - 1.0).abs() < 1e-3, "{read} {foretold}");
    let mut bytes = Vec::new();
    let mut saved = Archive::saving(&mut bytes);
    chips.exchange(&mut saved).unwrap();
    saved.end().unwrap();
    let mut loaded = hammered_chips(8.0);
    loaded.exchange(&mut Archive::loading(&mut bytes.as_slice())).unwrap();
    assert_eq!((0..8).map(|wordline| dose(&loaded, wordline)).collect::<Vec<_>>(), all);
    // Reads of all pages alike: each wordline within has two neighbours, those at the ends one.
    let mut passes = chips.clone();
    passes.disturb(Block(1), 800);
    let more: Vec<u32> =
        (0..8).map(|wordline| dose(&passes, wordline)).zip(&all).map(|(a, b)| a - b).collect();
    assert_eq!(more, [1500, 2200, 2200, 2200, 2200, 2200, 2200, 1500]);
    let foretold = chips.rber_read(Block(1), 4, 1810);
    assert_eq!(foretold.to_bits(), rber(&passes, 4).to_bits());
    // A read at another temperature counts by its own dose.
    let of_read = chips.first().arrays[0].equivalent_reads(1.0, 60.0);
    let mut warm = hammered_chips(8.0);
    warm.keep_at(60.0).unwrap();
    hammer(&mut warm, 7, 1000);
    assert!((f64::from(dose(&warm, 2)) - 8000.0 * of_read).abs() < 1.0);
    // The end of a block's cycle, or of its chip.
    loaded.erase(Block(1));
    loaded.program(Block(1), 0).unwrap();
    assert_eq!(loaded.state(Block(1), 0).reads, 0);
    chips.replace(Die(0), 7);
    chips.program(Block(1), 0).unwrap();
    assert_eq!((0..8).map(|wordline| dose(&chips, wordline)).sum::<u32>(), 0);
}
