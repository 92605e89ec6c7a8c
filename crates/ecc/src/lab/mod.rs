//! Laboratory of codes: error rates measured by decoding random codewords.
//!
//! In: a codec and a channel. Out: counts of frames, for one point of a `curve`, or for a `survey`
//! of many points, which is a `profile` that drives play back. `rehearsal` is for timing.

pub mod curve;
pub mod profile;
pub mod rehearsal;
pub mod survey;
