//! Tests of the read cache: every policy against a plain model, hit rates of independent reads
//! against closed forms, and what a scan does to each policy.

use super::policy::Policy;
use super::*;
use base::rng::Rng;
use proptest::prelude::*;
use std::collections::VecDeque;

/// A policy written down plainly: units in lists, searched from end to end.
enum Plain {
    Lru(VecDeque<u32>),
    Clock { ring: Vec<Option<(u32, bool)>>, hand: usize },
    Arc { capacity: usize, aim: usize, lists: [VecDeque<u32>; 4] },
}

/// Lists of `Plain::Arc`, newest first: `T1`, `T2`, `B1` and `B2` of the paper.
const T1: usize = 0;
const T2: usize = 1;
const B1: usize = 2;
const B2: usize = 3;

impl Plain {
    fn new(policy: CachePolicy, capacity: usize) -> Self {
        match policy {
            CachePolicy::Lru => Self::Lru(VecDeque::new()),
            CachePolicy::Clock => Self::Clock { ring: vec![None; capacity], hand: 0 },
            CachePolicy::Arc => Self::Arc { capacity, aim: 0, lists: Default::default() },
        }
    }

    fn units(&self) -> Vec<u32> {
        let mut units: Vec<u32> = match self {
            Self::Lru(order) => order.iter().copied().collect(),
            Self::Clock { ring, .. } => ring.iter().flatten().map(|held| held.0).collect(),
            Self::Arc { lists, .. } => lists[T1].iter().chain(&lists[T2]).copied().collect(),
        };
        units.sort_unstable();
        units
    }

    fn forget(&mut self, unit: u32) {
        match self {
            Self::Lru(order) => order.retain(|&other| other != unit),
            Self::Clock { ring, .. } => {
                for held in ring.iter_mut().filter(|held| held.is_some_and(|(u, _)| u == unit)) {
                    *held = None;
                }
            }
            Self::Arc { lists, .. } => {
                lists[..=T2].iter_mut().for_each(|list| list.retain(|&other| other != unit));
            }
        }
    }

    /// A read of a unit, which comes in if it was not there; `free` is the slot that a cache with
    /// room would use.
    fn read(&mut self, unit: u32, free: Option<usize>) {
        match self {
            Self::Lru(order) => {
                if !order.contains(&unit) && free.is_none() {
                    order.pop_back();
                }
                order.retain(|&other| other != unit);
                order.push_front(unit);
            }
            Self::Clock { ring, hand } => {
                let held = ring.iter_mut().flatten().find(|held| held.0 == unit);
                if let Some(held) = held {
                    held.1 = true;
                    return;
                }
                let slot = free.unwrap_or_else(|| {
                    loop {
                        let slot = *hand;
                        *hand = (slot + 1) % ring.len();
                        match &mut ring[slot] {
                            Some((_, mark)) if *mark => *mark = false,
                            _ => return slot,
                        }
                    }
                });
                ring[slot] = Some((unit, false));
            }
            Self::Arc { capacity, aim, lists } => {
                read_arc(*capacity, aim, lists, unit, free.is_some());
            }
        }
    }
}

/// Figure 4 of Megiddo and Modha, FAST'03, for a cache that may have room after a drop.
fn read_arc(
    capacity: usize,
    aim: &mut usize,
    lists: &mut [VecDeque<u32>; 4],
    unit: u32,
    has_room: bool,
) {
    fn replace(aim: usize, lists: &mut [VecDeque<u32>; 4], of_b2: bool) {
        let once = lists[T1].len();
        let (from, to) = match once > 0 && ((of_b2 && once == aim) || once > aim) {
            true => (T1, B1),
            false if lists[T2].is_empty() => (T1, B1),
            false => (T2, B2),
        };
        let gone = lists[from].pop_back().unwrap();
        lists[to].push_front(gone);
    }
    let at = lists.iter().position(|list| list.contains(&unit));
    let [t1, t2, b1, b2] = [0, 1, 2, 3].map(|list| lists[list].len());
    lists.iter_mut().for_each(|list| list.retain(|&other| other != unit));
    match at {
        Some(T1 | T2) => lists[T2].push_front(unit),
        Some(B1) => {
            *aim = capacity.min(*aim + (b2 / b1).max(1));
            if !has_room {
                replace(*aim, lists, false);
            }
            lists[T2].push_front(unit);
        }
        Some(_) => {
            *aim -= (b1 / b2).max(1).min(*aim);
            if !has_room {
                replace(*aim, lists, true);
            }
            lists[T2].push_front(unit);
        }
        None => {
            if t1 + b1 >= capacity {
                if t1 < capacity {
                    lists[B1].pop_back();
                    if !has_room {
                        replace(*aim, lists, false);
                    }
                } else {
                    lists[T1].pop_back();
                }
            } else {
                if t1 + t2 + b1 + b2 >= 2 * capacity {
                    lists[B2].pop_back();
                }
                if !has_room {
                    replace(*aim, lists, false);
                }
            }
            lists[T1].push_front(unit);
        }
    }
}

