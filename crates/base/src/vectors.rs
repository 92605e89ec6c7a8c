//! SIMD vector widths that code is compiled for. All forms of the code give the same bits: which
//! one runs decides how fast it is, and nothing else.

/// Instructions that a form is compiled for, from the narrowest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Vectors {
    /// What every machine has.
    Portable,
    /// AVX2: 256 bits.
    Avx2,
    /// AVX-512 F and BW: 512 bits.
    Avx512,
}

impl Vectors {
    /// The widest that this machine has; it has all that are narrower, too.
    #[inline]
    pub fn widest() -> Self {
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2") {
            let is_wide =
                is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512bw");
            return if is_wide { Self::Avx512 } else { Self::Avx2 };
        }
        Self::Portable
    }

    /// Those that this machine has, from the narrowest.
    pub fn here() -> impl Iterator<Item = Self> {
        let all = [Self::Portable, Self::Avx2, Self::Avx512];
        all.into_iter().filter(|&vectors| vectors <= Self::widest())
    }

    /// What people call them.
    pub fn name(self) -> &'static str {
        match self {
            Self::Portable => "portable",
            Self::Avx2 => "AVX2",
            Self::Avx512 => "AVX-512",
        }
    }
}
