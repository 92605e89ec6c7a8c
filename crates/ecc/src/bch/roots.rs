//! Roots of a polynomial over GF(2^m), found by evaluating it everywhere with an additive Fourier
//! transform.
//!
//! Lin, Chung and Han, FOCS 2014, as in the decoders of Bernstein, Chou and Schwabe (McBits, CHES
//! 2013). 512 points are evaluated at a time, bit-sliced, so that one instruction multiplies one
//! bit of each. For degree 100 over GF(2^16) this takes 1/15 of the multiplications of Chien's
//! search, whatever the number of roots, and has no special cases.
//!
//! With V_j the elements below 2^j, let s_j(x) be the product of all x - v of V_j divided by its
//! value at 2^j. It is linear and zero on V_j. The polynomial is written as f0 + s_j f1, both of
//! degree below 2^j, down to constants. On a set c + V_j of points s_j has one value w: there the
//! polynomial is f0 + w f1, and f0 + (w + 1) f1 on the set beside it.

use crate::bits::gf::{DEGREES, Field, PRIMITIVE};
use crate::bits::slice::{Slice, Vector};
use base::vectors::Vectors;
use std::sync::Arc;

/// Number of bits of a lane's number.
const LANE_BITS: usize = 9;
/// Most bits of an element.
const MOST_BITS: usize = *DEGREES.end() as usize;

/// Tables of the transform, for one field and the present polynomial.
struct Tables {
    /// Weights: row j holds s_j at the elements 2^p.
    weights: Vec<Vec<u16>>,
    /// Vanishing polynomials: row j holds the coefficients of x^(2^p) in s_j before division, p
    /// below j, then its value at 2^j.
    vanishing: Vec<Vec<u16>>,
    /// Coefficients of the polynomial as a sum of products of s_j.
    coefficients: Vec<u16>,
    /// Values of s_j at the first point of each lane in the first pass, m slices for each j.
    lanes: Vec<Slice>,
}

/// Transform of a number of levels in one pass, with m slices for each point. The first slice of a
/// point becomes 0 where the polynomial vanishes, and 1 elsewhere.
type Transform = fn(&Tables, usize, usize, &mut [Slice]);

/// Finder of the roots of polynomials up to some degree.
pub struct Roots {
    field: Arc<Field>,
    tables: Tables,
    values: Vec<Slice>,
    transform: Transform,
}

impl Roots {
    /// Creates a finder for degrees up to `degree`, with the best instructions of this machine.
    pub fn new(field: &Arc<Field>, degree: usize) -> Self {
        Self::with(field, degree, Vectors::widest())
    }

    /// Creates a finder with `vectors`, which this machine must have.
    pub fn with(field: &Arc<Field>, degree: usize, vectors: Vectors) -> Self {
        assert!(vectors <= Vectors::widest());
        let m = field.m() as usize;
        let levels = level_count(degree);
        let (weights, vanishing) = bases(field, levels);
        Self {
            field: field.clone(),
            tables: Tables {
                weights,
                vanishing,
                coefficients: vec![0; 1 << levels],
                lanes: vec![Slice::ZERO; m * levels],
            },
            values: vec![Slice::ZERO; m << levels],
            transform: transform_for(m, vectors),
        }
    }

    /// Appends the roots of `polynomial` to `roots`. Its coefficients begin with that of 1.
    pub fn find(&mut self, polynomial: &[u16], roots: &mut Vec<u16>) {
        let m = self.field.m() as usize;
        let levels = level_count(polynomial.len() - 1);
        self.tables.change_basis(&self.field, polynomial, levels);
        // Points below 2^inner lie one after another, all others in lanes and passes.
        let inner = inner_levels(m, levels);
        let lanes = 512.min(1usize << (m - inner));
        self.tables.place_lanes(m, levels, inner);
        for pass in 0..1 << (m - inner).saturating_sub(LANE_BITS) {
            (self.transform)(&self.tables, levels, pass, &mut self.values);
            for (point, value) in self.values.chunks_exact(m).take(1 << inner).enumerate() {
                for (part, values) in value[0].0.iter().enumerate().take(lanes.div_ceil(64)) {
                    let mut zeros = !values;
                    if lanes < 64 {
                        zeros &= (1 << lanes) - 1;
                    }
                    while zeros != 0 {
                        let lane = 64 * part + zeros.trailing_zeros() as usize;
                        roots.push((((pass << LANE_BITS) + lane) << inner | point) as u16);
                        zeros &= zeros - 1;
                    }
                }
            }
        }
    }
}

