//! Finite fields GF(2^m), m = 3 to 16, by logarithms.
//!
//! An element is a polynomial over GF(2) of degree below m, bit i of its number the coefficient of
//! alpha^i; alpha is a root of the field's primitive polynomial. Lidl and Niederreiter,
//! *Introduction to Finite Fields and their Applications* (1986).

/// Degrees m of the supported fields.
pub const DEGREES: std::ops::RangeInclusive<u32> = 3..=16;

/// Primitive polynomial of each degree m, from m = 0: the smallest as a number. The tests search
/// for them; for m = 5 to 15 they are those of the BCH library in the Linux kernel.
pub const PRIMITIVE: [u32; 17] = [
    0, 0, 0, 0xb, 0x13, 0x25, 0x43, 0x83, 0x11d, 0x211, 0x409, 0x805, 0x1053, 0x201b, 0x402b,
    0x8003, 0x1002d,
];

/// Finite field of 2^m elements.
#[derive(Debug, Clone)]
pub struct Field {
    m: u32,
    /// Logarithm of each element; that of 0 is not used.
    log: Vec<u16>,
    /// alpha^i for i below twice the order, so that the sum of two logarithms needs no reduction.
    exp: Vec<u16>,
}

impl Field {
    /// Creates the field of 2^m elements; callers promise a degree of [`DEGREES`].
    pub fn new(m: u32) -> Self {
        assert!(DEGREES.contains(&m));
        let order = (1usize << m) - 1;
        let mut log = vec![0; order + 1];
        let mut exp = vec![0; 2 * order];
        let mut element = 1u32;
        for i in 0..order {
            exp[i] = element as u16;
            exp[i + order] = element as u16;
            log[element as usize] = i as u16;
            element <<= 1;
            element ^= (element >> m) * PRIMITIVE[m as usize];
        }
        Self { m, log, exp }
    }

    /// Degree of the field over GF(2).
    pub fn m(&self) -> u32 {
        self.m
    }

    /// Number of elements other than 0: the order of alpha.
    pub fn order(&self) -> usize {
        self.log.len() - 1
    }

    /// Power alpha^i of the primitive element.
    #[inline]
    pub fn power(&self, i: usize) -> u16 {
        self.exp[i % self.order()]
    }

    /// Logarithm of `element`, which must not be 0: the i below the order with alpha^i = `element`.
    #[inline]
    pub fn log(&self, element: u16) -> usize {
        debug_assert!(element != 0);
        usize::from(self.log[usize::from(element)])
    }

    /// Product of two elements.
    #[inline]
    pub fn mul(&self, a: u16, b: u16) -> u16 {
        if a == 0 || b == 0 { 0 } else { self.exp[self.log(a) + self.log(b)] }
    }

    /// Product of `element` and alpha^i, i below the order.
    #[inline]
    pub fn times_power(&self, element: u16, i: usize) -> u16 {
        if element == 0 { 0 } else { self.exp[self.log(element) + i] }
    }

    /// Inverse of `element`, which must not be 0.
    #[inline]
    pub fn inverse(&self, element: u16) -> u16 {
        self.exp[self.order() - self.log(element)]
    }

    /// Minimal polynomial of alpha^i over GF(2), bit j the coefficient of x^j, and the exponents of
    /// all its roots.
    pub fn minimal(&self, i: usize) -> (u32, Vec<usize>) {
        let mut roots = vec![i % self.order()];
        loop {
            let next = 2 * roots[roots.len() - 1] % self.order();
            if next == roots[0] {
                break;
            }
            roots.push(next);
        }
        // The product of all (x + root); its coefficients are 0 and 1.
        let mut product = vec![1u16];
        for &root in &roots {
            product.push(0);
            for j in (1..product.len()).rev() {
                product[j] = product[j - 1] ^ self.times_power(product[j], root);
            }
            product[0] = self.times_power(product[0], root);
        }
        let bits = product.iter().rev().fold(0, |bits, &c| {
            debug_assert!(c < 2);
            bits << 1 | u32::from(c)
        });
        (bits, roots)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::rng::Rng;

    /// Order of x modulo a polynomial of degree m with constant term 1.
    fn order_of_x(polynomial: u32, m: u32) -> u32 {
        let (mut element, mut order) = (1u32, 0);
        loop {
            element <<= 1;
            element ^= (element >> m) * polynomial;
            order += 1;
            if element == 1 {
                return order;
            }
        }
    }

    #[test]
    fn polynomials_are_the_smallest_primitive_ones() {
        for m in DEGREES {
            let primitive = |&p: &u32| order_of_x(p, m) == (1 << m) - 1;
            let smallest = (1 << m | 1..2 << m).step_by(2).find(primitive);
            assert_eq!(smallest, Some(PRIMITIVE[m as usize]), "m = {m}");
        }
    }

    /// Product by the schoolbook method.
    fn slow(m: u32, a: u16, b: u16) -> u16 {
        let mut product = 0u32;
        for i in (0..m).rev() {
            product <<= 1;
            product ^= (product >> m) * PRIMITIVE[m as usize];
            product ^= u32::from(a) * u32::from(b >> i & 1);
        }
        product as u16
    }

    #[test]
    fn axioms_hold() {
        let mut rng = Rng::stream(1, "field");
        for m in DEGREES {
            let field = Field::new(m);
            assert_eq!(field.order(), (1 << m) - 1);
            let mut draw = || rng.below(1 << m) as u16;
            for _ in 0..2000 {
                let (a, b, c) = (draw(), draw(), draw());
                assert_eq!(field.mul(a, b), slow(m, a, b));
                assert_eq!(field.mul(a, b), field.mul(b, a));
                assert_eq!(field.mul(a, field.mul(b, c)), field.mul(field.mul(a, b), c));
                assert_eq!(field.mul(a, b ^ c), field.mul(a, b) ^ field.mul(a, c));
                assert_eq!(field.mul(a, 1), a);
                if a != 0 {
                    assert_eq!(field.mul(a, field.inverse(a)), 1);
                    assert_eq!(field.power(field.log(a)), a);
                }
                // Frobenius.
                assert_eq!(field.mul(a ^ b, a ^ b), field.mul(a, a) ^ field.mul(b, b));
            }
        }
    }

    #[test]
    fn minimal_polynomials_vanish_at_their_roots() {
        for m in DEGREES {
            let field = Field::new(m);
            assert_eq!(field.minimal(1).0, PRIMITIVE[m as usize]);
            for i in (0..40.min(field.order())).chain([field.order() - 1]) {
                let (polynomial, roots) = field.minimal(i);
                assert_eq!(roots.len(), polynomial.ilog2() as usize);
                for root in roots {
                    let value = (0..=m)
                        .filter(|j| polynomial >> j & 1 == 1)
                        .fold(0, |sum, j| sum ^ field.power(root * j as usize));
                    assert_eq!(value, 0, "m = {m}, i = {i}");
                }
            }
        }
    }
}
