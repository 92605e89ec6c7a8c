//! Parts of BCH codes: encoding and decoding.
//!
//! To encode, `remainder` divides the data by the generator (`fold` does so with carry-less
//! multiplication). To decode, a received word's remainder becomes `syndromes`, these become an
//! error locator (`key_equation`), and its `roots` are the places of the errors. The members `bch`
//! of codes and `berlekamp` of decoders are made of these parts.

#[cfg(target_arch = "x86_64")]
mod fold;
pub(crate) mod key_equation;
pub(crate) mod remainder;
pub(crate) mod roots;
pub(crate) mod syndromes;
#[cfg(test)]
mod tests;
