//! Namespaces: parts of a drive, each with blocks of its own size, that hosts see as disks.
//!
//! A namespace takes whole mapping units in one piece, so that what is deallocated in one never
//! touches another. Controllers see the namespaces that are attached to them; each has a list of
//! those that have changed.

use super::controller::sets::NvmSet;
use super::erasing::Erasing;
use super::numbers::{ALL_NAMESPACES, Status, io};
use super::traffic::Flow;
use serde::{Deserialize, Serialize};
use ssd::config::{MOST_NAMESPACES, NamespacePart};
use std::collections::{BTreeMap, BTreeSet};
use std::iter;
use std::ops::Range;

/// Greatest identifier of a namespace.
pub const MOST_ID: u32 = MOST_NAMESPACES as u32;

/// Place of a namespace on the drive, and its blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Space {
    /// Identifier of the namespace.
    pub id: u32,
    /// First byte of the namespace on the drive.
    pub offset: u64,
    /// Logical blocks of the namespace.
    pub blocks: u64,
    /// Bytes of a logical block.
    pub block_bytes: u64,
}

/// Namespace of a drive, attached or not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Namespace {
    /// Place of the namespace, and its blocks.
    pub space: Space,
    /// Bytes of the drive that the namespace takes: whole mapping units.
    pub bytes: u64,
    /// Number of the namespace among all that were ever made: its identifiers never come again.
    pub number: u64,
    /// Whether several controllers may have the namespace attached.
    pub is_shared: bool,
    /// Whether controllers that come later have the namespace attached.
    is_offered: bool,
}

impl Namespace {
    /// Bytes of the drive that the namespace takes.
    pub fn range(&self) -> Range<u64> {
        self.space.offset..self.space.offset + self.bytes
    }
}

/// Namespaces of a drive as a saved drive keeps them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SavedNamespaces {
    all: Vec<Namespace>,
    made: u64,
}

/// Namespaces as a controller sees them.
#[derive(Debug, Default)]
struct View {
    attached: BTreeSet<u32>,
    changed: BTreeSet<u32>,
}

/// Completed commands of a kind, and the bytes that they named.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Moved {
    /// Number of the completed commands.
    pub commands: u64,
    /// Bytes that the commands named.
    pub bytes: u64,
}

/// All namespaces of a drive, and the controllers that have them attached.
pub struct Namespaces {
    all: BTreeMap<u32, Namespace>,
    views: BTreeMap<u16, View>,
    capacity: u64,
    /// Bytes of the drive that each set has: one for a drive without sets.
    sets: Vec<Range<u64>>,
    /// Bytes and commands that hosts have read from each set, and written to it.
    flown: Vec<[Moved; 2]>,
    unit_bytes: u64,
    made: u64,
    /// Commands under way that change data, by namespace.
    changing: BTreeMap<u32, u32>,
    /// Erasures of data that are under way, and the last sanitization.
    pub erasing: Erasing,
}

impl Namespaces {
    /// Namespaces of a drive of `capacity` bytes as its description has them.
    pub fn new(parts: &[NamespacePart], sets: &[NvmSet], capacity: u64, unit_bytes: u64) -> Self {
        let of = |(id, part): (u32, &NamespacePart)| {
            let (bytes, block_bytes) = (part.bytes.end - part.bytes.start, part.block_bytes.into());
            let blocks = bytes / block_bytes;
            let space = Space { id, offset: part.bytes.start, blocks, block_bytes };
            let number = u64::from(id) - 1;
            (id, Namespace { space, bytes, number, is_shared: true, is_offered: true })
        };
        let all = (1..).zip(parts).map(of).collect();
        let made = parts.len() as u64;
        let erasing = Erasing::default();
        let (views, changing) = (BTreeMap::new(), BTreeMap::new());
        let sets: Vec<Range<u64>> = match sets {
            [] => iter::once(0..capacity).collect(),
            sets => sets.iter().map(|set| set.bytes.clone()).collect(),
        };
        let flown = vec![Default::default(); sets.len()];
        Self { all, views, capacity, sets, flown, unit_bytes, made, changing, erasing }
    }

    /// Namespaces for a saved drive.
    pub fn saved(&self) -> SavedNamespaces {
        SavedNamespaces { all: self.all.values().cloned().collect(), made: self.made }
    }

    /// Takes over the namespaces of a saved drive.
    pub fn take_over(&mut self, saved: SavedNamespaces) {
        self.all = saved.all.into_iter().map(|namespace| (namespace.space.id, namespace)).collect();
        self.made = saved.made;
    }

    /// Bytes of the drive.
    pub fn capacity(&self) -> u64 {
        self.capacity
    }

    /// Bytes of a mapping unit.
    pub fn unit_bytes(&self) -> u64 {
        self.unit_bytes
    }

    /// Notes that the disk is asked to change data of a namespace.
    pub fn begin_change(&mut self, id: u32) {
        *self.changing.entry(id).or_default() += 1;
    }

    /// Notes that a change of a namespace has ended.
    pub fn end_change(&mut self, id: u32) {
        if let Some(count) = self.changing.get_mut(&id) {
            *count -= 1;
        }
    }