/// A read of a unit; true if it was a hit.
fn read(cache: &mut ReadCache, unit: u32) -> bool {
    let is_hit = cache.read(Lpn(unit)).is_some();
    if !is_hit {
        cache.take(Lpn(unit), false);
    }
    is_hit
}

proptest! {
    /// Each policy holds the units of its plain model after any reads, drops and losses of all.
    #[test]
    fn policies_are_their_models(
        capacity in 1u32..12,
        steps in prop::collection::vec((0u32..30, 0u32..40), 1..500),
    ) {
        for policy in CachePolicy::ALL {
            let mut cache = ReadCache::new(policy, capacity);
            let mut plain = Plain::new(policy, capacity as usize);
            for &(unit, what) in &steps {
                match what {
                    0..4 => {
                        let has = plain.units().contains(&unit);
                        prop_assert_eq!(cache.changed(Lpn(unit), Time(1)), has);
                        plain.forget(unit);
                    }
                    4 if unit == 0 => {
                        cache.clear();
                        plain = Plain::new(policy, capacity as usize);
                    }
                    _ => {
                        let free = cache.free.last().map(|&slot| slot as usize);
                        prop_assert_eq!(read(&mut cache, unit), plain.units().contains(&unit));
                        plain.read(unit, free);
                    }
                }
                let held: Vec<u32> = (0..30).filter(|&unit| cache.has(Lpn(unit))).collect();
                prop_assert_eq!(&held, &plain.units(), "{:?}", policy);
                prop_assert_eq!(held.len() as u32, cache.held());
                prop_assert!(cache.held() <= capacity);
            }
        }
    }

    /// Every unit that came in is held, was evicted or was dropped; every unit read ahead was used,
    /// left unused, or waits for its use.
    #[test]
    fn counts_add_up(
        capacity in 1u32..9,
        steps in prop::collection::vec((0u32..20, 0u32..6), 1..300),
    ) {
        for policy in CachePolicy::ALL {
            let mut cache = ReadCache::new(policy, capacity);
            let (mut taken, mut hits) = (0, 0);
            for &(unit, what) in &steps {
                match what {
                    0 => {
                        cache.changed(Lpn(unit), Time(1));
                    }
                    1 | 2 if !cache.has(Lpn(unit)) => {
                        cache.take(Lpn(unit), true);
                        taken += 1;
                    }
                    _ => {
                        let is_hit = read(&mut cache, unit);
                        hits += u64::from(is_hit);
                        taken += u64::from(!is_hit);
                    }
                }
                let ReadCacheCounts { ahead_units, ahead_used, ahead_unused, .. } = cache.counts;
                let waiting = cache.slots.iter().filter(|held| held.is_ahead).count() as u64;
                prop_assert_eq!(ahead_units, ahead_used + ahead_unused + waiting);
                let gone = cache.counts.evicted_units + cache.counts.dropped_units;
                prop_assert_eq!(taken, gone + u64::from(cache.held()));
                prop_assert_eq!(cache.counts.hits, hits);
            }
        }
    }
}

/// Independent reads of `units` units, the `i`th of them as often as `1 / i ^ exponent` says.
struct Zipf {
    chances: Vec<f64>,
    sums: Vec<f64>,
}

impl Zipf {
    fn new(units: u32, exponent: f64) -> Self {
        let weights: Vec<f64> = (1..=units).map(|i| f64::from(i).powf(-exponent)).collect();
        let all: f64 = weights.iter().sum();
        let chances: Vec<f64> = weights.iter().map(|weight| weight / all).collect();
        let sum = |sum: &mut f64, chance: &f64| {
            *sum += chance;
            Some(*sum)
        };
        let sums = chances.iter().scan(0.0, sum).collect();
        Self { chances, sums }
    }

    fn draw(&self, rng: &mut Rng) -> u32 {
        let at = rng.unit();
        (self.sums.partition_point(|&sum| sum < at) as u32).min(self.sums.len() as u32 - 1)
    }

    /// Hit rate of a cache of `capacity` units that holds a unit of rate `r` for the share
    /// `held(r t)` of the time, where `t` follows from the capacity.
    fn hit_rate(&self, capacity: f64, held: impl Fn(f64) -> f64) -> f64 {
        let units = |time: f64| self.chances.iter().map(|chance| held(chance * time)).sum::<f64>();
        let (mut low, mut high) = (0.0, 1.0);
        while units(high) < capacity {
            high *= 2.0;
        }
        for _ in 0..100 {
            let middle = 0.5 * (low + high);
            if units(middle) < capacity { low = middle } else { high = middle }
        }
        self.chances.iter().map(|chance| chance * held(chance * low)).sum()
    }
}

/// Share of the time in which LRU holds a unit (Che, Tung and Wang, 2002): that of a read within
/// the last `t`.
fn held_by_lru(reads: f64) -> f64 {
    1.0 - (-reads).exp()
}

