//! A policy that breaks its promise ends the run, timed and untimed, and does not hang it.

use crate::build::{chips, context};
use crate::config::SsdConfig;
use crate::ftl::{self, Lpn, Untimed};
use crate::gc::{BlockWord, Victims};
use crate::request::{Op, Request};
use crate::{Ssd, Step};
use base::rng::Rng;
use base::{Error, params};

/// Takes the block that was filled last: the one that collection has just filled, for ever.
struct Last(Vec<u32>);

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

/// A drive of one plane with that policy.
fn drive() -> Ssd {
    let text = "
        drive = { channels = 1, dies_per_channel = 1, queue_depth = 8 }
        ftl = { name = 'page', overprovisioning = 0.9, unit_bytes = 4096 }
        gc = { name = 'greedy' }
        scheduler = { name = 'out_of_order' }
        retry = { name = 'none' }
        ecc = { model = 'ideal', t_decode_us = 5 }
        buffer = { bytes = 262144 }
        [chip]
        cell_bits = 1
        rated_pe_cycles = 1
        page_order = 'all_bitline'
        array = { name = 'ideal' }
        energy = { vcc_v = 1, icc_read_ma = 1, icc_program_ma = 1, icc_erase_ma = 1 }
        [chip.geometry]
        planes_per_die = 1
        blocks_per_plane = 16
        pages_per_block = 16
        page_bytes = 16384
        [chip.timing]
        t_read_us = 50
        t_program_us = 200
        t_erase_us = 1000
        bus_mt_s = 400
    ";
    let table = params::parse(text, "test").unwrap();
    let config: SsdConfig = params::read(&table, "").unwrap();
    let config = config.complete().unwrap();
    let mut ssd = Ssd::new(&config, 1 << 30).unwrap();
    let mut context = context(&config, &chips(&config).unwrap()).unwrap();
    context.victims = Box::new(Last(Vec::new()));
    let (_, mut choice) = config.ftl_parts().unwrap();
    let member = choice.resolve(ftl::ROSTER, "ftl").unwrap();
    ssd.ftl = (member.build)(context, &choice.params).unwrap();
    ssd
}

fn is_told(error: &Error) {
    assert_eq!(error.place, "ftl");
    assert!(error.problem.contains("collection of a die does not end"), "{error}");
    assert!(error.allowed.contains("policy"), "{error}");
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