    /// Refuses to erase namespaces while their data are being changed: no data may outlive that.
    pub fn check_at_rest(&self, ids: &[u32]) -> Result<(), Status> {
        let is_changing = |id| self.changing.get(id).is_some_and(|&count| count > 0);
        if ids.iter().any(is_changing) { Err(Status::SEQUENCE) } else { Ok(()) }
    }

    /// Bytes of the drive that no namespace takes.
    pub fn free_bytes(&self) -> u64 {
        self.capacity - self.all.values().map(|namespace| namespace.bytes).sum::<u64>()
    }

    /// Set that a namespace lies in, by its place among the sets.
    pub fn set_of(&self, namespace: &Namespace) -> usize {
        let offset = namespace.space.offset;
        self.sets.iter().position(|set| set.contains(&offset)).unwrap_or(0)
    }

    /// Bytes of a set that no namespace takes.
    pub fn free_bytes_of(&self, set: usize) -> u64 {
        let taken = self.all.values().filter(|namespace| self.set_of(namespace) == set);
        let bytes = &self.sets[set];
        bytes.end - bytes.start - taken.map(|namespace| namespace.bytes).sum::<u64>()
    }

    /// Counts a completed command of a namespace; `None` for a flush of all of them.
    pub fn note(&mut self, id: Option<u32>, flow: Flow, bytes: u64) {
        let Some(namespace) = id.and_then(|id| self.all.get(&id)) else { return };
        let set = self.set_of(namespace);
        let [read, written] = &mut self.flown[set];
        let moved = match flow {
            Flow::Read => read,
            Flow::Write => written,
            Flow::Other => return,
        };
        moved.commands += 1;
        moved.bytes += bytes;
    }

    /// Commands that hosts have read from a set, and written to it, since the drive began to serve.
    pub fn flown(&self, set: usize) -> [Moved; 2] {
        self.flown[set]
    }

    /// Namespaces by their identifiers, attached ones and others.
    pub fn all(&self) -> impl Iterator<Item = &Namespace> {
        self.all.values()
    }

    /// Identifier of the only namespace; `None` where there is none, or several.
    pub fn only(&self) -> Option<u32> {
        let mut ids = self.all.keys().copied();
        ids.next().filter(|_| ids.next().is_none())
    }

    /// Namespace with an identifier; `None` where it is not allocated.
    pub fn get(&self, id: u32) -> Option<&Namespace> {
        self.all.get(&id)
    }

    /// Namespace that a controller has attached; `None` for others.
    pub fn attached(&self, controller: u16, id: u32) -> Option<&Namespace> {
        let is_attached = self.views.get(&controller)?.attached.contains(&id);
        self.all.get(&id).filter(|_| is_attached)
    }

    /// Controllers that have a namespace attached, in order.
    pub fn controllers_of(&self, id: u32) -> Vec<u16> {
        let has = |view: &View| view.attached.contains(&id);
        self.views.iter().filter(|(_, view)| has(view)).map(|(&controller, _)| controller).collect()
    }

    /// Controllers of the drive, in order.
    pub fn controllers(&self) -> impl Iterator<Item = u16> {
        self.views.keys().copied()
    }

    /// Status of a command that names an identifier which its controller has not attached.
    pub fn unknown(id: u32) -> Status {
        // Identifiers up to the greatest one are valid, also where no namespace has them.
        if (1..=MOST_ID).contains(&id) { Status::INVALID_FIELD } else { Status::INVALID_NAMESPACE }
    }

    /// Lets an I/O command of a controller in: the namespace that it may use.
    pub fn admit(&mut self, controller: u16, id: u32, opcode: u8) -> Result<Space, Status> {
        self.erasing.admit()?;
        if id == ALL_NAMESPACES && opcode == io::FLUSH {
            let (blocks, block_bytes) = (self.capacity / 512, 512);
            return Ok(Space { id, offset: 0, blocks, block_bytes });
        }
        let namespace = self.attached(controller, id).ok_or_else(|| Self::unknown(id))?;
        if self.erasing.is_busy(id) {
            return Err(Status::FORMAT_IN_PROGRESS);
        }
        let space = namespace.space;
        self.erasing.is_clean &= !io::changes(opcode);
        Ok(space)
    }

    /// Takes in a new controller.
    pub fn join(&mut self, controller: u16) {
        let is_its = |namespace: &&Namespace| {
            let id = namespace.space.id;
            let is_free = namespace.is_shared || self.controllers_of(id).is_empty();
            namespace.is_offered && is_free
        };
        let attached = self.all.values().filter(is_its).map(|it| it.space.id).collect();
        self.views.insert(controller, View { attached, changed: BTreeSet::new() });
    }

    /// Forgets a controller that has gone: erasures that it asked for stay unfinished.
    pub fn leave(&mut self, controller: u16) {
        self.views.remove(&controller);
        self.erasing.abandon(controller);
    }

