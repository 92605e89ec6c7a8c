//! SIMD vector widths that code is compiled for. All forms of the code give the same bits: the
//! choice of a form decides its speed, and nothing else.

/// Vector instructions that a form of the code is compiled for, from the narrowest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Vectors {
    /// Baseline instructions of every machine.
    Portable,
    /// AVX2, vectors of 256 bits.
    Avx2,
    /// AVX-512 F and BW, vectors of 512 bits.
    Avx512,
}

impl Vectors {
    /// Widest vectors of this machine, which has all narrower ones too.
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

    /// All vector widths of this machine, from the narrowest.
    pub fn here() -> impl Iterator<Item = Self> {
        let all = [Self::Portable, Self::Avx2, Self::Avx512];
        all.into_iter().filter(|&vectors| vectors <= Self::widest())
    }

    /// Common name, such as `AVX2`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Portable => "portable",
            Self::Avx2 => "AVX2",
            Self::Avx512 => "AVX-512",
        }
    }
}
