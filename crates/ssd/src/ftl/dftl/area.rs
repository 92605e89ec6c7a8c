//! Map pages: their places on flash, and those to be written.
//!
//! Each page has a *home*, a group of planes of one die, and is written to no other: so the work of
//! a die never meets that of another, and pages of one home share programs. A home has a few blocks
//! of each plane for itself, at least twice what its pages take: collecting them always gains. On a
//! drive with parity each page has several `copies`, which are numbered, queued and written as
//! pages of their own.

use super::copies::Copies;
use crate::ftl::contract::Move;
use crate::ftl::page::{Own, PageFtl, Pick};
use crate::ftl::{Job, Lpn};
use crate::space::draining::Draining;
use crate::space::free_blocks::Use;
use base::Result;
use base::archive::{Archive, State};
use nand::geometry::{Block, Die, Geometry, Plane, Ppn};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// Flags, one for each page or block.
#[derive(Clone)]
struct Flags(Vec<u64>);

impl Flags {
    fn new(count: u32) -> Self {
        Self(vec![0; count.div_ceil(64) as usize])
    }

    #[inline]
    fn has(&self, index: u32) -> bool {
        self.0[index as usize / 64] & (1 << (index % 64)) != 0
    }

    /// Sets a flag. True if it was not set before.
    #[inline]
    fn insert(&mut self, index: u32) -> bool {
        let is_new = !self.has(index);
        self.0[index as usize / 64] |= 1 << (index % 64);
        is_new
    }

    /// Clears a flag. True if it was set before.
    #[inline]
    fn remove(&mut self, index: u32) -> bool {
        let was_set = self.has(index);
        self.0[index as usize / 64] &= !(1 << (index % 64));
        was_set
    }
}

/// A group of planes of a die, and the pages of the map that live there.
#[derive(Clone, Default, Serialize, Deserialize)]
struct Home {
    /// Copies of map pages to be written, oldest first.
    queue: VecDeque<u32>,
    /// Somebody waits for the queue to be written.
    is_urgent: bool,
}

/// Subject of the last step of a die's job: data, or pages of the map.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Phase {
    /// Data of the host, moved by collection.
    #[default]
    Data,
    /// New versions of pages of the map.
    Write,
    /// Pages of the map, moved by collection.
    Collect,
}

/// A die's work on the map.
#[derive(Clone, Default, Serialize, Deserialize)]
struct OfDie {
    phase: Phase,
    draining: Draining,
    /// The die's job is among the named ones.
    is_named: bool,
}

/// Map pages on flash: their homes, their blocks, and those to be written.
#[derive(Clone)]
pub(super) struct Area {
    /// Number of the first map page among the units of the drive.
    first: u32,
    copies: Copies,
    homes: Vec<Home>,
    /// Homes of each die, one a group of joined planes.
    groups: u32,
    dies: Vec<OfDie>,
    /// By plane: full blocks of the map.
    full: Vec<Vec<Block>>,
    is_map_block: Flags,
    queued: Flags,
    writing: Flags,
    reading: Flags,
    /// Units of a program of one plane: a home with fewer waits, unless a request waits for it.
    worth: usize,
    /// Map pages in all queues.
    waiting: usize,
    named: VecDeque<Job>,
}

impl State for Area {
    fn exchange(&mut self, archive: &mut Archive<'_>) -> Result<()> {
        let Self {
            first: _,
            copies,
            homes,
            groups: _,
            dies,
            full,
            is_map_block: Flags(is_map_block),
            queued: Flags(queued),
            writing: Flags(writing),
            reading: Flags(reading),
            worth: _,
            waiting,
            named,
        } = self;
        archive.value(homes)?;
        archive.value(dies)?;
        archive.value(full)?;
        for flags in [is_map_block, queued, writing, reading] {
            archive.table(flags)?;
        }
        archive.value(waiting)?;
        archive.value(named)?;
        copies.exchange(archive)
    }
}