    /// Makes a namespace in a set, or in the first set that has room. Refuses one without room in
    /// one piece.
    pub fn create(
        &mut self,
        (blocks, block_bytes): (u64, u64),
        is_shared: bool,
        set: Option<usize>,
    ) -> Result<u32, Status> {
        let id = (1..=MOST_ID).find(|id| !self.all.contains_key(id));
        let id = id.ok_or(Status::ID_UNAVAILABLE)?;
        let asked = blocks.checked_mul(block_bytes).filter(|asked| *asked <= self.capacity);
        let asked = asked.ok_or(Status::INSUFFICIENT_CAPACITY)?;
        if asked == 0 {
            return Err(Status::INVALID_FIELD);
        }
        let bytes = asked.next_multiple_of(self.unit_bytes);
        let sets = match set {
            Some(set) => set..set + 1,
            None => 0..self.sets.len(),
        };
        let room = sets.filter_map(|set| self.room(set, bytes)).next();
        let offset = room.ok_or(Status::INSUFFICIENT_CAPACITY)?;
        let space = Space { id, offset, blocks, block_bytes };
        let (number, is_offered) = (self.made, false);
        self.made += 1;
        self.all.insert(id, Namespace { space, bytes, number, is_shared, is_offered });
        Ok(id)
    }

    /// First byte of the first piece of a set that has so many bytes free.
    fn room(&self, set: usize, bytes: u64) -> Option<u64> {
        let of_set = self.all.values().filter(|namespace| self.set_of(namespace) == set);
        let mut taken: Vec<_> = of_set.map(Namespace::range).collect();
        taken.sort_unstable_by_key(|range| range.start);
        let Range { start, end } = self.sets[set];
        taken.push(end..end);
        let mut offset = start;
        for range in taken {
            if range.start - offset >= bytes {
                return Some(offset);
            }
            offset = range.end;
        }
        None
    }

    /// Takes a namespace from all controllers, for its deletion.
    pub fn withdraw(&mut self, id: u32) {
        for view in self.views.values_mut() {
            if view.attached.remove(&id) {
                view.changed.insert(id);
            }
        }
        if let Some(namespace) = self.all.get_mut(&id) {
            namespace.is_offered = false;
        }
    }

    /// Removes a namespace whose data are gone.
    pub fn remove(&mut self, id: u32) {
        self.all.remove(&id);
    }

    /// Gives a namespace blocks of another size, once its data are gone.
    pub fn reformat(&mut self, id: u32, block_bytes: u64) {
        let Some(Namespace { space, bytes, .. }) = self.all.get_mut(&id) else { return };
        space.blocks = *bytes / block_bytes;
        space.block_bytes = block_bytes;
        for view in self.views.values_mut().filter(|view| view.attached.contains(&id)) {
            view.changed.insert(id);
        }
    }

    /// Attaches a namespace to controllers, all or none of them. Controllers that come later have
    /// it attached as well.
    pub fn attach(&mut self, id: u32, controllers: &[u16]) -> Result<(), Status> {
        let views = self.views_of(controllers)?;
        let namespace = self.all.get(&id).ok_or_else(|| Self::unknown(id))?;
        if views.iter().any(|view| view.attached.contains(&id)) {
            return Err(Status::ALREADY_ATTACHED);
        }
        let others = self.controllers_of(id).len();
        if !namespace.is_shared && others + controllers.len() > 1 {
            return Err(Status::IS_PRIVATE);
        }
        self.change(id, controllers, |view| view.attached.insert(id), true);
        Ok(())
    }

    /// Detaches a namespace from controllers, all or none of them.
    pub fn detach(&mut self, id: u32, controllers: &[u16]) -> Result<(), Status> {
        let views = self.views_of(controllers)?;
        if !self.all.contains_key(&id) {
            return Err(Self::unknown(id));
        }
        if views.iter().any(|view| !view.attached.contains(&id)) {
            return Err(Status::NOT_ATTACHED);
        }
        self.change(id, controllers, |view| view.attached.remove(&id), false);
        Ok(())
    }

    fn views_of(&self, controllers: &[u16]) -> Result<Vec<&View>, Status> {
        let views = controllers.iter().map(|controller| self.views.get(controller));
        views.collect::<Option<_>>().ok_or(Status::CONTROLLER_LIST)
    }

    fn change(
        &mut self,
        id: u32,
        controllers: &[u16],
        act: impl Fn(&mut View) -> bool,
        is_offered: bool,
    ) {
        for controller in controllers {
            if let Some(view) = self.views.get_mut(controller) {
                act(view);
                view.changed.insert(id);
            }
        }
        // What the last controller has given up is given to none.
        let is_offered = is_offered || !self.controllers_of(id).is_empty();
        if let Some(namespace) = self.all.get_mut(&id) {
            namespace.is_offered = is_offered;
        }
    }

    /// Namespaces that have changed for a controller since it last asked.
    pub fn changed(&self, controller: u16) -> impl Iterator<Item = u32> {
        self.views.get(&controller).into_iter().flat_map(|view| &view.changed).copied()
    }

    /// Forgets the changes that a controller has been told.
    pub fn forget_changes(&mut self, controller: u16) {
        if let Some(view) = self.views.get_mut(&controller) {
            view.changed.clear();
        }
    }
}
