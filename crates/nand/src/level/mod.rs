//! Levels: the voltages of the states of a cell, their bits, and the passes that program them.
//!
//! In: the parameters of the levels. Out: [`Levels`], checked. `gray` maps levels to bits,
//! `distribution` gives the voltages of one level, `tails` caches the tails of a distribution.
//!
//! With one-shot programming a wordline goes from erased to its final levels at once. Otherwise
//! each page is a pass of its own: pass `p` splits every state by the bit of page type `p`. An
//! intermediate state lies below the lowest level that it may become, because programming only
//! raises voltages. These are the coarse and fine steps of MLC, and the same for three and four
//! bits.

pub mod distribution;
pub mod gray;
pub(crate) mod tails;

use crate::block::wordline::PageOrder;
use base::{Error, Result};
use distribution::Shape;
use gray::Gray;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Levels of a cell, as a parameter file gives them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LevelsConfig {
    /// Gray code: map from levels to bits; default: the usual one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gray: Option<String>,
    /// Shape of the levels' cores.
    #[serde(default)]
    pub shape: Shape,
    /// Mean voltages after programming, the erased level first.
    pub vth_mean_v: Vec<f64>,
    /// Standard deviations after programming, fresh cells.
    pub vth_sigma_v: Vec<f64>,
    /// Read references between the levels; default: at equal distance from both levels in standard
    /// deviations of fresh cells, with interference and noise.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub read_v: Vec<f64>,
    /// Distance of an intermediate state below the lowest level that it may become; default: five
    /// standard deviations of both. Much closer, a level loses its lower tail to cells that stand
    /// above it already: `cells` has that, the closed form and tables made from it have not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub coarse_margin_v: Option<f64>,
    /// Standard deviation of intermediate states.
    #[serde(default)]
    pub coarse_sigma_v: f64,
}

/// Default distance of an intermediate state from its lowest final level, in standard deviations.
const CLEAR: f64 = 5.0;

impl LevelsConfig {
    /// Distance `coarse_margin_v` in volts, given or by default.
    fn coarse_margin_v(&self) -> f64 {
        let programmed = self.vth_sigma_v.iter().skip(1);
        let widest = programmed.fold(0.0, |widest: f64, &sigma| widest.max(sigma));
        self.coarse_margin_v.unwrap_or(CLEAR * libm::hypot(widest, self.coarse_sigma_v))
    }
}

/// State that a pass leaves cells in.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct State {
    /// Bits known so far, with bit `p` for page type `p`.
    pub word: u8,
    /// Lowest final level that the state may become; 0 for cells that stay erased.
    pub level: u8,
    /// Mean voltage as programmed.
    pub mean_v: f64,
    /// Standard deviation as programmed.
    pub sigma_v: f64,
}

/// Pass of a program over a wordline.
#[derive(Debug, Clone, PartialEq)]
pub struct Pass {
    /// States after the pass, rising in voltage.
    pub states: Vec<State>,
    /// State after the pass, by the state before it (rising) and the new bits.
    pub target: Vec<Vec<u8>>,
    /// References between the states.
    pub between_v: Vec<f64>,
    /// References of each page type after the pass; empty for page types that are not programmed
    /// yet.
    pub page_v: Vec<Vec<f64>>,
}

/// Checked levels of a cell.
#[derive(Debug, Clone, PartialEq)]
pub struct Levels {
    /// Gray code: the bits of each level.
    pub gray: &'static Gray,
    /// Order of pages on the wordlines.
    pub order: PageOrder,
    /// Shape of the cores.
    pub shape: Shape,
    /// Mean voltages after programming, the erased level first.
    pub mean_v: Vec<f64>,
    /// Standard deviations after programming, fresh cells.
    pub sigma_v: Vec<f64>,
    /// Read references, rising: number `r` lies below level `r + 1`.
    pub read_v: Vec<f64>,
    /// Passes of a program; the levels are the states of the last one.
    pub passes: Vec<Pass>,
}

/// Voltage between two levels at equal distance from both in standard deviations.
fn middle(low: (f64, f64), high: (f64, f64)) -> f64 {
    let widths = low.1 + high.1;
    if widths > 0.0 { (low.0 * high.1 + high.0 * low.1) / widths } else { 0.5 * (low.0 + high.0) }
}

