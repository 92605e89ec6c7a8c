//! Memory and time of a learned map: bytes by the shape of the writes, and a read for each wrong
//! prediction.

use crate::drive;

use base::rng::Rng;
use ssd::build::{chips, context};
use ssd::ftl::{Access, Ftl, Known, Lpn, ROSTER, Untimed};
use ssd::precondition::Precondition;
use ssd::request::{Op, Request};
use ssd::{Ssd, Step};

/// A drive of one plane with rows of one unit: 32,768 logical units.
const PLAIN: [&str; 7] = [
    "drive.channels=1",
    "drive.dies_per_channel=1",
    "chip.geometry.planes_per_die=1",
    "chip.geometry.page_bytes=4096",
    "chip.geometry.pages_per_block=64",
    "chip.geometry.blocks_per_plane=1024",
    "ftl.overprovisioning=1.0",
];
/// Four dies of two planes, rows of 16 units.
const WIDE: [&str; 4] = [
    "chip.geometry.page_bytes=32768",
    "chip.geometry.pages_per_block=32",
    "chip.geometry.blocks_per_plane=64",
    "ftl.overprovisioning=1.0",
];

fn ftl(sets: &[&str]) -> Box<dyn Ftl> {
    let config = drive::config(&[&["ftl.name=learned"], sets].concat());
    let mut choice = config.ftl.choice();
    let context = context(&config, &chips(&config).unwrap()).unwrap();
    (choice.resolve(ROSTER, "ftl").unwrap().build)(context, &choice.params).unwrap()
}

/// Bytes of the segments and their directory.
fn bytes(ftl: &dyn Ftl) -> u64 {
    ftl.ram().iter().find(|ram| ram.name == "map_segments").unwrap().bytes
}

fn fill(ftl: &mut dyn Ftl) {
    let all: Vec<Lpn> = (0..ftl.facts().logical_units).map(Lpn).collect();
    ftl.write_untimed(&all, &mut Untimed::new(4)).unwrap();
}

/// Overwrites all units `times` over, in runs of `run` that begin anywhere.
fn overwrite(ftl: &mut dyn Ftl, run: u32, times: u64) {
    let units = ftl.facts().logical_units;
    let mut rng = Rng::stream(5, "runs");
    let mut untimed = Untimed::new(4);
    for _ in 0..times * u64::from(units / run) {
        let first = rng.below(u64::from(units / run)) as u32 * run;
        let lpns: Vec<Lpn> = (first..first + run).map(Lpn).collect();
        ftl.write_untimed(&lpns, &mut untimed).unwrap();
    }
}

/// In order, a group of 256 units is one segment of 8 bytes, with 8 in the directory: over blocks,
/// planes and dies.
#[test]
fn writes_in_order_make_one_segment_for_each_group() {
    for sets in [&PLAIN[..], &WIDE[..]] {
        let mut ftl = ftl(sets);
        fill(&mut *ftl);
        let groups = u64::from(ftl.facts().logical_units.div_ceil(256));
        assert_eq!(bytes(&*ftl), 16 * groups, "{sets:?}");
        fill(&mut *ftl);
        // Once more: but for a block out of turn it is the same.
        assert_eq!(ftl.counts().moved_units, 0, "{sets:?}");
        assert!(bytes(&*ftl) <= 16 * groups + 16, "{sets:?}");
        assert_eq!(ftl.counts().map.mispredictions, 0);
    }
}

/// At random, every unit becomes a segment: 8 bytes, as an entry in the cache of `dftl`, and never
/// more once the map is compacted.
#[test]
fn random_writes_take_8_bytes_for_each_unit() {
    let mut ftl = ftl(&[&PLAIN[..], &["ftl.compaction_units=32768"]].concat());
    fill(&mut *ftl);
    overwrite(&mut *ftl, 1, 8);
    let units = u64::from(ftl.facts().logical_units);
    let least = (0.95 * 8.0 * units as f64) as u64;
    let most = 8 * units + 8 * units.div_ceil(256);
    assert!((least..=most).contains(&bytes(&*ftl)), "{}: {least} to {most}", bytes(&*ftl));
}