impl Area {
    /// Space on flash that a map of `pages` pages needs, with so many pages of parity in stripes.
    pub(super) fn own(
        geometry: &Geometry,
        planes_per_program: u32,
        pages: u32,
        parity: u32,
    ) -> Own {
        let homes = geometry.planes() / planes_per_program;
        let of_home = pages.div_ceil(homes) * Copies::shares(parity);
        let blocks = of_home.div_ceil(geometry.units_per_block());
        let units = pages * Copies::of_each(parity);
        Own { units, blocks: 2 * blocks + 2, ..Own::NOTHING }
    }

    pub(super) fn new(page: &PageFtl, pages: u32, parity: u32) -> Self {
        let geometry = &page.geometry;
        let homes = geometry.planes() / page.joined;
        let copies = Copies::new(pages, parity, (homes, homes / geometry.dies));
        let pages = copies.all();
        Self {
            first: page.logical_units,
            copies,
            homes: (0..homes).map(|_| Home::default()).collect(),
            groups: homes / geometry.dies,
            dies: (0..geometry.dies).map(|_| OfDie::default()).collect(),
            full: vec![Vec::new(); geometry.planes() as usize],
            is_map_block: Flags::new(geometry.blocks()),
            queued: Flags::new(pages),
            writing: Flags::new(pages),
            reading: Flags::new(pages),
            worth: (page.pages_per_program * geometry.units_per_page) as usize,
            waiting: 0,
            named: VecDeque::new(),
        }
    }

    /// Copies of all pages of the map.
    pub(super) fn all(&self) -> u32 {
        self.copies.all()
    }

    /// A copy of a page of the map, as a unit of the drive.
    #[inline]
    pub(super) fn lpn(&self, copy: u32) -> Lpn {
        Lpn(self.first + copy)
    }

    /// Copies of a page of the map, as units of the drive.
    #[inline]
    pub(super) fn lpns(&self, page: u32) -> impl Iterator<Item = Lpn> + use<> {
        let first = self.first;
        self.copies.of_page(page).map(move |copy| Lpn(first + copy))
    }

    /// Copy of a page of the map that a unit is, if it is one.
    #[inline]
    pub(super) fn copy(&self, lpn: Lpn) -> Option<u32> {
        lpn.0.checked_sub(self.first)
    }

    /// Page of the map that a unit is a copy of, if it is one.
    #[inline]
    pub(super) fn page(&self, lpn: Lpn) -> Option<u32> {
        Some(self.copies.page(self.copy(lpn)?))
    }

    #[inline]
    fn home(&self, copy: u32) -> u32 {
        self.copies.home(copy)
    }

    /// Copy of a page that can be read, on a die that has not failed if there is one.
    pub(super) fn readable(&self, page: &PageFtl, number: u32) -> Option<Lpn> {
        let is_on_lost = |lpn: &Lpn| match page.lookup(*lpn) {
            Some(ppn) => self.copies.is_lost(page.geometry.die_of(page.geometry.block_of(ppn))),
            None => true,
        };
        let there = self.lpns(number).filter(|lpn| page.lookup(*lpn).is_some());
        there.min_by_key(is_on_lost)
    }

    /// Number of moves, from the first on, that go to one home.
    pub(super) fn of_one_home(&self, moves: &[Move]) -> usize {
        let home = |unit: &Move| self.copy(unit.lpn).map(|copy| self.home(copy));
        let first = moves.first().and_then(home);
        moves.iter().take_while(|unit| home(unit) == first).count()
    }

    fn die_of(&self, home: u32) -> Die {
        Die(home / self.groups)
    }

    /// Homes of a die, each with its group of planes.
    fn homes_of(&self, die: Die) -> impl Iterator<Item = (u32, u32)> + use<> {
        let groups = self.groups;
        (0..groups).map(move |group| (die.0 * groups + group, group))
    }

    /// Queues all copies of a page to be written, at any time or because a request waits for it.
    pub(super) fn queue(&mut self, page: u32, is_urgent: bool) {
        self.copies.of_page(page).for_each(|copy| self.queue_copy(copy, is_urgent));
    }

    /// Queues a copy of a page to be written.
    pub(super) fn queue_copy(&mut self, copy: u32, is_urgent: bool) {
        let home = self.home(copy);
        let queue = &mut self.homes[home as usize];
        if self.queued.insert(copy) {
            queue.queue.push_back(copy);
            self.waiting += 1;
        }
        queue.is_urgent |= is_urgent;
        if queue.is_urgent || queue.queue.len() >= self.worth {
            self.name(self.die_of(home));
        }
    }

