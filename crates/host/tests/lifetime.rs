//! Lives of drives: exact ones keep the laws of wear, and accelerated ones are like exact ones.

use base::Result;
use host::config;
use host::drive::Drive;
use host::lifetime::Life;
use host::session::Workload;
use ssd::ageing::{Goal, Totals};
use ssd::precondition::Precondition;
use std::path::PathBuf;

/// A small drive whose blocks fail after a hundred cycles or so.
const SMALL: [&str; 4] = [
    "chip.geometry.blocks_per_plane=64",
    "chip.geometry.pages_per_block=32",
    "chip.fault={median_ratings=0.02, spread=0.1}",
    "ftl.unit_bytes=4096",
];

fn drive(sets: &[&str], precondition: Precondition) -> Drive {
    let sets: Vec<String> = SMALL.iter().chain(sets).map(|&set| set.to_owned()).collect();
    let mut drive = Drive::new(config::load("tiny", &sets).unwrap(), 1 << 32).unwrap();
    drive.precondition(precondition).unwrap();
    while !drive.advance_precondition().unwrap() {}
    drive
}

fn workload(job: &str) -> Workload {
    Workload::FioText {
        text: job.to_owned(),
        place: "test".into(),
        dir: PathBuf::from("."),
        traces: Box::default(),
    }
}

const TO_DEATH: Goal = Goal {
    cycles: f64::INFINITY,
    units: f64::INFINITY,
    most_cycles: None,
    hours_per_unit: 0.0,
    learning_cycles: 2.0,
    stretch_cycles: 0.25,
};

/// What a drive has come to.
struct End {
    totals: Totals,
    cycles: f64,
    failed: usize,
    drive: Drive,
}

fn live(mut drive: Drive, job: &str, goal: &Goal, acceleration: f64) -> Result<End> {
    let mut life = Life::new(&mut drive, &workload(job), &[1.0], acceleration)?;
    while !life.advance(&mut drive, goal, 1 << 16)? {}
    Ok(End { totals: life.totals(), cycles: life.cycles(), failed: life.failed_blocks(), drive })
}

const UNIFORM: &str = "[w]\nrw=randwrite\nbs=4k\nnorandommap=1\n";

#[test]
fn debug() {
    for a in [1.0, 10.0] {
        let end = live(drive(&[], Precondition::Steady), UNIFORM, &TO_DEATH, a).unwrap();
        println!("{a} {:?} {} {}", end.totals, end.cycles, end.failed);
    }
}