impl Tables {
    /// Rewrites `polynomial` as a sum of products of s_j.
    fn change_basis(&mut self, field: &Field, polynomial: &[u16], levels: usize) {
        let all = &mut self.coefficients[..1 << levels];
        all.fill(0);
        all[..polynomial.len()].copy_from_slice(polynomial);
        for j in (0..levels).rev() {
            let (half, terms) = (1 << j, &self.vanishing[j][..j]);
            for block in all.chunks_exact_mut(2 * half) {
                // Division: the quotient takes the place of the upper half.
                for i in (half..2 * half).rev() {
                    let quotient = block[i];
                    for (p, &term) in terms.iter().enumerate() {
                        block[i - half + (1 << p)] ^= field.mul(quotient, term);
                    }
                }
                for upper in &mut block[half..] {
                    *upper = field.mul(*upper, self.vanishing[j][j]);
                }
            }
        }
    }

    /// Value of s_j at `point`.
    #[inline(always)]
    fn weight_at(&self, j: usize, point: usize) -> u16 {
        let row = self.weights[j].iter().enumerate();
        row.filter(|(bit, _)| point >> bit & 1 == 1).fold(0, |sum, (_, &weight)| sum ^ weight)
    }

    /// Fills `lanes` for a number of levels.
    fn place_lanes(&mut self, m: usize, levels: usize, inner: usize) {
        for (j, weight) in self.lanes.chunks_exact_mut(m).enumerate().take(levels) {
            for (k, slice) in weight.iter_mut().enumerate() {
                *slice = Slice::ZERO;
                for bit in
                    (inner..m.min(inner + LANE_BITS)).filter(|&b| self.weights[j][b] >> k & 1 == 1)
                {
                    slice.add(&COUNTING[bit - inner]);
                }
            }
        }
    }

    /// Value of s_j in each lane at the point `first`, which counts the pass too.
    #[inline(always)]
    fn weight<const M: usize>(&self, j: usize, first: usize) -> [Slice; M] {
        let mut weight = self.lanes.as_chunks::<M>().0[j];
        add_to_all(&mut weight, self.weight_at(j, first));
        weight
    }
}

/// Adds one element to each lane.
#[inline(always)]
fn add_to_all<const M: usize>(lanes: &mut [Slice; M], element: u16) {
    for (k, slice) in lanes.iter_mut().enumerate() {
        if element >> k & 1 == 1 {
            slice.add(&Slice::ONES);
        }
    }
}

/// Slices with the bits of the lanes' numbers.
static COUNTING: [Slice; LANE_BITS] = {
    let mut all = [Slice::ZERO; LANE_BITS];
    let mut bit = 0;
    while bit < LANE_BITS {
        all[bit] = Slice::counting(bit as u32);
        bit += 1;
    }
    all
};

/// Number of levels for a degree: the least j with 2^j above `degree`.
fn level_count(degree: usize) -> usize {
    (degree + 1).next_power_of_two().ilog2() as usize
}

/// Number of levels whose points lie one after another, outside the lanes' share of the field.
fn inner_levels(m: usize, levels: usize) -> usize {
    levels.min(m.saturating_sub(LANE_BITS))
}

/// Computes `weights` and `vanishing` of [`Tables`].
fn bases(field: &Field, levels: usize) -> (Vec<Vec<u16>>, Vec<Vec<u16>>) {
    let (mut weights, mut vanishing) = (Vec::new(), Vec::new());
    // s_0 = x, and from s = s_j comes s (s + s(2^j)).
    let mut terms = vec![1u16];
    for j in 0..levels {
        let at = |x: u16| {
            let add = |(sum, power): (u16, u16), &term: &u16| {
                (sum ^ field.mul(term, power), field.mul(power, power))
            };
            terms.iter().fold((0, x), add).0
        };
        let scale = at(1 << j);
        let weight = |p: u32| field.mul(at(1 << p), field.inverse(scale));
        weights.push((0..field.m()).map(weight).collect());
        let mut row = terms[..j].to_vec();
        row.push(scale);
        vanishing.push(row);
        let mut next: Vec<u16> = terms.iter().map(|&term| field.mul(term, scale)).collect();
        next.push(0);
        for (p, &term) in terms.iter().enumerate() {
            next[p + 1] ^= field.mul(term, term);
        }
        terms = next;
    }
    (weights, vanishing)
}

/// Product `a` * `b` in the field of 2^M elements, in the lanes of one part.
#[inline(always)]
fn product<V: Vector, const M: usize>(
    a: &[V; M],
    b: &[Slice; M],
    part: usize,
    room: &mut Room<V>,
) -> [V; M] {
    if V::REGISTERS >= 2 * M { by_bits(a, b, part) } else { by_tiles(a, b, part, room) }
}

