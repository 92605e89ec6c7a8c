//! `awgn`: two Gaussian levels, a zero at +1 and a one at -1, with references between them.
//!
//! The hard bit error rate p gives the width of the levels: sigma = 1 / Qinv(p). A hard read has
//! one reference at 0. Soft reads add references in pairs beside it, where the mutual information
//! between bit and region is highest (Wang, JSAC 2014). Each of the levels + 2 regions has its
//! exact log-likelihood ratio.
//! exact log-likelihood ratio.

use super::{Build, Channel, Reading};
use crate::channel::cells::{self, Cells};
use crate::channel::information::{boundary, boundary_offsets, sigma};
use base::family::{Member, NoParams, check, schema};
use base::rng::Rng;

pub const MEMBER: Member<Build> = Member {
    name: "awgn",
    summary: "two Gaussian levels; soft references at the best places",
    citation: "",
    schema: schema::<NoParams>,
    check: check::<NoParams>,
    build: |rber, levels, _| {
        cells::check(rber, levels)?;
        let sigma = sigma(rber);
        let references = boundary_offsets(sigma, usize::from(levels) + 1);
        Ok(Box::new(Awgn(Cells::new(boundary(sigma, &references), rber))))
    },
};

struct Awgn(Cells);

impl Channel for Awgn {
    fn send(&self, word: &[u64], length: usize, rng: &mut Rng, reading: &mut Reading) {
        self.0.read(word, length, rng, reading);
    }

    fn capacity(&self) -> f64 {
        self.0.information()
    }
}