impl Levels {
    /// Checks `config` for cells of `cell_bits` bits whose pages lie in `order`.
    pub fn new(config: &LevelsConfig, cell_bits: u32, order: PageOrder) -> Result<Self> {
        let gray = Gray::find(cell_bits, config.gray.as_deref())?;
        let levels = gray.levels();
        let count = |key: &str, values: &[f64], needed: usize| {
            if values.len() == needed {
                Ok(())
            } else {
                Err(Error::new(format!("cell.levels.{key}"), format!("{} values", values.len()))
                    .expected(format!("{needed} for {cell_bits} bits a cell")))
            }
        };
        count("vth_mean_v", &config.vth_mean_v, levels)?;
        count("vth_sigma_v", &config.vth_sigma_v, levels)?;
        rising("vth_mean_v", &config.vth_mean_v)?;
        for &sigma in &config.vth_sigma_v {
            // Without a width there is no middle between levels, where references would lie.
            within("vth_sigma_v", sigma, 1e-3, 5.0)?;
        }
        within("coarse_sigma_v", config.coarse_sigma_v, 0.0, 5.0)?;
        within("coarse_margin_v", config.coarse_margin_v.unwrap_or_default(), 0.0, 10.0)?;
        let at = |level: usize| (config.vth_mean_v[level], config.vth_sigma_v[level]);
        let read_v = if config.read_v.is_empty() {
            (1..levels).map(|level| middle(at(level - 1), at(level))).collect()
        } else {
            config.read_v.clone()
        };
        count("read_v", &read_v, levels - 1)?;
        rising("read_v", &read_v)?;
        for (pair, &v) in config.vth_mean_v.windows(2).zip(&read_v) {
            if !(pair[0]..=pair[1]).contains(&v) {
                return Err(Error::new(
                    "cell.levels.read_v",
                    format!("{v} V is outside its two levels"),
                )
                .expected(format!("{} to {}, the means of these levels", pair[0], pair[1])));
            }
        }
        let mut made = Self {
            gray,
            order,
            shape: config.shape.check("cell.levels.shape")?,
            mean_v: config.vth_mean_v.clone(),
            sigma_v: config.vth_sigma_v.clone(),
            read_v,
            passes: Vec::new(),
        };
        made.passes = if order == PageOrder::OneShot {
            vec![made.pass(config, cell_bits, 0)?]
        } else {
            (0..cell_bits).map(|p| made.pass(config, p + 1, p)).collect::<Result<Vec<Pass>>>()?
        };
        Ok(made)
    }

    /// Pass that raises the number of known bits from `before` to `known`.
    fn pass(&self, config: &LevelsConfig, known: u32, before: u32) -> Result<Pass> {
        let last = known == self.gray.cell_bits();
        let mut states = self.states(config, known);
        let earlier = if before == 0 {
            vec![State { word: 0, ..states[0] }]
        } else {
            self.states(config, before)
        };
        if states.windows(2).any(|pair| pair[0].mean_v >= pair[1].mean_v) {
            return Err(Error::new(
                "cell.levels.coarse_margin_v",
                format!(
                    "{} V leaves states of pass {known} out of order",
                    config.coarse_margin_v()
                ),
            )
            .expected("less than the distance between neighbouring levels"));
        }
        for state in &mut states {
            if state.level == 0 {
                state.sigma_v = self.sigma_v[0];
            }
        }
        let mask = (1u8 << before) - 1;
        let target = earlier
            .iter()
            .map(|from| {
                (0..1u8 << (known - before))
                    .map(|bits| {
                        let word = (from.word & mask) | (bits << before);
                        let index = states.iter().position(|state| state.word == word);
                        index.unwrap_or_default() as u8
                    })
                    .collect()
            })
            .collect();
        let between_v: Vec<f64> = if last {
            self.read_v.clone()
        } else {
            states
                .windows(2)
                .map(|p| middle((p[0].mean_v, p[0].sigma_v), (p[1].mean_v, p[1].sigma_v)))
                .collect()
        };
        let page_v = (0..self.gray.cell_bits())
            .map(|page| {
                let flips = |pair: &[State]| (pair[0].word ^ pair[1].word) >> page & 1 == 1;
                let pairs = states.windows(2).zip(&between_v);
                pairs.filter(|(pair, _)| flips(pair)).map(|(_, &v)| v).collect()
            })
            .collect();
        Ok(Pass { states, target, between_v, page_v })
    }

