//! Namespace Management and Attachment, and the lists of Identify and of the log of changes.

use super::{Context, Controller, Reply, sets};
use crate::device::nvme::entry::Entry;
use crate::device::nvme::erasing::Purpose;
use crate::device::nvme::namespaces::Namespaces;
use crate::device::nvme::numbers::{ALL_NAMESPACES, Status};
use crate::device::nvme::{FORMATS, PAGE, field, put};

/// Most identifiers of a list of 16 bits each: controllers, endurance groups.
const MOST_IDENTIFIERS: usize = PAGE / 2 - 1;

/// Page with a list of namespaces above the one that a command names.
pub(super) fn list(entry: &Entry, ids: impl IntoIterator<Item = u32>) -> Result<Vec<u8>, Status> {
    if entry.nsid() >= ALL_NAMESPACES - 1 {
        return Err(Status::INVALID_NAMESPACE);
    }
    let mut page = vec![0; PAGE];
    let above = ids.into_iter().filter(|&id| id > entry.nsid());
    above.enumerate().for_each(|(slot, id)| put(&mut page, 4 * slot, &id.to_le_bytes()));
    Ok(page)
}

/// Page with a list of controllers or endurance groups, from the identifier `least` on.
pub(super) fn identifiers(least: u16, ids: impl IntoIterator<Item = u16>) -> Vec<u8> {
    let mut page = vec![0; PAGE];
    let listed: Vec<u16> =
        ids.into_iter().filter(|&id| id >= least).take(MOST_IDENTIFIERS).collect();
    put(&mut page, 0, &(listed.len() as u16).to_le_bytes());
    for (slot, id) in (1..).zip(&listed) {
        put(&mut page, 2 * slot, &id.to_le_bytes());
    }
    page
}

impl Controller {
    /// Log of the namespaces that have changed for the host.
    pub(super) fn changed_namespaces(&self, namespaces: &Namespaces) -> Vec<u8> {
        let mut page = vec![0; PAGE];
        for (slot, id) in namespaces.changed(self.id).enumerate() {
            put(&mut page, 4 * slot, &id.to_le_bytes());
        }
        page
    }

    /// Makes a namespace, or deletes namespaces: their data go away first.
    pub(super) fn manage(
        &self,
        entry: &Entry,
        data: &[u8],
        context: &mut Context<'_>,
    ) -> Result<Reply, Status> {
        context.namespaces.erasing.admit()?;
        context.check_writable(&[])?;
        match entry.word(10) & 0xf {
            0 => create(entry, data, context).map(|id| Reply::Done(id.into(), Vec::new())),
            1 => {
                let ids = context.allocated(entry.nsid())?;
                context.check_writable(&ids)?;
                let (cid, namespaces) = (entry.cid(), &mut context.namespaces);
                namespaces.check_at_rest(&ids)?;
                Ok(Reply::Ask(namespaces.erase(self.id, cid, Purpose::Delete, ids)))
            }
            _ => Err(Status::INVALID_FIELD),
        }
    }

    /// Attaches a namespace to controllers, or detaches it.
    pub(super) fn attach(
        &self,
        entry: &Entry,
        data: &[u8],
        context: &mut Context<'_>,
    ) -> Result<Reply, Status> {
        let namespaces = &mut context.namespaces;
        namespaces.erasing.admit()?;
        if entry.nsid() == ALL_NAMESPACES || namespaces.get(entry.nsid()).is_none() {
            return Err(Namespaces::unknown(entry.nsid()));
        }
        if namespaces.erasing.is_busy(entry.nsid()) {
            return Err(Status::FORMAT_IN_PROGRESS);
        }
        if data.len() < PAGE {
            return Err(Status::SGL_LENGTH);
        }
        let count = field(data, 0, 2) as usize;
        if !(1..=MOST_IDENTIFIERS).contains(&count) {
            return Err(Status::CONTROLLER_LIST);
        }
        let listed: Vec<u16> = (1..=count).map(|slot| field(data, 2 * slot, 2) as u16).collect();
        if !listed.is_sorted_by(|one, next| one < next) {
            return Err(Status::CONTROLLER_LIST);
        }
        match entry.word(10) & 0xf {
            0 => namespaces.attach(entry.nsid(), &listed)?,
            1 => namespaces.detach(entry.nsid(), &listed)?,
            _ => return Err(Status::INVALID_FIELD),
        }
        Ok(Reply::Done(0, Vec::new()))
    }
}

fn create(entry: &Entry, data: &[u8], context: &mut Context<'_>) -> Result<u32, Status> {
    if data.len() < PAGE {
        return Err(Status::SGL_LENGTH);
    }
    // Command set 0 is that of blocks.
    if entry.byte(47) != 0 {
        return Err(Status::COMMAND_SET);
    }
    let (size, capacity) = (field(data, 0, 8), field(data, 8, 8));
    if size != capacity {
        return Err(Status::THIN_PROVISIONING);
    }
    let format = usize::from(data[26] & 0xf | data[26] >> 1 & 0x30);
    let block_bytes = *FORMATS.get(format).ok_or(Status::INVALID_FORMAT)?;
    // No protection information, no metadata, no groups of namespaces.
    let of_others = [data[29].into(), field(data, 92, 4)];
    if data[26] & 0x10 != 0 || of_others != [0; 2] || data[30] & !1 != 0 {
        return Err(Status::INVALID_FIELD);
    }
    let (set, group) = (field(data, 100, 2) as u16, field(data, 102, 2) as u16);
    let set = sets::asked(context.identity, set, group)?;
    context.namespaces.create((size, block_bytes), data[30] & 1 != 0, set)
}