/// Memory of a product before its reduction.
type Room<V> = [V; 2 * MOST_BITS];

/// Product with one bit of `b` after the other, where registers hold `a` and the sum.
#[inline(always)]
fn by_bits<V: Vector, const M: usize>(a: &[V; M], b: &[Slice; M], part: usize) -> [V; M] {
    let taps = PRIMITIVE[M];
    let mut sum = [V::zero(); M];
    for slice in b.iter().rev() {
        let bit = V::load(slice, part);
        let top = sum[M - 1];
        for k in (0..M).rev() {
            let shifted = match (k, taps >> k & 1) {
                (0, _) => top,
                (_, 0) => sum[k - 1],
                _ => sum[k - 1].xor(top),
            };
            sum[k] = shifted.add_product(a[k], bit);
        }
    }
    sum
}

/// Product with four bits of `a` at a time by all of `b`: the whole product in `room`, then its
/// remainder.
#[inline(always)]
fn by_tiles<V: Vector, const M: usize>(
    a: &[V; M],
    b: &[Slice; M],
    part: usize,
    room: &mut Room<V>,
) -> [V; M] {
    for from in (0..M).step_by(4) {
        let mut four = [V::zero(); 4];
        for (i, bit) in a[from..].iter().take(4).enumerate() {
            four[i] = *bit;
        }
        let [a0, a1, a2, a3] = four;
        // What the places ahead have of these four.
        let [mut next0, mut next1, mut next2] = [V::zero(); 3];
        for j in 0..M {
            let bit = V::load(&b[j], part);
            let sum = next0.add_product(a0, bit);
            next0 = next1.add_product(a1, bit);
            next1 = next2.add_product(a2, bit);
            next2 = V::zero().add_product(a3, bit);
            // The four before reached every place but the last.
            let is_new = from == 0 || j == M - 1;
            room[from + j] = if is_new { sum } else { room[from + j].xor(sum) };
        }
        (room[from + M], room[from + M + 1], room[from + M + 2]) = (next0, next1, next2);
    }
    for top in (M..2 * M - 1).rev() {
        for k in 0..M {
            if PRIMITIVE[M] >> k & 1 == 1 {
                room[top - M + k] = room[top - M + k].xor(room[top]);
            }
        }
    }
    let mut rest = [V::zero(); M];
    rest.copy_from_slice(&room[..M]);
    rest
}

/// Replaces `low` by `low` + `weight` * `high`. With `beside`, `high` becomes the values of the
/// points beside: the new `low` + `high`.
#[inline(always)]
fn butterflies<V: Vector, const M: usize>(
    weight: &[Slice; M],
    low: &mut [[Slice; M]],
    high: &mut [[Slice; M]],
    beside: bool,
) {
    let mut room = [V::zero(); 2 * MOST_BITS];
    for part in 0..V::PARTS {
        // No closures here: they would not be compiled for the vectors' instructions.
        let mut factor = [V::zero(); M];
        for k in 0..M {
            factor[k] = V::load(&weight[k], part);
        }
        for (low, high) in low.iter_mut().zip(&mut *high) {
            let product = product::<V, M>(&factor, high, part, &mut room);
            for k in 0..M {
                let sum = V::load(&low[k], part).xor(product[k]);
                sum.store(&mut low[k], part);
                if beside {
                    V::load(&high[k], part).xor(sum).store(&mut high[k], part);
                }
            }
        }
    }
}

/// Transforms level `j` of the points from `first` on.
#[inline(always)]
fn level<V: Vector, const M: usize>(
    tables: &Tables,
    values: &mut [[Slice; M]],
    first: usize,
    j: usize,
) {
    for (block, pair) in values.chunks_exact_mut(2 << j).enumerate() {
        let weight = tables.weight::<M>(j, first + (block << (j + 1)));
        let (low, high) = pair.split_at_mut(1 << j);
        butterflies::<V, M>(&weight, low, high, true);
    }
}

/// Levels that are finished together, for points whose values fit the first cache.
const NEAR_LEVELS: usize = 5;

