//! Format NVM and Sanitize, and the log of the latter.
//!
//! All settings do the same here: the data are deallocated, and the command ends when the drive has
//! made that durable.

use super::{Context, Controller, Reply};
use crate::device::nvme::entry::Entry;
use crate::device::nvme::erasing::{Erasing, Outcome, Purpose};
use crate::device::nvme::numbers::Status;
use crate::device::nvme::{FORMATS, put};

/// Sanitizations that the drive can do: crypto erase, block erase. No-deallocate is inhibited, and
/// the media are not changed afterwards.
pub(super) const SANITIZATIONS: u32 = 1 | 1 << 1 | 1 << 29 | 1 << 30;

/// Time that the log does not estimate.
const NO_ESTIMATE: u32 = u32::MAX;

impl Controller {
    /// Begins to format namespaces.
    pub(super) fn format(&self, entry: &Entry, context: &mut Context<'_>) -> Result<Reply, Status> {
        context.namespaces.erasing.admit()?;
        let word = entry.word(10);
        let format = (word & 0xf | word >> 8 & 0x30) as usize;
        let block_bytes = *FORMATS.get(format).ok_or(Status::INVALID_FORMAT)?;
        // Metadata and protection information; erase settings above that of a crypto erase.
        if word & 0x1f0 != 0 || word >> 9 & 7 > 2 {
            return Err(Status::INVALID_FIELD);
        }
        context.check_writable(&[])?;
        let ids = context.allocated(entry.nsid())?;
        context.check_writable(&ids)?;
        let is_small = |id: &u32| {
            context.namespaces.get(*id).is_some_and(|namespace| namespace.bytes < block_bytes)
        };
        if ids.iter().any(is_small) {
            return Err(Status::INVALID_FORMAT);
        }
        context.namespaces.check_at_rest(&ids)?;
        let purpose = Purpose::Format(block_bytes);
        Ok(Reply::Ask(context.namespaces.erase(self.id, entry.cid(), purpose, ids)))
    }

    /// Begins to sanitize the drive, or leaves the failure of a sanitization.
    pub(super) fn sanitize(
        &self,
        entry: &Entry,
        context: &mut Context<'_>,
    ) -> Result<Reply, Status> {
        let erasing = &mut context.namespaces.erasing;
        if erasing.is_sanitizing() {
            return Err(Status::SANITIZE_IN_PROGRESS);
        }
        if erasing.is_erasing() {
            return Err(Status::FORMAT_IN_PROGRESS);
        }
        const UNRESTRICTED: u32 = 1 << 3;
        const NO_DEALLOCATE: u32 = 1 << 9;
        match entry.word(10) & 7 {
            // A restricted sanitization has to be repeated.
            1 if erasing.outcome == Outcome::Failed && erasing.asked & UNRESTRICTED == 0 => {
                Err(Status::SANITIZE_FAILED)
            }
            1 => {
                if erasing.outcome == Outcome::Failed {
                    erasing.outcome = Outcome::Never;
                }
                Ok(Reply::Done(0, Vec::new()))
            }
            2 | 4 if entry.word(10) & NO_DEALLOCATE == 0 => {
                let all = context.namespaces.all();
                let ids: Vec<u32> = all.map(|namespace| namespace.space.id).collect();
                context.check_writable(&ids)?;
                let namespaces = &mut context.namespaces;
                namespaces.check_at_rest(&ids)?;
                namespaces.erasing.asked = entry.word(10);
                let heads = context.namespaces.erase(self.id, entry.cid(), Purpose::Sanitize, ids);
                Ok(Reply::Ask(heads))
            }
            _ => Err(Status::INVALID_FIELD),
        }
    }
}

/// Log of the last sanitization, or of the one that runs.
pub(super) fn sanitize_log(erasing: &Erasing) -> Vec<u8> {
    let mut page = vec![0; 512];
    let runs = erasing.is_sanitizing();
    // How far it has come is not known.
    put(&mut page, 0, &if runs { 0 } else { u16::MAX }.to_le_bytes());
    let status: u16 = match erasing.outcome {
        _ if runs => 2,
        Outcome::Never => 0,
        Outcome::Done => 1,
        Outcome::Failed => 3,
    };
    put(&mut page, 2, &(status | u16::from(erasing.is_clean) << 8).to_le_bytes());
    put(&mut page, 4, &erasing.asked.to_le_bytes());
    for time in 0..6 {
        put(&mut page, 8 + 4 * time, &NO_ESTIMATE.to_le_bytes());
    }
    page
}