    /// Has a page written now, if it is queued.
    pub(super) fn hurry_page(&mut self, page: u32) {
        for copy in self.copies.of_page(page) {
            if self.queued.has(copy) {
                self.queue_copy(copy, true);
            }
        }
    }

    /// Has all queued pages written now.
    pub(super) fn hurry(&mut self) {
        for home in 0..self.homes.len() {
            if !self.homes[home].queue.is_empty() {
                self.homes[home].is_urgent = true;
                self.name(self.die_of(home as u32));
            }
        }
    }

    /// Map pages that wait to be written.
    pub(super) fn waiting(&self) -> usize {
        self.waiting
    }

    /// Whether the newest version of a page is yet to be written, in any copy.
    pub(super) fn is_pending(&self, page: u32) -> bool {
        let is_pending = |copy| self.queued.has(copy) || self.writing.has(copy);
        self.copies.of_page(page).any(is_pending)
    }

    /// Refuses the failure of a die without which the map has no room.
    pub(super) fn can_lose(&self, die: Die) -> Result<()> {
        self.copies.can_lose(die)
    }

    /// A die has failed: what was on it, or was to be, goes to other homes.
    pub(super) fn lose(&mut self, page: &PageFtl, die: Die) {
        if self.copies.is_lost(die) {
            return;
        }
        self.copies.lose(die);
        self.dies[die.0 as usize].draining = Draining::default();
        let planes = page.geometry.plane(die, 0).0;
        for plane in planes..planes + page.geometry.planes_per_die {
            self.full[plane as usize].clear();
        }
        let homes: Vec<u32> = self.homes_of(die).map(|(home, _)| home).collect();
        for home in homes {
            let Home { queue, is_urgent } = std::mem::take(&mut self.homes[home as usize]);
            self.waiting -= queue.len();
            for copy in queue {
                self.queued.remove(copy);
                self.queue_copy(copy, is_urgent);
            }
        }
        self.move_homes(page);
    }

    /// Has all copies written that are not at their homes.
    pub(super) fn move_homes(&mut self, page: &PageFtl) {
        let is_away = |&copy: &u32| {
            let place = page.lookup(self.lpn(copy));
            let die = place.map(|ppn| page.geometry.die_of(page.geometry.block_of(ppn)));
            die.is_some_and(|die| die != self.die_of(self.home(copy)))
        };
        let away: Vec<u32> = (0..self.copies.all()).filter(is_away).collect();
        self.copies.note_moving(away.into_iter());
        self.go_on_moving();
    }

    /// Queues copies that are to be written at new homes: a program of each home at a time, so that
    /// requests that wait for the map need not wait for all of them.
    fn go_on_moving(&mut self) {
        let most = self.worth * self.homes.len();
        loop {
            let Some(copy) = self.copies.next_moving() else { return };
            self.queue_copy(copy, true);
            if self.waiting >= most {
                return;
            }
        }
    }

    /// Adds the places of the other copies of the page of the map at a place. Returns how many of
    /// all copies may be unreadable.
    pub(super) fn others(&self, page: &PageFtl, place: Ppn, others: &mut Vec<Ppn>) -> u32 {
        let copy = self.copy(Lpn(page.owner[place.0 as usize]));
        let Some(copy) = copy.filter(|&copy| copy < self.all()) else { return 0 };
        let (number, first) = (self.copies.page(copy), others.len());
        others.extend(self.lpns(number).filter_map(|lpn| page.lookup(lpn)));
        others.retain(|&other| other != place);
        (others.len() - first) as u32
    }

    fn name(&mut self, die: Die) {
        let of_die = &mut self.dies[die.0 as usize];
        if !std::mem::replace(&mut of_die.is_named, true) {
            self.named.push_back(Job::of(die));
        }
    }

    /// Next job with work on the map; each is returned once.
    #[inline]
    pub(super) fn named(&mut self) -> Option<Job> {
        let job = self.named.pop_front()?;
        self.dies[job.0 as usize].is_named = false;
        Some(job)
    }

