//! FTLs of one's own: a good one passes conformance, and each broken promise is an error that names
//! the method, the call and the rule.

use base::error::assert_carries;
use base::params::Table;
use base::rng::Rng;
use base::{Error, Result};
use ssd::config::SsdConfig;
use ssd::conformance::{Check, small_config};
use ssd::ftl::own::{Candidate, Decide, Facts, HookFacts, Hooks, Logs, OwnFtl, View};
use ssd::ftl::{DieSet, Lpn, Move, Untimed};
use ssd::request::{Op, Request};
use ssd::{Ssd, Step};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The FTL that is shipped, and the mistake that it makes.
#[derive(Clone, Copy)]
struct Mistaken {
    logs: Logs,
    mistake: &'static str,
}

impl Decide for Mistaken {
    fn facts(&self) -> Facts {
        let streams = if self.mistake == "stream" { 2 } else { 1 };
        let collects = self.mistake == "collect";
        let picks = ["victim", "endless"].contains(&self.mistake);
        Facts { streams, picks, collects, is_told: true, ..Facts::default() }
    }

    fn stream(&mut self, _: &Arc<View>, _: Lpn, _: u8) -> Result<u32> {
        Ok(2)
    }

    fn place(
        &mut self,
        view: &Arc<View>,
        stream: u32,
        units: &[Lpn],
        dies: &DieSet,
    ) -> Result<Option<u32>> {
        match self.mistake {
            "place" => return Ok(view.full_blocks(0).next().or(view.next_block(0, Some(0)))),
            "refusal" => return Ok(None),
            "error" => return Err(Error::new("", "by my own hand")),
            _ => {}
        }
        self.logs.place(view, stream, units, dies)
    }

    fn place_moves(&mut self, view: &Arc<View>, die: u32, moves: &[Move]) -> Result<u32> {
        if self.mistake == "moves" {
            return Ok(u32::MAX);
        }
        self.logs.place_moves(view, die, moves)
    }

    fn victim(&mut self, view: &Arc<View>, die: u32) -> Result<Option<u32>> {
        Ok(match self.mistake {
            "victim" => view.open_block(die, Some(0)),
            "endless" => view.full_blocks(die).max_by_key(|&block| view.valid(block)),
            _ => view.emptiest(die),
        })
    }

    fn collect(&mut self, _: &Arc<View>, _: u32, _: bool) -> Result<bool> {
        Err(Error::new("", "by my own hand"))
    }

    fn twin(&self, _: &Arc<View>) -> Result<Box<dyn Decide>> {
        Ok(Box::new(*self))
    }
}

fn own(mistake: &'static str) -> OwnFtl {
    OwnFtl::whole("Logs", Table::new(), move || {
        Ok(Box::new(Mistaken { logs: Logs::default(), mistake }))
    })
}

/// Conformance of an FTL to its end.
fn checked(own: OwnFtl) -> Result<u64> {
    let mut check = Check::new(own, &[], 1)?;
    while !check.advance()? {}
    Ok(check.passed().requests)
}

#[test]
fn a_good_one_passes() {
    assert!(checked(own("")).unwrap() > 20_000);
}

#[test]
fn a_broken_promise_is_named() {
    for (mistake, call, rule) in [
        ("stream", "Logs.stream(", &["stream", "0 to 1"][..]),
        ("place", "Logs.place(0, (", &["free block", "room"]),
        ("refusal", "Logs.place(0, (", &["refused", "collection", "work"]),
        ("moves", "Logs.place_moves(", &["block", "0 to"]),
        ("victim", "Logs.victim(", &["full block", "die"]),
        ("endless", "Logs.victim(", &["internal work", "host waits"]),
    ] {
        let error = checked(own(mistake)).unwrap_err();
        assert!(error.place.starts_with(call), "{mistake}: {error}");
        assert_carries(&error.expected, rule);
    }
    // `collect` is asked with time alone.
    for (mistake, call) in [("error", "Logs.place(0, ("), ("collect", "Logs.collect(")] {
        let error = checked(own(mistake)).unwrap_err();
        assert_eq!(error.problem, "by my own hand", "{error}");
        assert!(error.place.starts_with(call), "{mistake}: {error}");
    }
}

