//! Snapshots of a disk: the drive with its bytes in a file, while clients use it.
//!
//! A drive is saved at rest. A snapshot is therefore like a flush with a pause: requests under way
//! end, and buffered data go to flash, before the drive is saved and goes on.

use super::{Disk, Power};
use crate::device::marks::SavedMarks;
use crate::device::nvme::namespaces::SavedNamespaces;
use crate::device::saved::{self, Beside};
use crate::drive::Drive;
use base::{Error, Result, Time};
use std::path::Path;

impl Disk {
    /// Refuses a snapshot of a drive that cannot come to rest now.
    pub fn check_snapshot(&self) -> Result<()> {
        let refused = |problem| Error::new("snapshot", problem);
        if self.power != Power::On {
            let problem = "the drive has no power, or starts up";
            return Err(refused(problem).hint("restore it, and wait until it is on"));
        }
        if self.session.run.ssd.is_exchanging() {
            return Err(refused("a die is being exchanged").hint("wait until it is replaced"));
        }
        if self.has_lost_bytes {
            return Err(refused("the store of the bytes has failed"));
        }
        Ok(())
    }

    /// Brings the drive to rest, and copies it for saving.
    pub fn rest(&mut self) -> Result<Drive> {
        self.finish_all()?;
        let drive = self.session.drive_left()?;
        self.follow();
        // The last flush of the drive belongs to no client's request.
        self.version = self.session.run.ssd.latest_version();
        Ok(drive)
    }

    /// Saves a copy of the drive that has come to rest, with its bytes and, for NVMe hosts, its
    /// namespaces.
    pub fn save(
        &mut self,
        mut drive: Drive,
        namespaces: Option<SavedNamespaces>,
        path: &Path,
    ) -> Result<()> {
        let (marks, windows) = (self.contents.marks().saved(), self.windows.modes());
        let beside = Beside { marks, namespaces, windows };
        drive.save_with(path, |file| saved::write(self.contents.image(), beside, file))?;
        self.snapshots.push(self.now());
        Ok(())
    }

    /// Takes over the sectors of a saved drive that read as lost.
    pub fn take_over_marks(&mut self, marks: SavedMarks) {
        self.contents.take_over_marks(marks);
    }

    /// Simulated times of the snapshots.
    pub fn snapshots(&self) -> &[Time] {
        &self.snapshots
    }
}

#[cfg(test)]
mod tests;
