//! Erasures: data of namespaces, or of the whole drive, that are being made to go away.
//!
//! Format, Sanitize and the deletion of a namespace deallocate all its mapping units, and end when
//! the drive has made that durable. The drive erases the blocks behind them when it needs them.
//! Meanwhile commands that would meet the data are refused.

use super::controller::io;
use super::namespaces::{Namespace, Namespaces};
use super::numbers::Status;
use crate::device::message::Head;

/// Purpose of an erasure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// Format: the namespaces get blocks of this size in bytes.
    Format(u64),
    /// Deletion of these namespaces.
    Delete,
    /// Sanitization of the whole drive.
    Sanitize,
}

/// Erasure that is under way.
#[derive(Debug)]
struct Job {
    /// Controller and command that asked for it.
    controller: u16,
    cid: u16,
    purpose: Purpose,
    /// Namespaces that it erases.
    ids: Vec<u32>,
}

/// Outcome of the last sanitization.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Outcome {
    /// The drive was never sanitized.
    #[default]
    Never,
    /// The sanitization has ended well.
    Done,
    /// The sanitization was broken off: the drive takes no I/O until another one.
    Failed,
}

/// Erasures under way, and the last sanitization.
#[derive(Debug, Default)]
pub struct Erasing {
    jobs: Vec<Job>,
    /// Outcome of the last sanitization.
    pub outcome: Outcome,
    /// Dword 10 of the last Sanitize command.
    pub asked: u32,
    /// Whether nothing was written since the last sanitization.
    pub is_clean: bool,
    /// Controller that is still to be told of the end of its sanitization.
    pub news_for: Option<u16>,
}

impl Erasing {
    /// Whether the drive is being sanitized.
    pub fn is_sanitizing(&self) -> bool {
        self.jobs.iter().any(|job| job.purpose == Purpose::Sanitize)
    }

    /// Refuses commands that would meet the data of a sanitization.
    pub fn admit(&self) -> Result<(), Status> {
        if self.is_sanitizing() {
            return Err(Status::SANITIZE_IN_PROGRESS);
        }
        match self.outcome {
            Outcome::Failed => Err(Status::SANITIZE_FAILED),
            Outcome::Never | Outcome::Done => Ok(()),
        }
    }

    /// Whether any data are being erased.
    pub fn is_erasing(&self) -> bool {
        !self.jobs.is_empty()
    }

    /// Whether the data of a namespace are being erased.
    pub fn is_busy(&self, id: u32) -> bool {
        self.jobs.iter().any(|job| job.ids.contains(&id))
    }

    /// Breaks off the erasures of a controller that has gone.
    pub fn abandon(&mut self, controller: u16) {
        let is_its = |job: &Job| job.controller == controller;
        if self.jobs.iter().any(|job| is_its(job) && job.purpose == Purpose::Sanitize) {
            self.outcome = Outcome::Failed;
        }
        self.jobs.retain(|job| !is_its(job));
        self.news_for.take_if(|one| *one == controller);
    }
}

impl Namespaces {
    /// Begins an erasure for a command of a controller: requests to the disk.
    pub fn erase(
        &mut self,
        controller: u16,
        cid: u16,
        purpose: Purpose,
        ids: Vec<u32>,
    ) -> Vec<Head> {
        let of_ids = || ids.iter().filter_map(|&id| self.get(id)).map(Namespace::range);
        let trims = match purpose {
            Purpose::Sanitize => io::trims_of(0..self.capacity(), self.unit_bytes(), true),
            _ => of_ids().flat_map(|range| io::trims_of(range, self.unit_bytes(), true)).collect(),
        };
        if purpose == Purpose::Delete {
            ids.iter().for_each(|&id| self.withdraw(id));
        }
        self.erasing.jobs.push(Job { controller, cid, purpose, ids });
        trims
    }

    /// Ends the erasure that a command of a controller has asked for, if it has.
    pub fn erased(&mut self, controller: u16, cid: u16, is_done: bool) {
        let is_it = |job: &Job| job.controller == controller && job.cid == cid;
        let Some(at) = self.erasing.jobs.iter().position(is_it) else { return };
        let Job { purpose, ids, .. } = self.erasing.jobs.remove(at);
        match purpose {
            Purpose::Sanitize => {
                let erasing = &mut self.erasing;
                erasing.outcome = if is_done { Outcome::Done } else { Outcome::Failed };
                (erasing.is_clean, erasing.news_for) = (is_done, Some(controller));
            }
            Purpose::Format(bytes) if is_done => {
                ids.into_iter().for_each(|id| self.reformat(id, bytes));
            }
            Purpose::Delete if is_done => ids.into_iter().for_each(|id| self.remove(id)),
            Purpose::Format(_) | Purpose::Delete => {}
        }
    }
}
