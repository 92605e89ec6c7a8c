//! Which vectors this machine computes in: what a figure of speed says little without.

/// The widest form of code that it runs here: results are the same in all.
pub fn name() -> &'static str {
    #[cfg(target_arch = "x86_64")]
    {
        if is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512bw") {
            return "AVX-512";
        }
        if is_x86_feature_detected!("avx2") {
            return "AVX2";
        }
    }
    "portable"
}