    /// Starts a read of a page for its entries. False if such a read is already in flight.
    pub(super) fn begin_read(&mut self, page: u32) -> bool {
        self.reading.insert(page)
    }

    /// Ends the read of a page. True if one was in flight.
    pub(super) fn end_read(&mut self, page: u32) -> bool {
        self.reading.remove(page)
    }

    /// Subject of a die's last step.
    #[inline]
    pub(super) fn phase(&mut self, die: Die) -> &mut Phase {
        &mut self.dies[die.0 as usize].phase
    }

    /// Free blocks of each plane that are kept for the map.
    fn kept(&self, page: &PageFtl, die: Die, group: u32) -> u32 {
        planes_of(page, die, group)
            .map(|plane| page.free.claimed(plane, Use::Map))
            .min()
            .unwrap_or(0)
    }

    /// Whether a group of planes is to be collected: otherwise it would soon have no place for
    /// pages.
    fn is_short(&self, page: &PageFtl, die: Die, group: u32) -> bool {
        // One that is to leave goes when its plane can do without.
        let is_doomed = |block: &Block| {
            page.retirement.is_doomed(*block) && page.can_spare(page.geometry.plane_of(*block))
        };
        let full = || planes_of(page, die, group).flat_map(|plane| &self.full[plane.0 as usize]);
        (self.kept(page, die, group) <= 1 && full().next().is_some()) || full().any(is_doomed)
    }

    /// Whether a home has enough pages for a program, or pages that a request waits for.
    fn is_due(&self, home: u32) -> bool {
        let Home { queue, is_urgent } = &self.homes[home as usize];
        !queue.is_empty() && (*is_urgent || queue.len() >= self.worth)
    }

    /// Whether a die has work on the map.
    pub(super) fn wants(&self, page: &PageFtl, die: Die) -> bool {
        let draining = &self.dies[die.0 as usize].draining;
        !(draining.victims.is_empty() && draining.drained.is_empty())
            || self
                .homes_of(die)
                .any(|(home, group)| self.is_due(home) || self.is_short(page, die, group))
    }

    /// The next pages of the map that collection moves, or the blocks that it erases.
    pub(super) fn collect(
        &mut self,
        page: &PageFtl,
        die: Die,
        moves: &mut Vec<Move>,
        blocks: &mut Vec<Block>,
    ) {
        let row = page.row_units as usize;
        let mut draining = std::mem::take(&mut self.dies[die.0 as usize].draining);
        while draining.drained.is_empty() || !moves.is_empty() {
            if draining.victims.is_empty() && !self.pick(page, die, &mut draining, moves) {
                break;
            }
            draining.gather(&page.geometry, &page.map, &page.owner, row, moves);
            if moves.len() == row {
                break;
            }
        }
        if moves.is_empty() && !draining.drained.is_empty() {
            draining.erase(&page.geometry, page.joined as usize, blocks);
        }
        self.dies[die.0 as usize].draining = draining;
    }

    /// Picks the emptiest full block of each plane of a group that is short; to fill a row that was
    /// begun with `moves`, of the same group. True if there is one.
    fn pick(&mut self, page: &PageFtl, die: Die, into: &mut Draining, moves: &[Move]) -> bool {
        let group = match moves.first() {
            Some(first) => self.copy(first.lpn).map(|copy| self.home(copy) % self.groups),
            None => self
                .homes_of(die)
                .map(|(_, group)| group)
                .find(|&group| self.is_short(page, die, group)),
        };
        let Some(group) = group else { return false };
        into.begin();
        let valid = |block: &Block| {
            (!page.retirement.is_doomed(*block), page.candidates.word(*block).valid())
        };
        for plane in planes_of(page, die, group) {
            let full = &mut self.full[plane.0 as usize];
            let least = (0..full.len()).min_by_key(|&i| (valid(&full[i]), full[i].0));
            let Some(least) = least else { continue };
            let has_gain = page.candidates.word(full[least]).valid()
                < page.geometry.units_per_block()
                || page.retirement.is_doomed(full[least]);
            if moves.is_empty() || has_gain {
                into.victims.push(full.swap_remove(least));
            }
        }
        !into.victims.is_empty()
    }

