//! `variation`: differences between cells, pages, layers and blocks.
//!
//! Widths of a wordline's levels are lognormal over wordlines, which makes the error rates of pages
//! lognormal too, as measured: counts of errors are over-dispersed (Taranalli, arXiv 1602.07743).
//! In a 3D block the width also follows the layer, smoothly from end to end.

use super::contract::{Mechanism, Stress};
use super::{Build, check_range};
use crate::block::wordline::Height;
use crate::level::State;
use crate::level::distribution::Law;
use base::family::{Member, check, schema};
use base::params;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub const MEMBER: Member<Build> = Member {
    name: "variation",
    summary: "widths that differ from cell to cell, page to page and layer to layer",
    citation: "",
    schema: schema::<Variation>,
    check: check::<Variation>,
    build: |table, _| {
        let variation: Variation = params::read(table, "cell.variation")?;
        check_range("variation", "cell_v", variation.cell_v, 0.0, 5.0)?;
        check_range("variation", "page_spread", variation.page_spread, 0.0, 1.0)?;
        check_range("variation", "layer_spread", variation.layer_spread, 0.0, 1.0)?;
        Ok(Box::new(variation))
    },
};

/// Parameters of the mechanism `variation`.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct Variation {
    /// Gaussian width of every level from variation of cells, in addition to programming.
    cell_v: f64,
    /// Standard deviation over wordlines of the logarithm of their width, at random.
    page_spread: f64,
    /// Standard deviation over layers of the logarithm of their width: a cosine, widest at both
    /// ends of the block.
    layer_spread: f64,
}

impl Mechanism for Variation {
    fn shape(&self, _: usize, _: &Stress, law: &mut Law) {
        law.widen(self.cell_v);
        law.vary(self.page_spread, self.layer_spread);
    }

    fn shape_between(&self, _: usize, _: usize, state: &State, _: &Stress, law: &mut Law) {
        // `coarse_sigma_v` is all of the width of what is not final.
        if state.level == 0 {
            law.widen(self.cell_v);
        }
        law.vary(self.page_spread, self.layer_spread);
    }

    fn width_ln(&self, wordline: u32, wordlines: u32, deviate: f64) -> f64 {
        let turn = Height { wordline, wordlines }.relative();
        let layer = libm::cos(2.0 * std::f64::consts::PI * turn) * std::f64::consts::SQRT_2;
        self.page_spread * deviate + self.layer_spread * layer
    }
}
