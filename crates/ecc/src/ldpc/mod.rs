//! Parts of quasi-cyclic LDPC codes: matrices, their construction and files, and fast decoding.
//!
//! - matrices: `quasi_cyclic`, read and written by `text` and `alist`, drawn by `construct`
//! - quality of a matrix: `cycles`, `absorbing`
//! - encoding: `circulant_ring`, and `elimination` where the parity columns do not invert
//! - decoding: `layered` over `lanes` with a `check_rule`, and `syndrome`
//!
//! The member `ldpc` of codes and the decoders `min_sum`, `bit_flip` and `sum_product` are made of
//! these parts.

pub(crate) mod absorbing;
pub mod alist;
pub(crate) mod check_rule;
pub(crate) mod circulant_ring;
pub mod construct;
pub(crate) mod cycles;
pub(crate) mod elimination;
pub(crate) mod lanes;
pub(crate) mod layered;
pub mod quasi_cyclic;
pub(crate) mod syndrome;
pub mod text;
