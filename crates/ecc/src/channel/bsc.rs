//! `bsc`: the binary symmetric channel: every bit of a hard read is wrong with the same chance.

use super::{Build, Channel, Reading};
use crate::bits;
use crate::channel::alias::Events;
use crate::channel::cells;
use base::Error;
use base::family::{Member, NoParams, check, schema};
use base::rng::Rng;

pub const MEMBER: Member<Build> = Member {
    name: "bsc",
    summary: "hard bits, each wrong with the same chance",
    citation: "",
    schema: schema::<NoParams>,
    check: check::<NoParams>,
    build: |rber, levels, _| {
        cells::check(rber, levels)?;
        if levels > 0 {
            let error =
                Error::new("channel.levels", format!("bsc has no {levels} extra references"));
            return Err(error.expected("0").hint("soft reads need the channel awgn or mlc"));
        }
        Ok(Box::new(Bsc { rber, errors: Events::new(rber) }))
    },
};

struct Bsc {
    rber: f64,
    errors: Events,
}

impl Channel for Bsc {
    fn send(&self, word: &[u64], length: usize, rng: &mut Rng, reading: &mut Reading) {
        reading.bits.clear();
        reading.bits.extend_from_slice(word);
        reading.regions.clear();
        reading.llr.clear();
        reading.llr.push(libm::log((1.0 - self.rber) / self.rber));
        reading.errors = 0;
        let mut at = 0;
        loop {
            at = self.errors.next(at, length, rng);
            if at == length {
                return;
            }
            bits::flip(&mut reading.bits, at);
            reading.errors += 1;
            at += 1;
        }
    }

    fn capacity(&self) -> f64 {
        let part = |p: f64| p * libm::log2(p);
        1.0 + part(self.rber) + part(1.0 - self.rber)
    }
}
