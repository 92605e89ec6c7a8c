//! `interference`: rise of a cell by neighbours that are programmed later, by floating gate
//! coupling.
//!
//! Wang (ICS'14), equation 3: a cell rises by gamma_fg1 of the rise of the cell on the next
//! wordline, and by gamma_fg2 of the rise of each neighbour on its own. A pass verifies, and so
//! includes every earlier rise. Only rises after a cell's own pass count, which follow from the
//! order of the pages. An erased cell is never verified and gathers all rises of these neighbours.
//! The wordline below raises no cell, as in the equation.

use super::contract::{Coupling, Mechanism, Stress};
use super::{Build, check_range};
use crate::block::wordline::{PageOrder, passes_of_neighbour};
use crate::level::distribution::{Atom, Law, normal_atoms, shorten, sums};
use crate::level::{Levels, State};
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
        let atoms = (1..=levels.passes.len())
            .map(|passes| {
                let states = levels.passes[passes - 1].states.iter();
                states.map(|state| ratios.atoms(levels, passes, state)).collect()
            })
            .collect();
        Ok(Box::new(Built { ratios, atoms }))
    },
};

/// Parameters of the mechanism `interference`.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct Interference {
    /// Coupling from the next wordline: gamma_fg1.
    bitline_ratio: f64,
    /// Coupling from each neighbour on the wordline: gamma_fg2.
    wordline_ratio: f64,
}

impl Interference {
    /// Rise by neighbours with random data of a cell in `state` after `passes` passes, until its
    /// next pass, as atoms. Averaged over wordlines and bitlines.
    fn atoms(&self, levels: &Levels, passes: usize, state: &State) -> Vec<Atom> {
        let share = 1.0 / levels.count() as f64;
        let erased = state.level == 0;
        let deviates = normal_atoms(5);
        // What neighbours of each level add that rise from one place to another; nothing falls.
        let list = |ratio: f64, way: &dyn Fn(usize) -> [(f64, f64); 2]| -> Vec<Atom> {
            let of_level = |n| {
                let [from, to] = way(n);
                let spread_v = if from == to { 0.0 } else { libm::hypot(from.1, to.1) };
                let rise = move |z: &Atom| Atom {
                    at: ratio * (to.0 - from.0 + spread_v * z.at).max(0.0),
                    weight: share * z.weight,
                };
                deviates.iter().map(rise)
            };
            shorten(&(0..levels.count()).flat_map(of_level).collect::<Vec<_>>(), 6)
        };
        // What a neighbour rises between two passes of this row.
        let rises = |ratio: f64, step: u32, parities: [u8; 2]| {
            let made =
                |own| passes_of_neighbour(levels.order, levels.passes.len(), step, parities, own);
            let (from, to) = (if erased { 0 } else { made(passes - 1) }, made(passes));
            list(ratio, &|n| [from, to].map(|passes| levels.after_v(passes, n)))
        };
        let two = |one: Vec<Atom>| sums(&one, &one);
        let next = rises(self.bitline_ratio, 1, [0, 0]);
        let beside = match levels.order {
            PageOrder::EvenOdd => {
                // Even pages come first: only they see the same pass of their neighbours.
                let half = |atom: Atom| Atom { weight: 0.5 * atom.weight, ..atom };
                let of =
                    |parities| two(rises(self.wordline_ratio, 0, parities)).into_iter().map(half);
                of([0, 1]).chain(of([1, 0])).collect()
            }
            // Programmed together: a neighbour still rises after this cell has been verified.
            PageOrder::AllBitline | PageOrder::OneShot => {
                let from = if erased { 0 } else { passes - 1 };
                // Of cells that a pass may take for another state, the highest erased ones matter.
                let next_pass = passes < levels.passes.len();
                let highest_v = levels.passes[passes - 1].between_v[0];
                let me_v = if erased && next_pass { highest_v } else { state.mean_v };
                let kick = |n| {
                    let before = levels.after_v(from, n);
                    let start = if before.0 > me_v { before } else { (me_v, 0.0) };
                    [start, levels.after_v(passes, n)]
                };
                two(list(self.wordline_ratio, &kick))
            }
        };
        shorten(&sums(&next, &shorten(&beside, 6)), 6)
    }
}

struct Built {
    ratios: Interference,
    /// Rise by neighbours, by number of passes made (less one) and by state.
    atoms: Vec<Vec<Vec<Atom>>>,
}

impl Mechanism for Built {
    fn shape(&self, level: usize, _: &Stress, law: &mut Law) {
        if let Some(atoms) = self.atoms.last().and_then(|levels| levels.get(level)) {
            law.add(atoms);
        }
    }

    fn shape_between(&self, passes: usize, state: usize, _: &State, _: &Stress, law: &mut Law) {
        law.add(&self.atoms[passes - 1][state]);
    }

    fn coupling(&self) -> Option<Coupling> {
        Some(Coupling { bitline: self.ratios.bitline_ratio, wordline: self.ratios.wordline_ratio })
    }
}
