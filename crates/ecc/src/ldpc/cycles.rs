//! Short cycles of parity checks: girth, and cycles of four and of six.
//!
//! Cycles of a quasi-cyclic code come in classes of z, one for each rotation. A class shows in the
//! shifts alone (Fossorier, IEEE Trans. Inf. Theory 50 (2004)): around a cycle, the steps from row
//! to row by a common column, s(R, C) - s(R', C), add up to zero modulo z.

use crate::ldpc::quasi_cyclic::QuasiCyclic;

/// Steps from one block row to another by a block column, each with its difference of shifts.
struct Steps {
    z: usize,
    /// Circulants of each block column, as (row, shift), by rising row.
    columns: Vec<Vec<(usize, usize)>>,
    /// Steps as (from row, to row, step, column), sorted.
    sorted: Vec<(usize, usize, usize, usize)>,
}

impl Steps {
    fn new(checks: &QuasiCyclic) -> Self {
        let z = checks.z();
        let mut columns = vec![Vec::new(); checks.columns()];
        for (r, row) in checks.rows().iter().enumerate() {
            row.iter().for_each(|c| columns[usize::from(c.column)].push((r, c.shift.into())));
        }
        let mut sorted = Vec::new();
        for (column, entries) in columns.iter().enumerate() {
            for (i, &(from, s)) in entries.iter().enumerate() {
                for &(to, t) in &entries[i + 1..] {
                    sorted.push((from, to, (s + z - t) % z, column));
                }
            }
        }
        sorted.sort_unstable();
        Self { z, columns, sorted }
    }

    /// Columns that lead from a row down to another with this step.
    fn columns_of(&self, from: usize, to: usize, step: usize) -> impl Iterator<Item = usize> {
        let begin = self.sorted.partition_point(|&(a, b, d, _)| (a, b, d) < (from, to, step));
        let same =
            move |&&(a, b, d, _): &&(usize, usize, usize, usize)| (a, b, d) == (from, to, step);
        self.sorted[begin..].iter().take_while(same).map(|&(.., column)| column)
    }
}

impl QuasiCyclic {
    /// Number of classes of cycles of four: pairs of columns with one step between two rows.
    pub fn cycles_of_4(&self) -> u64 {
        let same = |a: &(usize, usize, usize, usize), b: &(usize, usize, usize, usize)| {
            (a.0, a.1, a.2) == (b.0, b.1, b.2)
        };
        let groups = Steps::new(self);
        groups.sorted.chunk_by(same).map(|group| (group.len() * (group.len() - 1) / 2) as u64).sum()
    }

    /// Number of classes of cycles of six.
    pub fn cycles_of_6(&self) -> u64 {
        let steps = Steps::new(self);
        let z = steps.z;
        let mut count = 0;
        // From the first row by one column to the second, and by another to the third; what is
        // left between these two is the step that a third column must have.
        for (first, row) in self.rows().iter().enumerate() {
            for a in row {
                let below = |column: u16| {
                    steps.columns[usize::from(column)].iter().filter(|&&(row, _)| row > first)
                };
                for b in row.iter().filter(|b| b.column != a.column) {
                    for &(second, s) in below(a.column) {
                        for &(third, t) in below(b.column).filter(|&&(row, _)| row > second) {
                            let to_second = usize::from(a.shift) + z - s;
                            let to_third = usize::from(b.shift) + z - t;
                            let step = (to_third + 2 * z - to_second) % z;
                            let closing = steps.columns_of(second, third, step);
                            let others = [usize::from(a.column), usize::from(b.column)];
                            count +=
                                closing.filter(|column| !others.contains(column)).count() as u64;
                        }
                    }
                }
            }
        }
        count
    }