/// Share of the time in which CLOCK holds a unit, in the manner of Che: the hand comes by every
/// `t`, and the unit stays for as many rounds in a row as have a read of it.
fn held_by_clock(reads: f64) -> f64 {
    let stays = reads * reads.exp();
    if stays.is_finite() { stays / (1.0 + stays) } else { 1.0 }
}

/// Measured hit rates, one for each seed.
fn hit_rates(policy: CachePolicy, zipf: &Zipf, capacity: u32, reads: u32) -> Vec<f64> {
    let of_seed = |seed: u64| {
        let mut rng = Rng::stream(seed, "zipf");
        let mut cache = ReadCache::new(policy, capacity);
        let mut hits =
            |reads: u32| (0..reads).filter(|_| read(&mut cache, zipf.draw(&mut rng))).count();
        hits(reads / 2);
        hits(reads) as f64 / f64::from(reads)
    };
    (1..=5).map(of_seed).collect()
}

/// Mean and 95 % interval of five figures (Student's t of four degrees of freedom).
fn interval(figures: &[f64]) -> (f64, f64) {
    let n = figures.len() as f64;
    let mean = figures.iter().sum::<f64>() / n;
    let squares: f64 = figures.iter().map(|figure| (figure - mean).powi(2)).sum();
    (mean, 2.776 * (squares / (n - 1.0) / n).sqrt())
}

/// LRU has the hit rate of Che's approximation, and CLOCK that of its own, within 1 %.
#[test]
fn independent_reads_have_the_hit_rates_of_closed_forms() {
    for (exponent, capacity) in [(0.8, 400), (1.0, 100), (1.0, 1000), (1.2, 200)] {
        let zipf = Zipf::new(10_000, exponent);
        let [lru, clock] =
            [held_by_lru, held_by_clock].map(|held| zipf.hit_rate(capacity.into(), held));
        for (policy, expected, source) in [
            (CachePolicy::Lru, lru, "sum of p (1 - e^(-p t)), Che 2002"),
            (CachePolicy::Clock, clock, "sum of p x / (1 + x), x = p t e^(p t) (derived)"),
        ] {
            let (mean, half) = interval(&hit_rates(policy, &zipf, capacity, 100_000));
            let what = format!("{policy:?}, {exponent}, {capacity}: {mean} +- {half}");
            println!(
                "validation | hit rate of {policy:?}, a = {exponent}, C = {capacity}, +- {half:.4} \
                 | {mean:.6} | {expected:.6} | 0.01 | {source}"
            );
            assert!(half < 0.01 * expected, "{what}: too few reads");
            assert!((mean - expected).abs() < 0.01 * expected, "{what}, not {expected}");
        }
    }
}

/// A scan of units that nobody reads again costs ARC less than LRU; without one it loses nothing.
#[test]
fn arc_withstands_a_scan() {
    let zipf = Zipf::new(10_000, 1.0);
    for (share, least) in [(0.0, 0.99), (0.5, 1.08)] {
        let of = |policy| {
            let mut rng = Rng::stream(1, "scan");
            let mut cache = ReadCache::new(policy, 500);
            let (mut hits, mut scanned) = (0, 10_000);
            for _ in 0..300_000 {
                if rng.chance(share) {
                    read(&mut cache, scanned);
                    scanned += 1;
                } else {
                    hits += u32::from(read(&mut cache, zipf.draw(&mut rng)));
                }
            }
            f64::from(hits)
        };
        let (lru, arc) = (of(CachePolicy::Lru), of(CachePolicy::Arc));
        assert!(arc > least * lru, "a scan of {share}: {arc} hits, LRU has {lru}");
    }
}

/// Data that were asked for before a change of their unit are known to be old, those asked for
/// behind it to be new.
#[test]
fn changes_are_told_from_reads_before_and_behind_them() {
    let mut cache = ReadCache::new(CachePolicy::Lru, 4);
    assert!(cache.is_unchanged(Lpn(7), Time(0)));
    cache.changed(Lpn(7), Time(100));
    for (since, is_unchanged) in [(0, false), (99, false), (100, false), (101, true)] {
        assert_eq!(cache.is_unchanged(Lpn(7), Time(since)), is_unchanged, "{since}");
    }
    cache.clear();
    assert!(cache.is_unchanged(Lpn(7), Time(0)));
}

/// A unit that was read ahead counts as read once by its first read: a scan that is read ahead
/// leaves ARC's units in place.
#[test]
fn the_first_read_of_a_unit_read_ahead_is_no_second_one() {
    let mut arc = super::arc::Arc::new(4);
    let hot: Vec<u32> = (0..2).map(|unit| arc.take(unit, Some(unit))).collect();
    hot.iter().for_each(|&slot| arc.hit(slot, false));
    for unit in 10..40 {
        let slot = arc.take(unit, (unit < 12).then_some(unit - 8));
        assert!(!hot.contains(&slot), "unit {unit} has taken a slot that was read again");
        arc.hit(slot, true);
    }
}
