//! An FTL in one file: units that were rewritten lately share rows and blocks.
//!
//! `cargo run --release --example hot_cold -- hot.fio` runs a job file with it on the preset
//! `tiny`, from a steady state, and prints the report.

#![allow(clippy::print_stdout)]

use base::{Error, Result};
use host::config;
use host::report::Outside;
use host::session::{Session, Workload};
use nand::geometry::Die;
use ssd::ftl::own::{Decide, Facts, OwnFtl, View};
use ssd::ftl::{DieSet, Lpn, Move};
use ssd::precondition::Precondition;
use std::sync::Arc;

#[derive(Clone, Default)]
struct HotCold {
    window: u64,
    written_at: Vec<u64>,
    clock: u64,
    turn: u32,
}

impl Decide for HotCold {
    fn facts(&self) -> Facts {
        Facts { streams: 2, open_blocks: 3, ..Facts::default() }
    }

    fn begin(&mut self, view: &Arc<View>) -> Result<()> {
        self.window = u64::from(view.logical_units()) / 4;
        self.written_at = vec![0; view.logical_units() as usize];
        Ok(())
    }

    fn stream(&mut self, _: &Arc<View>, unit: Lpn, _: u8) -> Result<u32> {
        self.clock += 1;
        let before = std::mem::replace(&mut self.written_at[unit.0 as usize], self.clock);
        Ok(u32::from(before > 0 && self.clock - before < self.window))
    }

    fn place(
        &mut self,
        view: &Arc<View>,
        stream: u32,
        _: &[Lpn],
        dies: &DieSet,
    ) -> Result<Option<u32>> {
        for die in (self.turn..view.dies()).chain(0..self.turn) {
            let block = view.next_block(die, Some(stream)).filter(|_| dies.contains(Die(die)));
            if block.is_some() {
                self.turn = die + 1;
                return Ok(block);
            }
        }
        Ok(None)
    }

    fn place_moves(&mut self, view: &Arc<View>, die: u32, _: &[Move]) -> Result<u32> {
        view.next_block(die, None).ok_or_else(|| Error::new("", "no free block"))
    }

    fn twin(&self, _: &Arc<View>) -> Result<Box<dyn Decide>> {
        Ok(Box::new(self.clone()))
    }
}

fn main() -> Result<()> {
    let job = std::env::args().nth(1).ok_or_else(|| Error::new("job", "no file is given"))?;
    let own =
        OwnFtl::whole("HotCold", base::params::Table::new(), || Ok(Box::new(HotCold::default())));
    let mut loaded = config::load("tiny", &[])?;
    loaded.config = loaded.config.with_own_ftl(own)?;
    let workload = Workload::Fio { path: job.into(), traces: Box::default() };
    let mut session = Session::new(loaded, &workload, Precondition::Steady, 1 << 32)?;
    while !session.advance(100_000)? {}
    println!("{}", session.report(Outside::default())?);
    Ok(())
}
