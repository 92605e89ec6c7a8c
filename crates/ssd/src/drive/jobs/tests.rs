//! Tests of a GC policy that breaks its promise: it ends the run, timed and untimed.

use crate::build::{chips, context};
use crate::ftl::{self, Lpn, Untimed};
use crate::space::gc::{BlockWord, Victims};
use crate::terms::request::{Op, Request};
use crate::{Ssd, Step, test_drive};
use base::Error;
use base::archive::{Archive, State};
use base::error::assert_carries;
use base::rng::Rng;

/// Victim policy that takes the block filled last: the one that collection has just filled, for
/// ever.
#[derive(Clone)]
struct Last(Vec<u32>);

impl State for Last {
    fn exchange(&mut self, archive: &mut Archive<'_>) -> base::Result<()> {
        archive.value(&mut self.0)
    }
}

impl Victims for Last {
    fn closed(&mut self, _: u32, block: u32, _: u32, _: u64) {
        self.0.push(block);
    }
    fn invalidated(&mut self, _: u32, _: u32, _: u32) {}
    fn withdraw(&mut self, _: u32, block: u32, _: u32) {
        self.0.retain(|&candidate| candidate != block);
    }
    fn pick(&mut self, _: u32, _: &[BlockWord], _: u64) -> Option<u32> {
        self.0.pop()
    }
}

/// A drive of one plane with the policy `Last`.
fn drive() -> Ssd {
    let config = test_drive::config(&["chip.geometry.page_bytes=16384"]);
    let mut ssd = Ssd::new(&config, 1 << 30).unwrap();
    let mut context = context(&config, &chips(&config).unwrap()).unwrap();
    context.victims = Box::new(Last(Vec::new()));
    let mut choice = config.ftl.choice();
    let member = choice.resolve(ftl::ROSTER, "ftl").unwrap();
    ssd.ftl = (member.build)(context, &choice.params).unwrap();
    ssd
}

fn is_told(error: &Error) {
    assert_eq!(error.place, "ftl");
    assert_carries(&error.problem, &["collection", "not end"]);
    assert_carries(&error.hint, &["policy"]);
}

#[test]
fn timed() {
    let mut ssd = drive();
    ssd.start(0);
    let mut rng = Rng::stream(1, "endless");
    let units = ssd.capacity_bytes() / 4096;
    let error = loop {
        while ssd.has_room() {
            let now = ssd.now();
            ssd.submit(Request::new(Op::Write, 4096 * rng.below(units), 4096), 0, now);
        }
        let Step::Completed(_) = ssd.step() else { break ssd.fault().unwrap_err() };
    };
    is_told(&error);
}

#[test]
fn untimed() {
    let mut ssd = drive();
    let mut rng = Rng::stream(1, "endless");
    let units = ssd.capacity_bytes() / 4096;
    let mut draw = || Lpn(rng.below(units) as u32);
    let ftl = ssd.ftl_mut();
    is_told(&ftl.overwrite_untimed(100 * units, &mut draw, &mut Untimed::new(1)).unwrap_err());
}
