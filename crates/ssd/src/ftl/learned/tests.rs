//! Tests of `learned`: its map learned anew from the places of all units.

use super::*;
use crate::build::{chips, context};
use crate::conformance::small_config;
use crate::ftl::Untimed;
use crate::ftl::contract::Drive;
use crate::ftl::paged::{Ours, Paged};
use base::rng::Rng;

/// Four dies of two planes, rows of 16 units.
const WIDE: [&str; 5] = [
    "ftl.name=learned",
    "chip.geometry.page_bytes=32768",
    "chip.geometry.pages_per_block=32",
    "chip.geometry.blocks_per_plane=64",
    "ftl.overprovisioning=1.0",
];

type Whole = Paged<Learned, PageFtl, Ours>;

/// Writes two units in three in some stretches, and forgets some units.
fn use_it(ftl: &mut Whole, rng: &mut Rng, untimed: &mut Untimed) {
    for _ in 0..300 {
        let first = rng.below(u64::from(ftl.facts().logical_units) - 600) as u32;
        let lpns: Vec<Lpn> = (first..first + 600).filter(|_| rng.chance(0.66)).map(Lpn).collect();
        ftl.write_untimed(&lpns, untimed).unwrap();
        ftl.trim(Lpn(first));
    }
}

/// Number of units that the map leads to a wrong page for; it must know all that have data, and no
/// others.
fn wrong(ftl: &Whole) -> usize {
    let units = (0..ftl.facts().logical_units).filter(|&lpn| {
        let address = ftl.map.segments.predict(lpn);
        let place = ftl.lookup(Lpn(lpn));
        assert_eq!(address.is_some(), place.is_some(), "unit {lpn}");
        place.is_some_and(|place| {
            let page = |ppn| ftl.data.geometry.page_index(ppn);
            let expected = address.and_then(|at| ftl.map.addresses.place(&ftl.data.geometry, at));
            page(expected.unwrap()) != page(place)
        })
    });
    units.count()
}

/// A map learned anew is right about every unit, and the FTL goes on with it.
#[test]
fn a_map_learned_anew_leads_to_all_places() {
    let config = small_config(&WIDE).unwrap();
    let context = context(&config, &chips(&config).unwrap()).unwrap();
    let page = PageFtl::new(context, &PageParams::default(), Own::NOTHING).unwrap();
    let map = Learned::new(&page, &Params { gamma: 16, ..Params::default() });
    let mut ftl = Paged::new(map, page, Ours).unwrap();
    let (mut rng, mut untimed) = (Rng::stream(6, "anew"), Untimed::new(4));
    use_it(&mut ftl, &mut rng, &mut untimed);
    assert!(wrong(&ftl) > 0);
    ftl.map.segments = Segments::new(ftl.data.logical_units, ftl.data.row_units.into());
    for (lpn, &ppn) in (0..).zip(&ftl.data.map).filter(|(_, ppn)| **ppn != Ppn::NONE.0) {
        ftl.map.learning.push((lpn, ftl.map.addresses.of(&ftl.data.geometry, Ppn(ppn))));
    }
    ftl.map.learn(None);
    assert_eq!(wrong(&ftl), 0);
    use_it(&mut ftl, &mut rng, &mut untimed);
    assert!(wrong(&ftl) > 0);
}