/// The FTL that is shipped as an example is `page`, to the nanosecond, on dies of one plane and
/// without wear levelling.
#[test]
fn logs_on_all_dies_are_page() {
    for policy in ["greedy", "fifo", "cost_benefit", "random"] {
        for paced in [true, false] {
            let sets = [
                "chip.geometry.planes_per_die=1",
                "ftl.overprovisioning=0.4",
                "gc.background_free_blocks=5",
                &format!("gc.name={policy}"),
                &format!("gc.paced={paced}"),
            ];
            let done = |config: &SsdConfig| {
                let mut ssd = Ssd::new(config, 1 << 30).unwrap();
                let (units, bytes) = (ssd.capacity_bytes() / ssd.unit_bytes(), ssd.unit_bytes());
                let mut rng = Rng::stream(3, "writes");
                let (mut latencies, mut left, mut under_way) = (Vec::new(), 20 * units, 0);
                ssd.start(0);
                while left > 0 || under_way > 0 {
                    while left > 0 && under_way < 16 && ssd.has_room() {
                        // Half of the writes go to a tenth of the units.
                        let hot = rng.below(2) == 0;
                        let unit = rng.below(if hot { units / 10 } else { units });
                        let (now, op) =
                            (ssd.now(), if rng.below(4) == 0 { Op::Read } else { Op::Write });
                        let request =
                            Request { op, offset: unit * bytes, length: bytes, ..Request::FLUSH };
                        ssd.submit(request, 0, now);
                        (left, under_way) = (left - 1, under_way + 1);
                    }
                    if let Step::Completed(slot) = ssd.step() {
                        latencies.push((ssd.now(), ssd.now().since(ssd.completed(slot).arrival)));
                        under_way -= 1;
                    }
                    ssd.fault().unwrap();
                }
                (latencies, ssd.ftl_counts(), ssd.wear(), ssd.occupancy())
            };
            let config = small_config(&sets).unwrap();
            let page =
                done(&small_config(&[&sets[..], &["ftl.static_wear_delta=0"]].concat()).unwrap());
            let logs = done(&config.with_own_ftl(own("")).unwrap());
            assert!(page.1.reclaimed_blocks > 100, "{policy} {paced}: {:?}", page.1);
            assert_eq!(page.1, logs.1, "{policy} {paced}");
            assert!(page == logs, "{policy} {paced}");
        }
    }
}

/// Hooks that do what `page` does, but for a mistake.
#[derive(Clone)]
struct Greedy {
    mistake: &'static str,
    move_streams: u32,
    /// The block of each unit, as told.
    blocks: BTreeMap<u32, u32>,
    /// Programs of moved units of one stream, and of several.
    moved: [Arc<AtomicU64>; 2],
}

fn greedy(mistake: &'static str, move_streams: u32) -> Greedy {
    Greedy { mistake, move_streams, blocks: BTreeMap::new(), moved: Default::default() }
}

fn hooks(greedy: &Greedy) -> OwnFtl {
    let greedy = greedy.clone();
    OwnFtl::hooks("Greedy", Table::new(), move || Ok(Box::new(greedy.clone())))
}

impl Hooks for Greedy {
    fn facts(&self) -> HookFacts {
        HookFacts {
            streams: 2,
            move_streams: self.move_streams,
            has_stream: true,
            is_told: true,
            has_victim: true,
            has_collect: true,
        }
    }

    fn stream(&mut self, unit: Lpn, _: u8) -> Result<u32> {
        Ok(if self.mistake == "stream" { 2 } else { unit.0 % 2 })
    }

    fn stream_moves(&mut self, unit: Lpn) -> Result<u32> {
        if !self.blocks.contains_key(&unit.0) {
            return Err(Error::new("", format!("{} was not told of", unit.0)));
        }
        Ok(if self.mistake == "stream_moves" { 3 } else { unit.0 % self.move_streams })
    }

    fn victim(&mut self, _: u32, candidates: &[Candidate]) -> Result<u32> {
        let least = candidates.iter().min_by_key(|candidate| candidate.valid);
        Ok(least.filter(|_| self.mistake != "victim").map_or(u32::MAX, |least| least.block))
    }

