//! Tests of stored content: times, wear and refusals.

use super::*;
use crate::chip::Chips;
use crate::chip::geometry::Block;
use base::error::assert_carries;
use base::params;
use base::units::Hours;

/// MLC chip with 4,096 cells a page whose times follow from its cell.
fn config(content: &str) -> ChipConfig {
    let text = format!(
        "cell_bits = 2\nrated_pe_cycles = 1000\npage_order = 'even_odd'\n{content}\n\
         [geometry]\nplanes_per_die = 1\nblocks_per_plane = 8\npages_per_block = 16\n\
         page_bytes = 512\nspare_bytes = 16\n\
         [timing]\nt_read_us = 'cell'\nt_program_us = 'cell'\nt_erase_us = 'cell'\n\
         bus_mt_s = 100.0\n\
         [energy]\nvcc_v = 3.0\nicc_read_ma = 20.0\nicc_program_ma = 25.0\nicc_erase_ma = 15.0\n\
         [cell.levels]\nvth_mean_v = [-2.0, 1.0, 2.0, 3.0]\nvth_sigma_v = [0.3, 0.1, 0.1, 0.1]\n\
         coarse_margin_v = 0.8\n\
         [cell.program]\nstep_v = 0.2\nfixed_us = [300.0, 500.0]\npulse_us = 20.0\n\
         [cell.erase]\nyoung_empty_us = 3300.0\nyoung_full_us = 3100.0\nold_us = 9000.0\n\
         [cell.wear]\nwiden_v = 0.05\nspeedup = 0.05\nby_level = [1.2, 0.9, 0.95, 1.15]\n\
         [cell.sensing]\nfixed_us = 25.0\nreference_us = 10.0\n\
         [array]\nname = 'cells'\n"
    );
    params::read(&params::parse(&text, "test").unwrap(), "chip").unwrap()
}

fn kinds(kinds: &[(f64, [f64; 4])]) -> String {
    let each = kinds
        .iter()
        .map(|(share, levels)| format!("{{ share = {share:?}, level_shares = {levels:?} }}"));
    format!("content = [{}]", each.collect::<Vec<_>>().join(", "))
}

/// Times of the programs of both page types and of the erase, in microseconds, after `pe_cycles`.
fn times(content: &str, pe_cycles: u32) -> [f64; 3] {
    let config = config(content);
    let timing = config.timing(config.cell().unwrap().as_deref()).unwrap();
    [timing.program(0, pe_cycles), timing.program(1, pe_cycles), timing.erase(pe_cycles)]
        .map(|time| time.us())
}

fn rber(content: &str, pe_cycles: u32) -> f64 {
    let chips = Chips::new(&config(content), 1, 512, pe_cycles, Hours(0.0), 1).unwrap();
    // Page 4 is the slow one on the cells of page 0.
    chips.rber_after(Block(0), 4, 0)
}

#[test]
fn equal_shares_are_random_data() {
    let equal = kinds(&[(1.0, [0.25; 4])]);
    for cycles in [0, 1000, 50_000] {
        assert_eq!(times(&equal, cycles), times("", cycles));
        assert_eq!(rber(&equal, cycles), rber("", cycles));
    }
}

/// Wang, equations 1 and 14: the highest level of a page decides. From -2 V on, with 0.2 V a pulse:
/// 16 pulses to the coarse state of S2 and S3 (1.2 V), 15 to S1, 9 from there to S3, 4 to S2.
#[test]
fn the_highest_level_of_a_page_decides_its_time() {
    let [lower, upper, erase] = times(&kinds(&[(1.0, [1.0, 0.0, 0.0, 0.0])]), 0);
    assert_eq!([lower, upper], [300.0, 500.0], "'11' needs no pulse");
    assert!((erase - 3300.0).abs() < 0.1);
    let of = |levels| times(&kinds(&[(1.0, levels)]), 0);
    assert_eq!(of([0.5, 0.5, 0.0, 0.0])[..2], [300.0, 800.0]);
    assert_eq!(of([0.0, 0.0, 1.0, 0.0])[..2], [620.0, 580.0]);
    assert_eq!(of([0.0, 0.0, 0.0, 1.0])[..2], [620.0, 680.0]);
    assert!((of([0.0, 0.0, 0.0, 1.0])[2] - 3100.0).abs() < 0.1);
    // One cell of 4,096 is enough, half a cell is none.
    let mostly = |high: f64| of([1.0 - high, 0.0, 0.0, high])[..2].to_vec();
    assert_eq!(mostly(1.0 / 4096.0), [620.0, 680.0]);
    assert_eq!(mostly(0.5 / 4096.0), [300.0, 500.0]);
}

