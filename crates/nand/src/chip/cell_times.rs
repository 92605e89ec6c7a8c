//! Times of operations that follow from the cell: the values of `"cell"` under `chip.timing`.
//!
//! The pulses, verifies and references of the cell give a time for random data, with every level in
//! use, or for the chip's content. Its wear gives factors at a number of cycles, between which the
//! drive interpolates.

use crate::cell::{Cell, Times};
use crate::chip::content::Content;
use crate::chip::timing::{PerPageType, Source, TimingConfig, WearPoint, factor_at};
use base::{Error, Result};

/// P/E cycles at which the times of a cell are computed.
const WEAR_CYCLES: [u32; 13] = [
    0, 100, 300, 1_000, 3_000, 10_000, 30_000, 100_000, 200_000, 300_000, 500_000, 1_000_000,
    3_000_000,
];

/// Replaces `"cell"` in `config` by times of `cell`, for random data or for `content`.
pub fn tell(config: &TimingConfig, cell: &Cell, content: Option<&Content>) -> Result<TimingConfig> {
    let asked =
        [config.t_read_us.is_cell(), config.t_program_us.is_cell(), config.t_erase_us.is_cell()];
    check_wear(&config.wear, asked)?;
    let times = |pe_cycles| {
        content.map_or_else(|| cell.times(pe_cycles), |content| content.times(cell, pe_cycles))
    };
    let fresh = times(0);
    let mut told = config.clone();
    if asked[0] {
        positive("t_read_us", "sensing", fresh.read_us[0])?;
        told.t_read_us = Source::Given(PerPageType::Each(fresh.read_us.clone()));
    }
    if asked[1] {
        positive("t_program_us", "program", fresh.program_us[0])?;
        told.t_program_us = Source::Given(PerPageType::Each(fresh.program_us.clone()));
        told.single_level.t_program_us.get_or_insert(fresh.single_level_program_us);
    }
    if asked[2] {
        positive("t_erase_us", "erase", fresh.erase_us)?;
        told.t_erase_us = Source::Given(fresh.erase_us);
    }
    let mut cycles: Vec<u32> = config.wear.iter().map(|row| row.pe_cycles).collect();
    cycles.extend(WEAR_CYCLES);
    cycles.sort_unstable();
    cycles.dedup();
    told.wear = cycles
        .into_iter()
        .map(|pe_cycles| {
            let given = |factor: fn(&WearPoint) -> f64| factor_at(&config.wear, pe_cycles, factor);
            let worn = times(pe_cycles);
            let program = |times: &Times| times.program_us.iter().sum::<f64>();
            WearPoint {
                pe_cycles,
                read: given(|row| row.read),
                program: if asked[1] {
                    program(&worn) / program(&fresh)
                } else {
                    given(|row| row.program)
                },
                erase: if asked[2] {
                    worn.erase_us / fresh.erase_us
                } else {
                    given(|row| row.erase)
                },
            }
        })
        .collect();
    Ok(told)
}

/// Replaces `"cell"` of the erase alone in `config`, as [`tell`] does. The other times stay.
pub fn tell_erase(config: &mut TimingConfig, cell: &Cell, content: Option<&Content>) -> Result<()> {
    // The factors of wear of what is given stay as they are.
    let given = || Source::Given(PerPageType::One(1.0));
    let mut erase = config.clone();
    (erase.t_read_us, erase.t_program_us) = (given(), given());
    let told = tell(&erase, cell, content)?;
    (config.t_erase_us, config.wear) = (told.t_erase_us, told.wear);
    Ok(())
}

/// Refuses `wear` factors on times that come from the cell, which include wear already.
fn check_wear(wear: &[WearPoint], asked: [bool; 3]) -> Result<()> {
    for row in wear {
        let factors = [("read", row.read), ("program", row.program), ("erase", row.erase)];
        for ((name, factor), asked) in factors.into_iter().zip(asked) {
            if asked && factor != 1.0 {
                let problem = format!("{name} = {factor} beside `t_{name}_us = \"cell\"`");
                return Err(Error::new("chip.timing.wear", problem)
                    .hint("give microseconds, or no factor: times of the cell include wear"));
            }
        }
    }
    Ok(())
}

