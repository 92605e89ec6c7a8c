//! Book of the zones: what the jobs of a file know of the zones, and which job may write where.
//!
//! Zones that are open for writing belong to all jobs, as in fio: random writers of one region
//! write to the same ones, sequential writers each go on in a zone of their own. Writes of a zone
//! reach the drive in order, so while a job has writes under way in a zone, no other job writes it;
//! one that wants it gets it next.

use super::{Rules, Zoning};
use ssd::Ssd;
use ssd::ftl::contract::ZoneState;
use std::sync::{Arc, Mutex};

/// State of a zone as the jobs know it.
#[derive(Debug, Clone, Copy, Default)]
pub struct Zone {
    /// Bytes from the zone's start to its write pointer.
    pub pointer: u64,
    /// Bytes from the zone's start that can be read.
    pub written: u64,
    /// Whether the zone is open, by a write or by a command.
    pub is_open: bool,
    /// Whether the zone takes no more commands.
    pub is_dead: bool,
    /// Whether the zone has a random write area, since it was emptied last.
    pub has_area: bool,
    /// Job that has opened the zone for writes, until the zone is full.
    opener: Option<u32>,
    /// Job whose writes are under way, and their number.
    holder: Option<u32>,
    under_way: u32,
    /// Job that writes the zone next.
    wanted: Option<u32>,
}

/// Answer to a job that wants to write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Room {
    /// The job may write this zone.
    Zone(u32),
    /// Other jobs must write first.
    Wait,
    /// All zones of the job are read-only or offline.
    None,
}

/// Book of all zones, shared by the jobs of a file.
#[derive(Debug)]
pub struct Book {
    /// Zones in order of address.
    pub zones: Vec<Zone>,
    /// Zones that are open for writes, in the order in which they were opened.
    open: Vec<u32>,
    /// Zones whose last writes are under way: the drive may still count them as open.
    closing: Vec<u32>,
    is_read: bool,
    /// First zone and one past the last of each job that may still write.
    regions: Vec<Option<(u32, u32)>>,
}

impl Book {
    /// Creates a book of empty zones: a run reads the drive's zones when it begins.
    pub fn new(zoning: &Zoning) -> Arc<Mutex<Self>> {
        let zones = vec![Zone::default(); zoning.layout.zones as usize];
        let (open, closing, regions) = (Vec::new(), Vec::new(), Vec::new());
        Arc::new(Mutex::new(Self { zones, open, closing, is_read: false, regions }))
    }

    /// Adds a job, and returns its number.
    pub fn join(&mut self, rules: &Rules) -> u32 {
        self.regions.push(rules.writes.then_some((rules.first, rules.end)));
        self.regions.len() as u32 - 1
    }

    /// Reads the zones of a drive, once.
    pub fn read(&mut self, ssd: &Ssd, unit: u64) {
        if std::mem::replace(&mut self.is_read, true) {
            return;
        }
        for (number, zone) in (0..).zip(&mut self.zones) {
            if let Some(view) = ssd.zone(number) {
                zone.pointer = u64::from(view.pointer) * unit;
                zone.written = u64::from(view.written) * unit;
                zone.is_open = view.state.is_open();
                zone.has_area = view.has_area;
                zone.is_dead = matches!(view.state, ZoneState::ReadOnly | ZoneState::Offline);
            }
        }
    }

    /// Whether a job writes no more.
    fn has_left(&self, job: u32) -> bool {
        self.regions[job as usize].is_none()
    }

    /// Number of zones that are open, by writes or by commands.
    pub fn open_zones(&self) -> u32 {
        self.zones.iter().filter(|zone| zone.is_open).count() as u32
    }

    /// Number of zones that have random write areas when the next command of a job reaches the
    /// drive: not those that are written to their `capacity`, but for writes of other jobs.
    pub fn areas(&self, job: u32, capacity: u64) -> usize {
        let has_one = |of: &&Zone| {
            of.has_area && (of.pointer < capacity || of.holder.is_some_and(|by| by != job))
        };
        self.zones.iter().filter(has_one).count()
    }

    /// Number of zones that are open for writes.
    pub fn written_zones(&self) -> usize {
        self.open.len()
    }