    /// States in which `known` bits are known, rising in voltage.
    fn states(&self, config: &LevelsConfig, known: u32) -> Vec<State> {
        let mask = ((1u16 << known) - 1) as u8;
        let last = known == self.gray.cell_bits();
        let mut states: Vec<State> = Vec::new();
        for level in 0..self.gray.levels() {
            let word = self.gray.word(level) & mask;
            if states.iter().any(|state| state.word == word) {
                continue;
            }
            let (mean_v, sigma_v) = if last || level == 0 {
                (self.mean_v[level], self.sigma_v[level])
            } else {
                (self.mean_v[level] - config.coarse_margin_v(), config.coarse_sigma_v)
            };
            states.push(State { word, level: level as u8, mean_v, sigma_v });
        }
        states
    }

    /// Places the read references between levels, given as (mean, standard deviation).
    pub fn place_between(&mut self, levels: &[(f64, f64)]) {
        self.read_v = levels.windows(2).map(|pair| middle(pair[0], pair[1])).collect();
        let gray = self.gray;
        let Some(last) = self.passes.last_mut() else { return };
        last.between_v.clone_from(&self.read_v);
        for (page, references) in last.page_v.iter_mut().zip(gray.references) {
            *page = references.iter().map(|&r| self.read_v[usize::from(r) - 1]).collect();
        }
    }

    /// Number of levels of a cell.
    pub fn count(&self) -> usize {
        self.mean_v.len()
    }

    /// Mean voltage of the highest level.
    pub fn highest_v(&self) -> f64 {
        self.mean_v.last().copied().unwrap_or_default()
    }

    /// State before pass `pass` of cells whose final bits are `word`; `None` for cells that are
    /// still erased.
    pub fn before(&self, pass: usize, word: u8) -> Option<&State> {
        let earlier = &self.passes[pass.checked_sub(1)?];
        let mask = ((1u16 << pass) - 1) as u8;
        let state = earlier.states.iter().find(|state| state.word == word & mask)?;
        (state.level > 0).then_some(state)
    }

    /// Mean and standard deviation, after `passes` passes, of cells whose final level is `level`.
    pub fn after_v(&self, passes: usize, level: usize) -> (f64, f64) {
        if passes == self.passes.len() {
            return (self.mean_v[level], self.sigma_v[level]);
        }
        let state = self.before(passes, self.gray.word(level));
        state.map_or((self.mean_v[0], self.sigma_v[0]), |state| (state.mean_v, state.sigma_v))
    }
}

fn rising(key: &str, values: &[f64]) -> Result<()> {
    for &value in values {
        within(key, value, -20.0, 20.0)?;
    }
    if values.windows(2).any(|pair| pair[0] >= pair[1]) {
        return Err(Error::new(format!("cell.levels.{key}"), format!("{values:?}"))
            .expected("rising voltages, the erased level first"));
    }
    Ok(())
}