    /// Length of the shortest cycle, if there is one of at most `limit`, found by following edges
    /// from one bit of each block column.
    pub fn girth(&self, limit: usize) -> Option<usize> {
        let steps = Steps::new(self);
        let z = self.z();
        let bits = self.length();
        // Bits first, then checks.
        let nodes = bits + self.checks();
        let mut distance = vec![usize::MAX; nodes];
        let mut parent = vec![usize::MAX; nodes];
        let mut best = limit + 1;
        let mut queue = Vec::new();
        for column in 0..self.columns() {
            queue.drain(..).for_each(|node: usize| {
                distance[node] = usize::MAX;
                parent[node] = usize::MAX;
            });
            distance[column * z] = 0;
            queue.push(column * z);
            let mut next = 0;
            while next < queue.len() && 2 * distance[queue[next]] < best {
                let node = queue[next];
                next += 1;
                let mut visit = |neighbour: usize| {
                    if neighbour == parent[node] {
                        return;
                    }
                    if distance[neighbour] == usize::MAX {
                        distance[neighbour] = distance[node] + 1;
                        parent[neighbour] = node;
                        queue.push(neighbour);
                    } else {
                        best = best.min(distance[neighbour] + distance[node] + 1);
                    }
                };
                if node < bits {
                    for &(row, shift) in &steps.columns[node / z] {
                        visit(bits + row * z + (node % z + z - shift) % z);
                    }
                } else {
                    let check = node - bits;
                    for c in &self.rows()[check / z] {
                        visit(usize::from(c.column) * z + (check % z + usize::from(c.shift)) % z);
                    }
                }
            }
        }
        Some(best).filter(|&best| best <= limit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ldpc::alist::ones;
    use crate::ldpc::quasi_cyclic::Circulant;
    use base::rng::Rng;

    fn drawn(z: usize, rows: usize, columns: usize, rng: &mut Rng) -> QuasiCyclic {
        let mut row = || {
            (0..columns)
                .filter(|_| rng.chance(0.6))
                .collect::<Vec<_>>()
                .into_iter()
                .map(|c| Circulant { column: c as u16, shift: rng.below(z as u64) as u16 })
                .collect()
        };
        let rows = (0..rows).map(|_| row()).collect();
        QuasiCyclic::new(z, columns, rows)
    }

    /// Number of cycles of a length through the bits of a graph, by walking.
    fn walked(checks: &QuasiCyclic, length: usize) -> u64 {
        let (of_bit, of_check) = ones(checks);
        fn walk(
            of_check: &[Vec<usize>],
            of_bit: &[Vec<usize>],
            path: &mut Vec<(usize, usize)>,
            bit: usize,
            first: usize,
            left: usize,
        ) -> u64 {
            let mut count = 0;
            for &check in &of_bit[bit] {
                if path.iter().any(|&(_, c)| c == check) {
                    continue;
                }
                for &next in &of_check[check] {
                    if left == 1 {
                        count += u64::from(next == first && bit != first);
                    } else if next > first && next != bit && path.iter().all(|&(b, _)| b != next) {
                        path.push((bit, check));
                        count += walk(of_check, of_bit, path, next, first, left - 1);
                        path.pop();
                    }
                }
            }
            count
        }
        // Each cycle is found from its lowest bit, in both directions.
        (0..checks.length())
            .map(|bit| walk(&of_check, &of_bit, &mut Vec::new(), bit, bit, length / 2))
            .sum::<u64>()
            / 2
    }

    #[test]
    fn cycles_are_those_found_by_walking() {
        let mut rng = Rng::stream(5, "cycles");
        for (z, rows, columns) in [(1, 8, 12), (2, 4, 6), (5, 4, 5), (8, 4, 6), (16, 3, 5)] {
            for _ in 0..20 {
                let checks = drawn(z, rows, columns, &mut rng);
                let (four, six) = (walked(&checks, 4), walked(&checks, 6));
                assert_eq!(checks.cycles_of_4() * z as u64, four, "{checks:?}");
                assert_eq!(checks.cycles_of_6() * z as u64, six, "{checks:?}");
                let girth = (four > 0).then_some(4).or((six > 0).then_some(6));
                assert_eq!(checks.girth(6), girth, "{checks:?}");
                assert_eq!(checks.girth(8), girth.or((walked(&checks, 8) > 0).then_some(8)));
            }
        }
    }
}