    /// Whether a job has writes under way in the zone.
    pub fn is_held(&self, zone: u32) -> bool {
        self.zones[zone as usize].holder.is_some()
    }

    /// Finds the zone in which `job` may write a request that was drawn for the zone `drawn`.
    pub fn room(&mut self, job: u32, rules: &Rules, drawn: u32) -> Room {
        self.unwant(job);
        let of = |zone: u32| &self.zones[zone as usize];
        let own = || self.open.iter().filter(|&&zone| of(zone).opener == Some(job)).count() as u32;
        // Requests of one job reach the drive in order, those of several do not.
        let closing = self.closing.iter().filter(|&&zone| of(zone).holder != Some(job)).count();
        let open = (self.open.len() + closing) as u32;
        let has_room = (rules.most_open == 0 || open < rules.most_open)
            && (rules.most_own == 0 || own() < rules.most_own);
        let is_left = |zone: u32| of(zone).opener.is_some_and(|by| self.has_left(by));
        let is_free = |zone: u32| {
            let of = of(zone);
            !of.is_dead && of.opener.is_none() && of.holder.is_none_or(|holder| holder == job)
        };
        let region = rules.first..rules.end;
        let chosen = if rules.is_random {
            let is_open = of(drawn).opener.is_some();
            let mut shared = self.open.iter().filter(|zone| region.contains(zone));
            if is_open || (has_room && !of(drawn).is_dead) {
                Some(drawn)
            } else if let count @ 1.. = shared.clone().count() {
                shared.nth(drawn as usize % count).copied()
            } else {
                rules.find(drawn, |zone| has_room && !of(zone).is_dead)
            }
        } else if of(drawn).opener == Some(job) {
            Some(drawn)
        } else {
            rules.find(drawn, |zone| is_left(zone) || (has_room && is_free(zone)))
        };
        let Some(zone) = chosen else {
            return if region.clone().all(|zone| of(zone).is_dead) {
                Room::None
            } else {
                Room::Wait
            };
        };
        let of = &mut self.zones[zone as usize];
        if of.holder.is_none_or(|holder| holder == job) && of.wanted.is_none_or(|by| by == job) {
            return Room::Zone(zone);
        }
        if of.opener.is_some() {
            of.wanted = of.wanted.or(Some(job));
        }
        Room::Wait
    }

    /// Takes back the wish of a job for a zone.
    fn unwant(&mut self, job: u32) {
        for &zone in &self.open {
            let of = &mut self.zones[zone as usize];
            of.wanted = of.wanted.filter(|&by| by != job);
        }
    }

    /// Opens a zone for writes, if it is not open, and notes a command of the job under way.
    pub fn hold(&mut self, job: u32, zone: u32) {
        let opener = self.zones[zone as usize].opener;
        let is_taken = opener.is_some_and(|by| !self.has_left(by));
        let of = &mut self.zones[zone as usize];
        (of.holder, of.wanted) = (Some(job), None);
        of.under_way += 1;
        if opener.is_none() {
            self.open.push(zone);
            self.closing.retain(|&other| other != zone);
        }
        if !is_taken {
            of.opener = Some(job);
        }
    }

    /// Notes that a command of the zone's holder is complete.
    pub fn completed(&mut self, zone: u32) {
        let of = &mut self.zones[zone as usize];
        of.under_way -= 1;
        if of.under_way == 0 {
            of.holder = None;
            self.closing.retain(|&other| other != zone);
        }
    }

    /// Ends the writing of a zone.
    pub fn shut(&mut self, zone: u32) {
        let of = &mut self.zones[zone as usize];
        if of.opener.take().is_some() {
            of.wanted = None;
            if of.holder.is_some() {
                self.closing.push(zone);
            }
            self.open.retain(|&other| other != zone);
        }
    }

    /// Ends the writing of a job: zones that no other job can write are open no more.
    pub fn leave(&mut self, job: u32) {
        self.unwant(job);
        self.regions[job as usize] = None;
        let left = self.open.iter().copied().filter(|&zone| {
            !self.regions.iter().flatten().any(|&(first, end)| (first..end).contains(&zone))
        });
        for zone in left.collect::<Vec<_>>() {
            self.shut(zone);
        }
    }
}