fn within(key: &str, value: f64, low: f64, high: f64) -> Result<()> {
    if (low..=high).contains(&value) {
        Ok(())
    } else {
        Err(Error::new(format!("cell.levels.{key}"), format!("{value} is out of range"))
            .expected(format!("{low} to {high}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::error::assert_carries;

    fn mlc() -> LevelsConfig {
        LevelsConfig {
            gray: None,
            shape: Shape::Gaussian,
            vth_mean_v: vec![-2.267, 1.29, 2.658, 4.03],
            vth_sigma_v: vec![0.42, 0.1085, 0.1085, 0.1085],
            read_v: Vec::new(),
            coarse_margin_v: Some(0.6),
            coarse_sigma_v: 0.15,
        }
    }

    /// Lower page first: '1' stays erased, '0' goes below S2. Then each becomes one of two levels.
    #[test]
    fn mlc_goes_from_two_states_to_four() {
        let levels = Levels::new(&mlc(), 2, PageOrder::EvenOdd).unwrap();
        let [coarse, fine] = &levels.passes[..] else { panic!("two passes") };
        let means: Vec<f64> = coarse.states.iter().map(|s| s.mean_v).collect();
        assert_eq!(means, [-2.267, 2.658 - 0.6]);
        assert_eq!(coarse.target, [[1, 0]]);
        // Erased: '1' stays, '0' is S1. Coarse: '0' is S2, '1' is S3.
        assert_eq!(fine.target, [[1, 0], [2, 3]]);
        assert_eq!(fine.page_v[0], [levels.read_v[1]]);
        assert_eq!(fine.page_v[1], [levels.read_v[0], levels.read_v[2]]);
        assert_eq!(coarse.page_v[1], Vec::<f64>::new());
        let of_level = |level| [0, 1, 2].map(|passes| levels.after_v(passes, level).0);
        assert_eq!(of_level(1), [-2.267, -2.267, 1.29]);
        assert_eq!(of_level(3), [-2.267, 2.658 - 0.6, 4.03]);
        let config = LevelsConfig { coarse_margin_v: None, ..mlc() };
        let coarse = &Levels::new(&config, 2, PageOrder::EvenOdd).unwrap().passes[0].states[1];
        let clear = (2.658 - coarse.mean_v) / 0.1085f64.hypot(coarse.sigma_v);
        assert!((clear - 5.0).abs() < 1e-12);
        // Equal distance in standard deviations: Wang's Delta_0 : Delta_1 is sigma_0 : sigma_1.
        let (low, high) = (levels.read_v[0] + 2.267, 1.29 - levels.read_v[0]);
        assert!((low / high - 0.42 / 0.1085).abs() < 1e-12);
    }

    #[test]
    fn one_shot_has_one_pass_and_any_bits_pass_by_pass() {
        let config = |levels: usize, gray: Option<&str>| LevelsConfig {
            gray: gray.map(str::to_owned),
            vth_mean_v: (0..levels).map(|l| l as f64).collect(),
            vth_sigma_v: vec![0.1; levels],
            coarse_margin_v: Some(0.3),
            ..mlc()
        };
        let tlc = Levels::new(&config(8, Some("2-3-2")), 3, PageOrder::OneShot).unwrap();
        assert_eq!(tlc.passes.len(), 1);
        for word in 0..8 {
            let level = usize::from(tlc.passes[0].target[0][word]);
            assert_eq!(usize::from(tlc.gray.word(level)), word);
        }
        for (bits, gray) in [(1, "slc"), (3, "1-2-4"), (3, "2-3-2"), (4, "1-2-4-8")] {
            let levels = Levels::new(&config(1 << bits, Some(gray)), bits, PageOrder::AllBitline);
            let levels = levels.unwrap();
            assert_eq!(levels.passes.len(), bits as usize);
            // Page by page, every word ends in its level.
            for word in 0..1u8 << bits {
                let mut state = 0;
                for (p, pass) in levels.passes.iter().enumerate() {
                    let next = pass.target[state][usize::from(word >> p & 1)];
                    state = usize::from(next);
                }
                assert_eq!(levels.gray.word(state), word, "{gray}");
            }
        }
    }

    #[test]
    fn refuses_what_is_not_a_cell() {
        let refused = |change: fn(&mut LevelsConfig)| {
            let mut config = mlc();
            change(&mut config);
            Levels::new(&config, 2, PageOrder::EvenOdd).unwrap_err().to_string()
        };
        assert_carries(refused(|c| c.vth_mean_v.truncate(3)), &["vth_mean_v", "4", "2 bits"]);
        assert!(refused(|c| c.vth_mean_v[1] = 3.0).contains("vth_mean_v"));
        assert!(refused(|c| c.vth_sigma_v[1] = -1.0).contains("vth_sigma_v"));
        assert_carries(refused(|c| c.vth_sigma_v[0] = 0.0), &["vth_sigma_v", "0", "0.001 to 5"]);
        assert!(refused(|c| c.vth_sigma_v[1] = f64::NAN).contains("vth_sigma_v"));
        assert!(refused(|c| c.read_v = vec![1.0, 0.0, 2.0]).contains("read_v"));
        assert_carries(refused(|c| c.read_v = vec![0.0, 2.0, 5.0]), &["read_v", "5 V"]);
        assert!(refused(|c| c.coarse_margin_v = Some(5.0)).contains("coarse_margin_v"));
        assert!(refused(|c| c.gray = Some("1-1".into())).contains("1-2"));
    }
}