#[test]
fn kinds_are_weighed_by_their_shares() {
    let half = kinds(&[(0.5, [1.0, 0.0, 0.0, 0.0]), (0.5, [0.0, 0.0, 0.0, 1.0])]);
    let [lower, upper, _] = times(&half, 0);
    assert!((lower - 460.0).abs() < 1e-6 && (upper - 590.0).abs() < 1e-6, "{lower} {upper}");
}

/// `by_level` has a mean of 1.05, so cells in the second level wear by 0.9 / 1.05.
#[test]
fn a_cycle_wears_by_the_levels_held() {
    let second = kinds(&[(1.0, [0.0, 1.0, 0.0, 0.0])]);
    let config = config(&second);
    let cell = config.cell().unwrap().unwrap();
    let content = Content::of(&config, Some(&cell)).unwrap().unwrap();
    let wear = content.wear(&cell);
    assert!((wear - 0.9 / 1.05).abs() < 1e-12);
    let cycles = 20_000;
    let as_worn = (f64::from(cycles) * wear).round() as u32;
    assert_eq!(rber(&second, cycles), rber("", as_worn));
    assert!(rber(&second, cycles) < rber("", cycles));
    let highest = kinds(&[(1.0, [0.0, 0.0, 0.0, 1.0])]);
    assert!(rber(&highest, cycles) > rber("", cycles));
}

#[test]
fn refuses_what_is_no_content() {
    let refused = |content: &str| {
        let config = config(content);
        config.timing(config.cell().unwrap().as_deref()).unwrap_err()
    };
    let half = refused(&kinds(&[(0.5, [0.25; 4])]));
    assert_carries(half, &["chip.content.share", "0.5000", "sum to 1"]);
    let double = refused(&kinds(&[(1.0, [0.5; 4])]));
    assert_carries(double, &["chip.content.level_shares", "2.0000", "sum to 1"]);
    let beyond = refused(&kinds(&[(1.0, [1.5, -0.5, 0.0, 0.0])]));
    assert_carries(beyond, &["chip.content.level_shares", "1.5", "0 to 1"]);
    let few = refused("content = [{ share = 1.0, level_shares = [0.5, 0.5] }]");
    assert_carries(few, &["chip.content.level_shares", "2", "4"]);
    let mut config = config(&kinds(&[(1.0, [0.25; 4])]));
    config.cell = None;
    assert_carries(config.timing(None).unwrap_err(), &["chip.content", "chip.cell"]);
}

#[test]
fn refuses_content_that_changes_nothing() {
    let mut config = config(&kinds(&[(1.0, [0.4, 0.2, 0.2, 0.2])]));
    let numbers = "t_read_us = 50.0\nt_program_us = 900.0\nt_erase_us = 3000.0\nbus_mt_s = 100.0";
    config.timing = params::read(&params::parse(numbers, "test").unwrap(), "chip.timing").unwrap();
    let wear = config.cell.as_mut().unwrap().mechanisms.get_mut("wear").unwrap();
    wear.as_table_mut().unwrap().remove("by_level");
    let vain = config.timing(config.cell().unwrap().as_deref()).unwrap_err();
    assert_carries(vain, &["chip.content", "chip.timing.t_program_us", "chip.cell.wear.by_level"]);
}
