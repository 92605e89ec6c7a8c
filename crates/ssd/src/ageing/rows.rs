//! Rows of a host's writes, without time: units gather until they fill a program, as in a write
//! buffer, and go to the FTL. One with zones gathers them itself.
//!
//! Unlike in a buffer, a unit that is written again before it has left is written twice.

use crate::ftl::contract::{Device, MOST_STREAMS, key_among};
use crate::ftl::{AHEAD, Ftl, Hint, Key, Lpn, Untimed};
use crate::terms::request::Op;
use base::{Error, Result};
use std::ops::Range;

/// Units taken at a time; few, as a drive that has become read-only gets no more after them.
const BATCH: usize = 4096;

/// Fewest units in a row that are worth drawing ahead.
const LEAST: usize = 4 * AHEAD;

/// A request of the host for one unit, or for a zone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Touch {
    /// Write of a unit, with a hint.
    Write(Lpn, Hint),
    /// Trim of a unit.
    Trim(Lpn),
    /// Append of one unit, or a command, to the zone that begins with a unit.
    Zone(Op, Lpn),
}

impl Touch {
    fn lpn(self) -> Lpn {
        match self {
            Self::Write(lpn, _) | Self::Trim(lpn) | Self::Zone(_, lpn) => lpn,
        }
    }
}

/// Source of touches: appends the next ones to a list.
pub(super) type Draw<'a> = &'a mut dyn FnMut(&mut Vec<Touch>) -> Result<()>;

/// Touches that have not reached the FTL.
pub(super) struct Rows {
    untimed: Untimed,
    queue: Vec<Touch>,
    head: usize,
    /// By key: units of its row so far. Empty if there are many keys.
    rows: Vec<Vec<Lpn>>,
    /// Units that wait, each with its key, if there are many keys.
    keyed: Vec<(u32, Lpn)>,
    keys: u32,
    row: usize,
    /// Units trimmed so far.
    pub trimmed: u64,
}

impl Rows {
    /// Creates empty rows for an FTL on `dies` dies.
    pub fn new(ftl: &dyn Ftl, dies: u32) -> Self {
        let (keys, row) = (ftl.facts().keys, ftl.facts().row_units as usize);
        let few = if keys <= MOST_STREAMS { keys } else { 0 };
        Self {
            untimed: Untimed::new(dies),
            queue: Vec::with_capacity(4 * BATCH),
            head: 0,
            rows: vec![Vec::with_capacity(row); few as usize],
            keyed: Vec::with_capacity(AHEAD),
            keys,
            row,
            trimmed: 0,
        }
    }

    /// Takes a batch of touches from `draw` to the FTL, and returns their number.
    pub fn advance(
        &mut self,
        ftl: &mut dyn Ftl,
        device: &mut dyn Device,
        draw: Draw<'_>,
    ) -> Result<u64> {
        if self.queue.len() - self.head < BATCH + AHEAD {
            self.queue.drain(..self.head);
            self.head = 0;
            while self.queue.len() < BATCH + AHEAD {
                let before = self.queue.len();
                draw(&mut self.queue)?;
                if self.queue.len() == before {
                    return Err(Error::new("workload", "it writes nothing any more"));
                }
            }
        }
        let end = self.head + BATCH;
        let zones = ftl.zones().map(|zones| zones.layout().units());
        while self.head < end {
            if let Some(units) = &zones
                && units.contains(&self.queue[self.head].lpn().0)
            {
                self.send_to_zones(end, units, ftl, device)?;
                continue;
            }
            if self.keys == 1 && self.rows[0].is_empty() {
                let ahead = &self.queue[self.head..end];
                let is_write = |touch: &&Touch| matches!(touch, Touch::Write(..));
                let run = ahead.iter().take_while(is_write).count();
                let whole = run / self.row * self.row;
                if whole >= LEAST {
                    self.overwrite(whole, ftl, device)?;
                    continue;
                }
            }
            match self.queue[self.head] {
                Touch::Write(lpn, hint) => self.write(lpn, hint, ftl, device)?,
                // Sources send commands on zones to zones alone.
                Touch::Zone(..) => {}
                Touch::Trim(lpn) => {
                    self.rows.iter_mut().for_each(|row| row.retain(|&held| held != lpn));
                    self.keyed.retain(|&(_, held)| held != lpn);
                    ftl.trim_on(lpn, &mut self.untimed, device)?;
                    self.trimmed += 1;
                }
            }
            self.head += 1;
        }
        Ok(BATCH as u64)
    }

    /// Takes the touches before `end` up to the first that is none of these units of zones, in
    /// order: rows gather in the zones. There is nothing that a trim could forget.
    fn send_to_zones(
        &mut self,
        end: usize,
        units: &Range<u32>,
        ftl: &mut dyn Ftl,
        device: &mut dyn Device,
    ) -> Result<()> {
        let is_its = |touch: &Touch| units.contains(&touch.lpn().0);
        let is_write = |touch: &Touch| matches!(touch, Touch::Write(..)) && is_its(touch);
        while self.head < end && is_its(&self.queue[self.head]) {
            let left = &self.queue[self.head..end];
            let run = left.iter().take_while(|&touch| is_write(touch)).count();
            if run > 0 {
                let lpns: Vec<Lpn> = left[..run].iter().map(|touch| touch.lpn()).collect();
                ftl.write_on(Key(0), &lpns, &mut self.untimed, device)?;
                self.head += run;
                continue;
            }
            if let Touch::Zone(op, first) = left[0] {
                ftl.command_zone(op, first, &mut self.untimed, device)?;
            }
            self.head += 1;
        }
        Ok(())
    }

    /// Writes the next `count` touches, all of them writes.
    fn overwrite(
        &mut self,
        count: usize,
        ftl: &mut dyn Ftl,
        device: &mut dyn Device,
    ) -> Result<()> {
        let mut next = self.queue[self.head..].iter();
        let mut draw = || next.next().map_or(Lpn(0), |touch| touch.lpn());
        ftl.overwrite_on(count as u64, &mut draw, &mut self.untimed, device)?;
        self.head += count;
        Ok(())
    }

    fn write(
        &mut self,
        lpn: Lpn,
        hint: Hint,
        ftl: &mut dyn Ftl,
        device: &mut dyn Device,
    ) -> Result<()> {
        let key = key_among(ftl, self.keys, lpn, hint);
        if let Some(row) = self.rows.get_mut(key.0 as usize) {
            row.push(lpn);
            if row.len() == self.row {
                ftl.write_on(key, row, &mut self.untimed, device)?;
                row.clear();
            }
            return Ok(());
        }
        self.keyed.push((key.0, lpn));
        if self.keyed.len() < AHEAD {
            return Ok(());
        }
        self.keyed.sort_by_key(|&(key, _)| key);
        let mut lpns = Vec::with_capacity(AHEAD);
        for run in self.keyed.chunk_by(|a, b| a.0 == b.0) {
            lpns.clear();
            lpns.extend(run.iter().map(|&(_, lpn)| lpn));
            ftl.write_on(Key(run[0].0), &lpns, &mut self.untimed, device)?;
        }
        self.keyed.clear();
        Ok(())
    }
}
