//! Every FTL, untimed, against a plain map: what is mapped is mapped once and where it says, and
//! every physical unit is accounted for; however the batches fall, and whatever the geometry.

mod drive;

use base::rng::Rng;
use nand::geometry::{Block, Die, Ppn};
use ssd::ftl::contract::{Move, Occupancy, Wear};
use ssd::ftl::{Collect, DieSet, Ftl, FtlCounts, Lpn, Program, ROSTER, Stream, Untimed, Urgency};
use std::collections::BTreeSet;

#[test]
fn maps_are_injective_and_units_accounted_for() {
    let shapes: [&[&str]; 7] = [
        &[],
        &["chip.features.multi_plane_program=false"],
        &["chip.page_order=one_shot", "chip.geometry.pages_per_block=36"],
        &["ftl.unit_bytes=512"],
        &["ftl.unit_bytes=2560", "chip.geometry.page_bytes=18432"],
        &["ftl.separate_gc_stream=false", "ftl.static_wear_delta=3"],
        &["chip.geometry.bad_block_fraction=0.1", "ftl.overprovisioning=1.5"],
    ];
    for member in ROSTER {
        for shape in shapes {
            let name = format!("ftl.name={}", member.name);
            let sets: Vec<&str> = shape.iter().copied().chain([name.as_str()]).collect();
            let mut ssd = drive::small(&sets);
            let (dies, physical) = (ssd.dies(), ssd.physical_units());
            let ftl = ssd.ftl_mut();
            let units = u64::from(ftl.logical_units());
            let mut untimed = Untimed::new(dies);
            let mut rng = Rng::stream(9, "conformance");
            let mut written = BTreeSet::new();
            for round in 0..400 {
                // Batches of any length, hot enough to hold the same unit twice.
                let length = 1 + rng.below(3 * u64::from(ftl.row_units()));
                let span = if rng.chance(0.5) { 1 + units / 50 } else { units };
                let batch: Vec<Lpn> =
                    (0..8 * length).map(|_| Lpn(rng.below(span) as u32)).collect();
                ftl.write_untimed(&batch, &mut untimed).unwrap();
                written.extend(batch.iter().map(|lpn| lpn.0));
                for _ in 0..rng.below(20) {
                    let lpn = rng.below(units) as u32;
                    ftl.trim(Lpn(lpn));
                    written.remove(&lpn);
                }
                if round % 50 != 49 {
                    continue;
                }
                let mut places = BTreeSet::new();
                for lpn in 0..units as u32 {
                    let place = ftl.lookup(Lpn(lpn));
                    assert_eq!(place.is_some(), written.contains(&lpn), "{shape:?}: unit {lpn}");
                    if let Some(ppn) = place {
                        assert!(places.insert(ppn.0), "{shape:?}: two units at {}", ppn.0);
                    }
                }
                let occupancy = ftl.occupancy();
                assert_eq!(occupancy.mapped, written.len() as u64, "{shape:?}");
                let all = occupancy.mapped + occupancy.free + occupancy.invalid + occupancy.bad;
                assert_eq!(all, physical, "{shape:?}: {occupancy:?}");
            }
            assert!(ftl.counts().reclaimed_blocks > 0, "{shape:?}: no collection");
        }
    }
}

/// An FTL that breaks its promises: it takes no data, and collects nothing or for ever.
struct Broken {
    collects: bool,
}

impl Ftl for Broken {
    fn logical_units(&self) -> u32 {
        8
    }
    fn row_units(&self) -> u32 {
        1
    }
    fn lookup(&mut self, _: Lpn) -> Option<Ppn> {
        None
    }
    fn place(&mut self, _: Stream, _: &[Lpn], _: &DieSet) -> Option<Program> {
        None
    }
    fn programmed(&mut self, _: &Program, _: &[Move]) {}
    fn trim(&mut self, _: Lpn) {}
    fn wants_collect(&self, _: Die, _: Urgency) -> bool {
        self.collects
    }
    fn collect(&mut self, _: Die, _: Urgency, _: &mut Vec<Move>) -> Collect {
        Collect::Erase { n: 1, blocks: [Block(0); 16] }
    }
    fn erased(&mut self, _: Block) {}
    fn filled_pages(&self, _: Block) -> u32 {
        0
    }
    fn counts(&self) -> FtlCounts {
        FtlCounts::default()
    }
    fn start_run(&mut self, _: u32) {}
    fn occupancy(&self) -> Occupancy {
        Occupancy::default()
    }
    fn wear(&self) -> Wear {
        Wear::default()
    }
    fn bytes_per_unit(&self) -> f64 {
        0.0
    }
}

#[test]
fn broken_promises_are_errors_and_not_endless() {
    for (collects, problem) in
        [(false, "no die takes data"), (true, "collection of a die does not end")]
    {
        let mut ftl = Broken { collects };
        let error = ftl.write_untimed(&[Lpn(0)], &mut Untimed::new(2)).unwrap_err();
        assert!(error.problem.contains(problem), "{error}");
    }
}
