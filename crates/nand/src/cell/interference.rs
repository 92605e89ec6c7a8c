//! `interference`: what neighbours that are programmed later add, by floating gate coupling.
//!
//! Wang (ICS'14), equation 3: a cell rises by gamma_fg1 of what the cell of the next wordline
//! rises, and by gamma_fg2 of each neighbour on its own. A pass takes into account what came before
//! it, because it verifies; so what counts is what neighbours do after a cell's last pass, which
//! follows from the order of the pages. An erased cell is never verified and gathers everything.

use super::contract::{Coupling, Mechanism, Stress};
use super::{Build, check_range};
use crate::distribution::{Atom, Law, shorten, sums};
use crate::level::Levels;
use crate::wordline::PageOrder;
use base::family::{Member, check, schema};
use base::params;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub const MEMBER: Member<Build> = Member {
    name: "interference",
    summary: "coupling to neighbours that are programmed later",
    citation: "wang2014",
    schema: schema::<Interference>,
    check: check::<Interference>,
    build: |table, levels| {
        let ratios: Interference = params::read(table, "cell.interference")?;
        check_range("interference", "bitline_ratio", ratios.bitline_ratio, 0.0, 0.5)?;
        check_range("interference", "wordline_ratio", ratios.wordline_ratio, 0.0, 0.5)?;
        let atoms = (0..levels.count()).map(|level| ratios.atoms(levels, level)).collect();
        Ok(Box::new(Built { ratios, atoms }))
    },
};

/// Parameters of `interference`.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct Interference {
    /// gamma_fg1: from the next wordline.
    bitline_ratio: f64,
    /// gamma_fg2: from each neighbour on the wordline.
    wordline_ratio: f64,
}

impl Interference {
    /// What neighbours of random data add to a cell of `level`, on average over wordlines and
    /// bitlines.
    fn atoms(&self, levels: &Levels, level: usize) -> Vec<Atom> {
        let weight = 1.0 / levels.count() as f64;
        let erased = levels.mean_v[0];
        let list = |ratio: f64, rise: &dyn Fn(usize) -> f64| -> Vec<Atom> {
            let all = (0..levels.count()).map(|n| Atom { at: ratio * rise(n), weight });
            shorten(&all.collect::<Vec<_>>(), 6)
        };
        let whole = |n: usize| levels.mean_v[n] - erased;
        let last = |n: usize| levels.mean_v[n] - levels.before_last_v(n);
        let next = if level == 0 {
            list(self.bitline_ratio, &whole)
        } else {
            list(self.bitline_ratio, &last)
        };
        let two = |one: Vec<Atom>| sums(&one, &one);
        let beside = match levels.order {
            PageOrder::EvenOdd if level == 0 => two(list(self.wordline_ratio, &whole)),
            // Even pages come first: only they see the last pass of their neighbours.
            PageOrder::EvenOdd => {
                let half = |atom: Atom| Atom { weight: 0.5 * atom.weight, ..atom };
                let mut atoms: Vec<Atom> =
                    two(list(self.wordline_ratio, &last)).into_iter().map(half).collect();
                atoms.push(Atom { at: 0.0, weight: 0.5 });
                atoms
            }
            // Programmed together: a neighbour still rises after this cell has been verified.
            PageOrder::AllBitline | PageOrder::OneShot => {
                let me = levels.mean_v[level];
                let before = |n: usize| {
                    if level == 0 { erased } else { levels.before_last_v(n).max(me) }
                };
                two(list(self.wordline_ratio, &|n| (levels.mean_v[n] - before(n)).max(0.0)))
            }
        };
        shorten(&sums(&next, &shorten(&beside, 6)), 6)
    }
}

struct Built {
    ratios: Interference,
    atoms: Vec<Vec<Atom>>,
}

impl Mechanism for Built {
    fn shape(&self, level: usize, _: &Stress, law: &mut Law) {
        if let Some(atoms) = self.atoms.get(level) {
            law.add(atoms);
        }
    }

    fn coupling(&self) -> Option<Coupling> {
        Some(Coupling { bitline: self.ratios.bitline_ratio, wordline: self.ratios.wordline_ratio })
    }
}
