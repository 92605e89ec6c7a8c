//! Small absorbing sets of a code: the causes of its error floor.
//!
//! Dolecek, Zhang, Anantharam, Wainwright and Nikolic, IEEE Trans. Inf. Theory 56 (2010): a set of
//! bits is absorbing when, with all of them wrong, each has more satisfied checks than broken ones.
//! A decoder that is wrong about just these bits stays wrong. The count is of elementary sets (no
//! check holds more than two of the bits) that grow from a cycle of six. That finds the smallest
//! sets of codes with a column weight of four and more. Each set stands for its z rotations.

use crate::ldpc::quasi_cyclic::QuasiCyclic;
use std::collections::{BTreeMap, BTreeSet};

/// Graph of a code: the checks of each bit, and the bits of each check.
struct Graph<'a> {
    checks: &'a QuasiCyclic,
    /// Circulants of each block column, as (row, shift).
    columns: Vec<Vec<(usize, usize)>>,
}

impl Graph<'_> {
    fn checks_of(&self, bit: usize) -> impl Iterator<Item = usize> {
        let z = self.checks.z();
        self.columns[bit / z].iter().map(move |&(row, shift)| row * z + (bit % z + z - shift) % z)
    }

    fn bits_of(&self, check: usize) -> impl Iterator<Item = usize> {
        let z = self.checks.z();
        let row = &self.checks.rows()[check / z];
        row.iter().map(move |c| usize::from(c.column) * z + (check % z + usize::from(c.shift)) % z)
    }

    /// Sets with one more bit, which shares checks with at least two of the set's bits.
    fn grown(&self, set: &[usize]) -> Vec<Vec<usize>> {
        let mut near: Vec<usize> = Vec::new();
        for &bit in set {
            near.extend(self.checks_of(bit).flat_map(|check| self.bits_of(check)));
        }
        near.sort_unstable();
        let often = near.chunk_by(|a, b| a == b).filter(|same| same.len() >= 2);
        let others = often.map(|same| same[0]).filter(|bit| !set.contains(bit));
        others.map(|bit| self.turned([set, &[bit]].concat())).collect()
    }

    /// Rotation that stands for all rotations of a set: the least one with a bit at the start of
    /// its first block column.
    fn turned(&self, mut set: Vec<usize>) -> Vec<usize> {
        let z = self.checks.z();
        set.sort_unstable();
        let first = set.iter().take_while(|&&bit| bit / z == set[0] / z);
        let rotations = first.map(|by| {
            let mut turned: Vec<usize> =
                set.iter().map(|bit| bit / z * z + (bit % z + z - by % z) % z).collect();
            turned.sort_unstable();
            turned
        });
        rotations.min().unwrap_or_default()
    }

    /// Number of checks that a set leaves unsatisfied, and whether it is absorbing; `None` if it is
    /// not elementary.
    fn judged(&self, set: &[usize]) -> Option<(usize, bool)> {
        let mut met: Vec<usize> = set.iter().flat_map(|&bit| self.checks_of(bit)).collect();
        met.sort_unstable();
        let mut open = Vec::new();
        for same in met.chunk_by(|a, b| a == b) {
            match same.len() {
                1 => open.push(same[0]),
                2 => {}
                _ => return None,
            }
        }
        let is_absorbing = set.iter().all(|&bit| {
            let left = self.checks_of(bit).filter(|check| open.binary_search(check).is_ok());
            2 * left.count() < self.columns[bit / self.checks.z()].len()
        });
        Some((open.len(), is_absorbing))
    }
}

impl QuasiCyclic {
    /// Classes of elementary absorbing sets of at most `most_bits` bits over cycles of six, by
    /// (bits, unsatisfied checks). The time grows with the number of these cycles.
    pub fn absorbing_sets(&self, most_bits: usize) -> BTreeMap<(usize, usize), u64> {
        let z = self.z();
        if most_bits < 3 {
            return BTreeMap::new();
        }
        let mut columns = vec![Vec::new(); self.columns()];
        for (r, row) in self.rows().iter().enumerate() {
            row.iter().for_each(|c| columns[usize::from(c.column)].push((r, c.shift.into())));
        }
        let graph = Graph { checks: self, columns };
        let mut sets: BTreeSet<Vec<usize>> = BTreeSet::new();
        for first in (0..self.columns()).map(|column| column * z) {
            for check in graph.checks_of(first) {
                for second in graph.bits_of(check).filter(|&second| second > first) {
                    // Two bits in one check, and a third that shares others with both.
                    let grown = graph.grown(&[first, second]).into_iter();
                    sets.extend(grown.filter(|set| graph.judged(set).is_some()));
                }
            }
        }
        let mut counts = BTreeMap::new();
        for bits in 3..=most_bits {
            for set in &sets {
                if let Some((open, true)) = graph.judged(set) {
                    *counts.entry((bits, open)).or_default() += 1;
                }
            }
            if bits < most_bits {
                let grown = sets.iter().flat_map(|set| graph.grown(set));
                sets = grown.filter(|set| graph.judged(set).is_some()).collect();
            }
        }
        counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bits;
    use crate::ldpc::construct::Recipe;
    use crate::ldpc::elimination::expanded;

    /// Classes agree with a search of all sets of three and four bits of a small code.
    #[test]
    fn sets_are_those_of_a_search_through_all() {
        for seed in 1..3 {
            let mut recipe = Recipe {
                z: 8,
                block_rows: 4,
                block_columns: 7,
                column_weight: 3,
                parity_rows: Vec::new(),
                draws: 1,
                seed,
            };
            let checks = recipe.follow("recipe").unwrap();
            let n = checks.length();
            let matrix = expanded(&checks, 0);
            let of_bit: Vec<Vec<usize>> =
                (0..n).map(|b| (0..32).filter(|&c| bits::get(&matrix[c], b)).collect()).collect();
            let judge = |set: &[usize]| {
                let mut met = [0usize; 32];
                set.iter().for_each(|&bit| of_bit[bit].iter().for_each(|&c| met[c] += 1));
                let is_absorbing = set.iter().all(|&bit| {
                    let open = of_bit[bit].iter().filter(|&&c| met[c] % 2 == 1).count();
                    2 * open < of_bit[bit].len()
                });
                let open = met.iter().filter(|&&count| count % 2 == 1).count();
                let share = |a: usize, b: usize| of_bit[a].iter().any(|c| of_bit[b].contains(c));
                // Three of the bits share checks two by two.
                let has_cycle = set.iter().any(|&a| {
                    let near: Vec<usize> =
                        set.iter().copied().filter(|&b| b != a && share(a, b)).collect();
                    near.iter().any(|&b| near.iter().any(|&c| b != c && share(b, c)))
                });
                (is_absorbing && has_cycle && met.iter().all(|&count| count <= 2)).then_some(open)
            };
            let mut counts: BTreeMap<(usize, usize), u64> = BTreeMap::new();
            for a in 0..n {
                for b in a + 1..n {
                    for c in b + 1..n {
                        if let Some(open) = judge(&[a, b, c]) {
                            *counts.entry((3, open)).or_default() += 1;
                        }
                        for d in c + 1..n {
                            if let Some(open) = judge(&[a, b, c, d]) {
                                *counts.entry((4, open)).or_default() += 1;
                            }
                        }
                    }
                }
            }
            let classes = checks.absorbing_sets(4);
            assert!(!classes.is_empty());
            let whole: BTreeMap<_, _> = classes.into_iter().map(|(k, n)| (k, 8 * n)).collect();
            assert_eq!(whole, counts);
        }
    }
}