/// The longer the runs, the smaller the map: a segment takes what collection keeps together.
#[test]
fn the_map_shrinks_with_the_length_of_runs() {
    let taken = [1, 4, 16, 64, 256].map(|run| {
        let mut ftl = ftl(&[&WIDE[..], &["ftl.compaction_units=10000"]].concat());
        fill(&mut *ftl);
        overwrite(&mut *ftl, run, 6);
        bytes(&*ftl) as f64 / f64::from(ftl.facts().logical_units)
    });
    assert!(taken.is_sorted_by(|more, less| *more > 1.3 * less), "{taken:?}");
    assert!(taken[0] / taken[4] > 20.0, "{taken:?}");
}

/// With gamma 0 the map is never wrong, and with the same writes a larger one takes less memory.
#[test]
fn gamma_trades_memory_for_wrong_predictions() {
    let mut seen = Vec::new();
    for gamma in ["ftl.gamma=0", "ftl.gamma=1", "ftl.gamma=4", "ftl.gamma=16"] {
        let mut ftl = ftl(&[&WIDE[..], &[gamma, "ftl.compaction_units=10000"]].concat());
        fill(&mut *ftl);
        let mut rng = Rng::stream(6, "gaps");
        // In order with gaps: two units in three of a stretch.
        for _ in 0..400 {
            let first = rng.below(u64::from(ftl.facts().logical_units) - 600) as u32;
            let units = (first..first + 600).filter(|_| rng.chance(0.66)).map(Lpn);
            let units: Vec<Lpn> = units.collect();
            ftl.write_untimed(&units, &mut Untimed::new(4)).unwrap();
        }
        ftl.start_run(None);
        for lpn in (0..ftl.facts().logical_units).map(Lpn) {
            let map = ftl.map_on_flash_mut().unwrap();
            if let Known::Mispredicted(_) = map.access(lpn, 1, Access::Read) {
                assert_eq!(map.map_read(lpn, 1, Access::Read), 1);
            }
        }
        let map = ftl.counts().map;
        assert_eq!(map.mispredictions, map.misses);
        assert_eq!(map.hits + map.misses, u64::from(ftl.facts().logical_units));
        seen.push((bytes(&*ftl), map.mispredictions));
    }
    assert_eq!(seen[0].1, 0, "{seen:?}");
    assert!(seen[3].1 > seen[0].1, "{seen:?}");
    assert!(seen.is_sorted_by(|more, less| more.0 >= less.0), "{seen:?}");
}

/// A wrong prediction costs one flash read, and its time.
#[test]
fn each_wrong_prediction_is_one_more_read() {
    let sets = ["ftl.name=learned", "ftl.gamma=16", "ftl.overprovisioning=0.9"];
    let mut ssd: Ssd = drive::small(&sets);
    drive::prepare(&mut ssd, Precondition::Steady);
    ssd.start(0);
    let units = ssd.capacity_bytes() / 4096;
    let mut times = [Vec::new(), Vec::new()];
    for lpn in 0..units {
        let before = (ssd.flash_counts().reads, ssd.ftl_counts().map.mispredictions);
        let now = ssd.now();
        ssd.submit(Request::new(Op::Read, 4096 * lpn, 4096), 0, now);
        let Step::Completed(_) = ssd.step() else { panic!("lost") };
        let reads = ssd.flash_counts().reads - before.0;
        let wrong = ssd.ftl_counts().map.mispredictions - before.1;
        assert_eq!(reads, 1 + wrong, "unit {lpn}");
        times[wrong as usize].push(ssd.now().since(now).us());
    }
    let [right, wrong] = times.map(|times| times.iter().sum::<f64>() / times.len() as f64);
    assert!((1.7..2.0).contains(&(wrong / right)), "{wrong} and {right} us");
}

#[test]
fn gamma_has_a_limit() {
    let config = drive::config(&["ftl.name=learned", "ftl.gamma=65"]);
    let error = Ssd::new(&config, 1 << 30).err().unwrap();
    assert_eq!(error.place, "ftl.gamma");
    assert!(error.to_string().contains("0 to 64"), "{error}");
}
