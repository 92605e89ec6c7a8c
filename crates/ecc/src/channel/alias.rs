//! Random draws: from a table in constant time, and of rare events among many bits.
//!
//! Walker's alias method with Vose's construction (IEEE Trans. Softw. Eng. 17, 1991): one random
//! word chooses a column and one of its two outcomes. The gap to the next of rare independent
//! events is geometric, and is drawn from a table too. A gap beyond the table is continued by
//! another draw from its end, since the geometric distribution has no memory. So the work grows
//! with the events and not with the bits.

use base::rng::Rng;

/// Distribution over 0, 1, 2 ... that is drawn from in constant time.
#[derive(Debug, Clone)]
pub struct Alias {
    /// Columns: the fraction of 2^64 below which a column stands for its own number, and the number
    /// that it stands for otherwise.
    columns: Vec<(u64, u32)>,
    /// Bits of a random word beyond the number of a column.
    shift: u32,
}

impl Alias {
    /// Creates a distribution of outcomes with these weights, not all zero.
    pub fn new(weights: &[f64]) -> Self {
        let size = weights.len().next_power_of_two().max(2);
        let total: f64 = weights.iter().sum();
        let mut scaled: Vec<f64> = weights.iter().map(|w| w / total * size as f64).collect();
        scaled.resize(size, 0.0);
        let mut columns: Vec<(u64, u32)> = (0..size as u32).map(|i| (u64::MAX, i)).collect();
        let (mut small, mut large): (Vec<usize>, Vec<usize>) =
            (0..size).partition(|&i| scaled[i] < 1.0);
        while let (Some(&less), Some(&more)) = (small.last(), large.last()) {
            small.pop();
            columns[less] = ((scaled[less] * 2.0f64.powi(64)) as u64, more as u32);
            scaled[more] -= 1.0 - scaled[less];
            if scaled[more] < 1.0 {
                large.pop();
                small.push(more);
            }
        }
        Self { columns, shift: 64 - size.trailing_zeros() }
    }

    /// Draws one outcome at random.
    #[inline]
    pub fn draw(&self, rng: &mut Rng) -> usize {
        let bits = rng.bits();
        let column = (bits >> self.shift) as usize;
        let (below, other) = self.columns[column];
        // Which of the two is a coin toss: chosen by arithmetic, since no branch could be foreseen.
        let is_other = usize::from(bits << (64 - self.shift) >= below);
        column ^ (column ^ other as usize) & is_other.wrapping_neg()
    }
}

/// Independent events of equal probability among many bits.
#[derive(Debug, Clone)]
pub struct Events {
    gaps: Alias,
    /// Longest gap of the table; from there another gap is drawn.
    most: usize,
}

impl Events {
    /// Creates events of probability `p`, above 0 and at most 1.
    pub fn new(p: f64) -> Self {
        let most = ((8.0 / p) as usize).clamp(7, 4094).next_power_of_two() - 1;
        let mut left = 1.0;
        let mut weights: Vec<f64> = (0..most)
            .map(|_| {
                let weight = left * p;
                left -= weight;
                weight
            })
            .collect();
        weights.push(left);
        Self { gaps: Alias::new(&weights), most }
    }

    /// First event at or after bit `from`, or `end` where there is none before it.
    #[inline]
    pub fn next(&self, from: usize, end: usize, rng: &mut Rng) -> usize {
        let mut at = from;
        while at < end {
            let gap = self.gaps.draw(rng);
            at += gap;
            if gap < self.most {
                return at.min(end);
            }
        }
        end
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_have_the_weights() {
        let weights = [0.5, 0.0, 0.25, 0.2, 0.049, 0.001];
        let table = Alias::new(&weights);
        let mut rng = Rng::stream(1, "alias");
        let n = 1_000_000;
        let mut counts = [0u32; 6];
        (0..n).for_each(|_| counts[table.draw(&mut rng)] += 1);
        for (count, weight) in counts.iter().zip(weights) {
            let expected = weight * f64::from(n);
            let spread = 4.5 * (expected * (1.0 - weight)).sqrt();
            assert!((f64::from(*count) - expected).abs() <= spread, "{counts:?}");
        }
    }

    /// Events are as many as expected, and neighbours as frequent as for independent events.
    #[test]
    fn events_are_independent() {
        for p in [1e-5, 2e-3, 0.1, 0.9, 1.0] {
            let events = Events::new(p);
            let mut rng = Rng::stream(2, "events");
            let bits = 20_000_000usize;
            let (mut at, mut before, mut count, mut neighbours) = (0, usize::MAX - 1, 0u64, 0u64);
            loop {
                at = events.next(at, bits, &mut rng);
                if at == bits {
                    break;
                }
                count += 1;
                neighbours += u64::from(at == before.wrapping_add(1));
                before = at;
                at += 1;
            }
            for (seen, rate) in [(count, p), (neighbours, p * p)] {
                let expected = rate * bits as f64;
                let spread = 5.0 * (expected * (1.0 - rate) * (1.0 + 2.0 * p)).sqrt() + 2.0;
                assert!((seen as f64 - expected).abs() <= spread, "{p}: {seen} {expected}");
            }
        }
    }
}