    /// Lists the next pages of the map to be written on a die, of one home: their old versions are
    /// read first.
    pub(super) fn write(&mut self, page: &PageFtl, die: Die, moves: &mut Vec<Move>) {
        let most = page.row_units as usize;
        let due = self
            .homes_of(die)
            .filter(|&(home, group)| self.is_due(home) && self.may_write(page, die, group));
        let Some((home, _)) = due.max_by_key(|&(home, _)| self.homes[home as usize].queue.len())
        else {
            return;
        };
        while moves.len() < most
            && let Some(written) = self.homes[home as usize].queue.pop_front()
        {
            self.waiting -= 1;
            self.queued.remove(written);
            self.writing.insert(written);
            let lpn = self.lpn(written);
            moves.push(Move { lpn, from: Ppn(page.map[lpn.0 as usize]) });
        }
        let home = &mut self.homes[home as usize];
        home.is_urgent &= !home.queue.is_empty();
    }

    /// Learns that a new version of a copy is on flash.
    pub(super) fn written(&mut self, copy: u32) {
        self.writing.remove(copy);
        self.go_on_moving();
    }

    /// Whether new versions have a place in a group: the last block kept is for collection.
    fn may_write(&self, page: &PageFtl, die: Die, group: u32) -> bool {
        let is_open = page.frontiers[page.own_frontier(die, group)].open;
        self.kept(page, die, group) + u32::from(is_open) > 1
    }

    /// Frontier for pages of the map that a job moves or writes, in the home of `lpn`, which is
    /// opened if need be; `None` where there is no room now.
    pub(super) fn frontier(
        &mut self,
        page: &mut PageFtl,
        job: Job,
        lpn: Lpn,
    ) -> Option<(Die, usize)> {
        let home = self.home(self.copy(lpn)?);
        let (die, group) = (self.die_of(home), home % self.groups);
        let index = page.own_frontier(die, group);
        if self.dies[job.0 as usize].phase == Phase::Write && !self.may_write(page, die, group) {
            return None;
        }
        if !page.frontiers[index].open {
            if self.kept(page, die, group) == 0 {
                return None;
            }
            page.open(index, die, Pick::Kept(Use::Map));
            for &block in &page.frontiers[index].blocks[..page.joined as usize] {
                self.is_map_block.insert(block.0);
            }
        }
        Some((die, index))
    }

    /// Takes in a full block of the map.
    pub(super) fn filled(&mut self, plane: Plane, block: Block) {
        let die = Die(plane.0 * self.dies.len() as u32 / self.full.len() as u32);
        if !self.copies.is_lost(die) {
            self.full[plane.0 as usize].push(block);
        }
    }

    /// Takes in a block of the map that was found after a power cut, and takes nothing more.
    pub(super) fn found(&mut self, page: &PageFtl, block: Block) {
        self.is_map_block.insert(block.0);
        self.filled(page.geometry.plane_of(block), block);
    }

    /// Takes in the open blocks of the map that were found after a power cut: those of the
    /// frontiers.
    pub(super) fn found_open(&mut self, page: &PageFtl) {
        for die in (0..page.geometry.dies).map(Die) {
            for group in 0..self.groups {
                let frontier = &page.frontiers[page.own_frontier(die, group)];
                if frontier.open {
                    for &block in &frontier.blocks[..page.joined as usize] {
                        self.is_map_block.insert(block.0);
                    }
                }
            }
        }
    }

    /// Whether a block holds pages of the map.
    pub(super) fn has(&self, block: Block) -> bool {
        self.is_map_block.has(block.0)
    }

    /// Takes back an erased block. True if it was one of the map, and its plane has one to keep
    /// again.
    pub(super) fn erased(&mut self, block: Block) -> bool {
        self.is_map_block.remove(block.0)
    }
}

/// Planes of a group of a die.
fn planes_of(page: &PageFtl, die: Die, group: u32) -> impl Iterator<Item = Plane> + use<> {
    let first = page.geometry.plane(die, group * page.joined).0;
    (first..first + page.joined).map(Plane)
}