/// Transform of one pass; see [`Transform`].
#[inline(always)]
fn transform<V: Vector, const M: usize>(
    tables: &Tables,
    levels: usize,
    pass: usize,
    values: &mut [Slice],
) {
    let (values, _) = values.as_chunks_mut::<M>();
    let inner = inner_levels(M, levels);
    for (value, &coefficient) in values.iter_mut().zip(&tables.coefficients[..1 << levels]) {
        for (k, slice) in value.iter_mut().enumerate() {
            *slice = if coefficient >> k & 1 == 1 { Slice::ONES } else { Slice::ZERO };
        }
    }
    let first = pass << LANE_BITS << inner;
    // Sets of points that lie in other lanes: only their own half is kept.
    for j in (inner..levels).rev() {
        let (low, high) = values[..2 << j].split_at_mut(1 << j);
        butterflies::<V, M>(&tables.weight(j, first), low, high, false);
    }
    let values = &mut values[..1 << inner];
    let near = inner.min(NEAR_LEVELS);
    for j in (near..inner).rev() {
        level::<V, M>(tables, values, first, j);
    }
    for (block, values) in values.chunks_exact_mut(1 << near).enumerate() {
        for j in (0..near).rev() {
            level::<V, M>(tables, values, first + (block << near), j);
        }
    }
    for value in values {
        for part in 0..V::PARTS {
            let mut any = V::load(&value[0], part);
            for slice in &value[1..] {
                any = any.or(V::load(slice, part));
            }
            any.store(&mut value[0], part);
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::{Slice, Tables, transform};
    use std::arch::x86_64::{__m256i, __m512i};

    #[target_feature(enable = "avx2")]
    pub fn avx2<const M: usize>(tables: &Tables, levels: usize, pass: usize, to: &mut [Slice]) {
        transform::<__m256i, M>(tables, levels, pass, to);
    }

    #[target_feature(enable = "avx512f")]
    pub fn avx512<const M: usize>(tables: &Tables, levels: usize, pass: usize, to: &mut [Slice]) {
        transform::<__m512i, M>(tables, levels, pass, to);
    }
}

fn transform_in<const M: usize>(vectors: Vectors) -> Transform {
    // SAFETY: `Roots::with` lets only those vectors pass that the machine has.
    #[allow(unsafe_code)]
    match vectors {
        #[cfg(target_arch = "x86_64")]
        Vectors::Avx512 => |tables, levels, pass, to| unsafe {
            x86::avx512::<M>(tables, levels, pass, to);
        },
        #[cfg(target_arch = "x86_64")]
        Vectors::Avx2 => |tables, levels, pass, to| unsafe {
            x86::avx2::<M>(tables, levels, pass, to);
        },
        _ => transform::<u64, M>,
    }
}

/// Transform over the field of 2^m elements.
fn transform_for(m: usize, vectors: Vectors) -> Transform {
    const ALL: [fn(Vectors) -> Transform; 14] = [
        transform_in::<3>,
        transform_in::<4>,
        transform_in::<5>,
        transform_in::<6>,
        transform_in::<7>,
        transform_in::<8>,
        transform_in::<9>,
        transform_in::<10>,
        transform_in::<11>,
        transform_in::<12>,
        transform_in::<13>,
        transform_in::<14>,
        transform_in::<15>,
        transform_in::<16>,
    ];
    ALL[m - 3](vectors)
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::rng::Rng;

    /// Roots by trying every element.
    fn searched(field: &Field, polynomial: &[u16]) -> Vec<u16> {
        let value = |x| polynomial.iter().rev().fold(0, |sum, &c| field.mul(sum, x) ^ c);
        (0..=field.order()).map(|x| x as u16).filter(|&x| value(x) == 0).collect()
    }

    /// Roots of products of different linear factors agree with a search, with and without a
    /// cofactor.
    #[test]
    fn roots_are_those_of_a_search() {
        let mut rng = Rng::stream(1, "roots");
        for m in DEGREES {
            let field = Arc::new(Field::new(m));
            let most = 130.min(field.order() / 2);
            let mut all: Vec<Roots> =
                Vectors::here().map(|v| Roots::with(&field, most, v)).collect();
            for degree in [0, 1, 2, 3, 4, 5, 7, 8, 15, 16, 31, 33, 63, 64, 100, 127, 128, 130] {
                if degree > most {
                    continue;
                }
                for split in [true, false] {
                    let mut polynomial = vec![1 + rng.below(field.order() as u64) as u16];
                    while polynomial.len() <= degree {
                        let root = rng.below(1 << m) as u16;
                        let last = polynomial.len();
                        polynomial.push(polynomial[last - 1]);
                        for i in (1..last).rev() {
                            polynomial[i] = polynomial[i - 1] ^ field.mul(polynomial[i], root);
                        }
                        polynomial[0] = field.mul(polynomial[0], root);
                    }
                    if !split {
                        polynomial[0] ^= 1;
                    }
                    let expected = searched(&field, &polynomial);
                    for roots in &mut all {
                        let mut found = Vec::new();
                        roots.find(&polynomial, &mut found);
                        found.sort_unstable();
                        assert_eq!(found, expected, "m = {m}, degree {degree}");
                    }
                }
            }
        }
    }
}
