//! `ideal`: corrects everything, in the time of one decode.

use super::{Build, Decode, EccConfig, Model};
use base::Time;
use base::family::{Member, NoParams, check, schema};
use base::rng::Rng;

pub const MEMBER: Member<Build> = Member {
    name: "ideal",
    summary: "corrects every codeword, and counts no errors",
    citation: "",
    schema: schema::<NoParams>,
    check: check::<NoParams>,
    build: |common: &EccConfig, _| Ok(Box::new(Ideal { time: Time::from_us(common.t_decode_us) })),
};

struct Ideal {
    time: Time,
}

impl Model for Ideal {
    fn decode(&mut self, _: f64, _: &mut Rng) -> Decode {
        Decode { errors: 0, corrected: true, time: self.time }
    }

    fn is_ideal(&self) -> bool {
        true
    }
}
