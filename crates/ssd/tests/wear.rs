//! Wear levelling: what it promises, with it and without.

mod drive;

use base::rng::Rng;
use ssd::ftl::{Lpn, Untimed};

/// Overwrites a twentieth of the drive only, so that most blocks would never be erased: the
/// spread of cycles after `rounds` overwrites of that part, and write amplification.
fn spread(sets: &[&str], rounds: u64) -> (u32, u32, f64) {
    let mut ssd = drive::small(sets);
    let dies = ssd.dies();
    let ftl = ssd.ftl_mut();
    let units = u64::from(ftl.logical_units());
    let mut untimed = Untimed::new(dies);
    let row = ftl.row_units();
    for first in (0..units).step_by(row as usize) {
        let lpns: Vec<Lpn> =
            (first..units.min(first + u64::from(row))).map(|unit| Lpn(unit as u32)).collect();
        ftl.write_untimed(&lpns, &mut untimed).unwrap();
    }
    ftl.start_run(0);
    let mut rng = Rng::stream(4, "hot");
    let hot = units / 20;
    ftl.overwrite_untimed(hot * rounds, &mut || Lpn(rng.below(hot) as u32), &mut untimed).unwrap();
    let wear = ftl.wear();
    (wear.min, wear.max, ftl.counts().write_amplification())
}

/// Without static levelling cold blocks are never erased; with it, the spread stays near what was
/// asked for, at a price in write amplification that is small.
#[test]
fn static_levelling_bounds_the_spread() {
    let (min, max, plain) = spread(&["ftl.static_wear_delta=0"], 4000);
    assert!(min == 0 && max > 300, "{min} to {max}");
    let (min, max, levelled) = spread(&["ftl.static_wear_delta=20"], 4000);
    assert!(min > 80, "{min} to {max}");
    // A plane is looked at every 64th collection, and one block is taken each time.
    assert!(max - min < 20 + 64, "{min} to {max}");
    assert!(levelled < plain + 0.2, "{levelled} against {plain}");
}

/// Dynamic levelling: among free blocks the least worn is opened first, so that without cold data
/// the blocks wear evenly.
#[test]
fn dynamic_levelling_spreads_uniform_traffic() {
    let mut ssd = drive::small(&["ftl.static_wear_delta=0"]);
    let dies = ssd.dies();
    let ftl = ssd.ftl_mut();
    let units = u64::from(ftl.logical_units());
    let mut rng = Rng::stream(5, "uniform");
    let mut untimed = Untimed::new(dies);
    ftl.overwrite_untimed(units * 300, &mut || Lpn(rng.below(units) as u32), &mut untimed).unwrap();
    let wear = ftl.wear();
    assert!(wear.mean > 150.0, "{wear:?}");
    assert!(f64::from(wear.max - wear.min) < 0.25 * wear.mean, "{wear:?}");
}
