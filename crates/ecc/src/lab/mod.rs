//! The laboratory of codes: error rates measured by decoding random codewords.
//!
//! A codec and a channel come in, counts of frames go out: one point of a `curve`, or a `survey` of
//! many points, which is a `profile` that drives play back. `rehearsal` is for timing.

pub mod curve;
pub mod profile;
pub mod rehearsal;
pub mod survey;