    fn collect(&mut self, _: u32, free_blocks: u32, _: bool) -> Result<bool> {
        if self.mistake == "collect" {
            return Err(Error::new("", "by my own hand"));
        }
        Ok(free_blocks < 4)
    }

    fn programmed(&mut self, block: u32, units: &[Lpn], is_moved: bool) -> Result<()> {
        self.blocks.extend(units.iter().map(|unit| (unit.0, block)));
        if is_moved {
            let first = units[0].0 % self.move_streams;
            let are_mixed = units.iter().any(|unit| unit.0 % self.move_streams != first);
            self.moved[usize::from(are_mixed)].fetch_add(1, Ordering::Relaxed);
        }
        Ok(())
    }

    fn erased(&mut self, block: u32) -> Result<()> {
        match self.blocks.iter().find(|(_, held)| **held == block) {
            Some((unit, _)) => Err(Error::new("", format!("it holds unit {unit}"))),
            None => Ok(()),
        }
    }

    fn trimmed(&mut self, unit: Lpn) -> Result<()> {
        self.blocks.remove(&unit.0);
        Ok(())
    }

    fn twin(&self) -> Result<Box<dyn Hooks>> {
        Ok(Box::new(self.clone()))
    }
}

#[test]
fn hooks_are_held_to_their_rules() {
    for mistake in ["stream", "stream_moves", "victim", "collect"] {
        let error = checked(hooks(&greedy(mistake, 3))).unwrap_err();
        assert!(error.place.starts_with(&format!("Greedy.{mistake}(")), "{mistake}: {error}");
    }
}

/// Moved data are sorted by stream: whatever happens to a drive, no block is erased that holds the
/// newest data of a unit, and most programs of moved units are of one stream, though the drives
/// have hardly a block to spare.
#[test]
fn moved_data_are_sorted_by_stream() {
    for move_streams in [1, 2, 3] {
        let greedy = greedy("", move_streams);
        assert!(checked(hooks(&greedy)).unwrap() > 20_000);
        let [pure, mixed] = [0, 1].map(|i| greedy.moved[i].load(Ordering::Relaxed));
        assert!(pure > 1000 && mixed < pure, "{move_streams} streams: {pure} and {mixed}");
    }
}

/// A clone goes its own way: what one writes, the other does not see.
#[test]
fn clones_are_apart() {
    for own in [own(""), hooks(&greedy("", 3))] {
        let config = small_config(&["ftl.overprovisioning=0.9"]).unwrap();
        let config = config.with_own_ftl(own).unwrap();
        let mut ssd = Ssd::new(&config, 1 << 30).unwrap();
        let mut untimed = Untimed::new(ssd.dies());
        let units = ssd.ftl_mut().facts().logical_units;
        let write = |ssd: &mut Ssd, untimed: &mut Untimed, step: u32| {
            let lpns: Vec<Lpn> = (0..3 * units).map(|i| Lpn(i * step % units)).collect();
            ssd.ftl_mut().write_untimed(&lpns, untimed).unwrap();
            ssd.ftl_counts()
        };
        write(&mut ssd, &mut untimed, 7);
        let mut twin = ssd.twin(&config, 1 << 30).unwrap();
        let first = write(&mut ssd, &mut untimed, 11);
        assert_eq!(write(&mut twin, &mut untimed, 11), first);
        assert!(first.reclaimed_blocks > 0);
    }
}

/// An FTL that moves no block on demand cannot refresh: that is refused, and not left undone.
#[test]
fn refresh_needs_an_ftl_that_moves_blocks() {
    let build = |sets: &[&str]| {
        let config = small_config(sets).unwrap().with_own_ftl(own("")).unwrap();
        Ssd::new(&config, 1 << 30).map(drop)
    };
    for key in ["refresh.after_hours", "refresh.rber"] {
        let error = build(&[&format!("{key}=0.5")]).unwrap_err();
        assert_carries(error, &[key, "ftl.name", "Logs"]);
    }
    build(&["refresh.patrol_hours=1"]).unwrap();
}