fn positive(key: &str, mechanism: &str, us: f64) -> Result<()> {
    if us > 0.0 {
        return Ok(());
    }
    Err(Error::new(format!("chip.timing.{key}"), "\"cell\", but the cell has no such time")
        .hint(format!("give microseconds, or the times of `chip.cell.{mechanism}`")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::wordline::PageOrder;
    use crate::cell::CellConfig;
    use base::error::assert_carries;

    fn cell(text: &str) -> Cell {
        let levels = "[levels]\nvth_mean_v = [-2.0, 1.0, 2.0, 3.0]\n\
                      vth_sigma_v = [0.3, 0.1, 0.1, 0.1]\ncoarse_margin_v = 0.8\n";
        let config = CellConfig::parse(&format!("{levels}{text}"), "t").unwrap();
        Cell::new(&config, 2, PageOrder::EvenOdd).unwrap()
    }

    fn timing(text: &str) -> TimingConfig {
        let table = base::params::parse(&format!("bus_mt_s = 400\n{text}"), "t").unwrap();
        base::params::read(&table, "chip.timing").unwrap()
    }

    const TIMES: &str = "[program]\nstep_v = 0.2\npulse_us = 20.0\n[sensing]\nfixed_us = 20.0\n\
                         reference_us = 10.0\n[erase]\nyoung_empty_us = 3000.0\n\
                         young_full_us = 3000.0\nold_us = 9000.0\n[wear]\nspeedup = 0.05\n";

    /// Each time may come from the cell alone; the others keep their values and their wear.
    #[test]
    fn each_time_may_be_the_cells() {
        let cell = cell(TIMES);
        let own = "wear = [{ pe_cycles = 0 }, { pe_cycles = 2000, erase = 3.0 }]\n";
        let config = timing(&format!(
            "t_read_us = \"cell\"\nt_program_us = \"cell\"\nt_erase_us = 5000\n{own}"
        ));
        let told = tell(&config, &cell, None).unwrap();
        assert!(!told.asks_cell());
        let timing = crate::chip::timing::Timing::new(&told, 2).unwrap();
        let us = |time: base::Time| time.us();
        for page_type in 0..2u8 {
            let page = usize::from(page_type);
            for cycles in [0, 1000, 2000, 100_000] {
                let worn = cell.times(cycles);
                assert!((us(timing.read(page_type, cycles)) - worn.read_us[page]).abs() < 0.01);
                let ratio = us(timing.program(page_type, cycles)) / worn.program_us[page];
                assert!((ratio - 1.0).abs() < 0.005, "{page_type} {cycles}: {ratio}");
            }
        }
        assert_eq!([0, 1000, 9000].map(|c| us(timing.erase(c))), [5000.0, 10_000.0, 15_000.0]);
        let all = "t_read_us = 40\nt_program_us = 700\nt_erase_us = \"cell\"\n";
        let told = tell(&self::timing(all), &cell, None).unwrap();
        let timing = crate::chip::timing::Timing::new(&told, 2).unwrap();
        assert_eq!(us(timing.program(1, 100_000)), 700.0);
        assert!((us(timing.erase(1_000_000)) / cell.times(1_000_000).erase_us - 1.0).abs() < 1e-6);
    }

    #[test]
    fn refuses_what_the_cell_does_not_tell() {
        let refused =
            |text: &str, of: &str| tell(&timing(text), &cell(of), None).unwrap_err().to_string();
        let all = "t_read_us = \"cell\"\nt_program_us = \"cell\"\nt_erase_us = \"cell\"\n";
        assert!(refused(all, "").contains("chip.cell.sensing"));
        assert!(refused(all, "[sensing]\nfixed_us = 20.0\n").contains("chip.cell.program"));
        let worn = format!("{all}wear = [{{ pe_cycles = 0, program = 0.9 }}]\n");
        assert_carries(refused(&worn, TIMES), &["chip.timing.wear", "program = 0.9"]);
    }
}
