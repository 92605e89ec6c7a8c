//! Every FTL, untimed, against an account of what it does: what is mapped is mapped once and where
//! it says, every physical unit is accounted for, and what it reports of itself is what it has
//! done; however the batches fall, whatever the geometry, before a run and in it.

use crate::drive;

use base::archive::{Archive, State};
use base::error::assert_carries;
use base::rng::turn;
use nand::geometry::{Block, Ppn};
use ssd::conformance::batches::Batches;
use ssd::conformance::tally::Tally;
use ssd::ftl::contract::{Account, Drive, Facts, Occupancy, Parts, Ram, Wear};
use ssd::ftl::{
    Carried, DieSet, Ftl, FtlCounts, Job, Key, Lpn, Move, Place, Program, ROSTER, Step, Untimed,
    Urgency, Work,
};

#[test]
fn reports_are_what_has_been_done() {
    let shapes: [&[&str]; 20] = [
        &["age.pe_cycles=5"],
        &["chip.features.multi_plane_program=false"],
        &["chip.page_order=one_shot", "chip.geometry.pages_per_block=36"],
        &["ftl.unit_bytes=512"],
        &["ftl.map_cache_policy=segmented_lru"],
        &["ftl.gamma=0", "ftl.compaction_units=1000"],
        &["ftl.gamma=32", "chip.page_order=one_shot", "chip.geometry.pages_per_block=36"],
        &["ftl.map_cache_policy=tpftl", "ftl.unit_bytes=512"],
        &["ftl.unit_bytes=2560", "chip.geometry.page_bytes=18432"],
        &["ftl.separate_gc_stream=false", "ftl.static_wear_delta=3"],
        &[
            "ftl.metadata_share=0.1",
            "ftl.overprovisioning=1.2",
            "ftl.gc_reserve_blocks=2",
            "gc.start_free_blocks=3",
        ],
        &["chip.geometry.bad_block_fraction=0.1", "ftl.overprovisioning=1.5"],
        &["ftl.superblock_dies=0"],
        &["ftl.superblock_dies=2", "chip.features.multi_plane_program=false"],
        &[
            "ftl.superblock_dies=0",
            "ftl.separate_gc_stream=false",
            "ftl.static_wear_delta=3",
            "chip.page_order=one_shot",
            "chip.geometry.pages_per_block=36",
        ],
        &[
            "ftl.superblock_dies=2",
            "ftl.metadata_share=0.1",
            "ftl.overprovisioning=1.2",
            "ftl.gc_reserve_blocks=2",
            "gc.start_free_blocks=3",
        ],
        &[
            "ftl.superblock_dies=0",
            "chip.geometry.bad_block_fraction=0.1",
            "ftl.overprovisioning=1.5",
        ],
        &[
            "parity.pages=1",
            "ftl.superblock_dies=0",
            "ftl.overprovisioning=1.8",
            "ftl.gc_reserve_blocks=2",
            "gc.start_free_blocks=3",
        ],
        &[
            "parity.pages=1",
            "ftl.superblock_dies=2",
            "ftl.isolation=persistent",
            "ftl.host_streams=2",
            "ftl.overprovisioning=6",
            "ftl.gc_reserve_blocks=2",
            "gc.start_free_blocks=3",
        ],
        // One block in twenty has failed.
        &[
            "chip.fault={median_ratings=1.2,spread=0.1}",
            "age.pe_cycles=3054",
            "ftl.overprovisioning=1.5",
        ],
    ];
    for (i, member) in ROSTER.iter().enumerate() {
        for (j, shape) in shapes.into_iter().enumerate() {
            // By default each FTL on every seventh drive.
            if !turn::is_tried(i + j, 7) {
                continue;
            }
            let mut sets = drive::of_ftl(member, shape);
            // It keeps more blocks for itself than this drive has to spare, or has at all.
            for more in ["ftl.overprovisioning=2.5", "chip.geometry.blocks_per_plane=80"] {
                if Tally::new(&drive::config(&sets)).is_err() {
                    sets.push(more.to_owned());
                }
            }
            let hold = || {
                let mut trial = Batches::new(Tally::new(&drive::config(&sets)).unwrap(), 9);
                trial.ftl.check().unwrap();
                trial.rounds(turn::few_or_all(320, 400)).unwrap();
                assert!(trial.ftl.counts().reclaimed_blocks > 0, "no collection");
                // A run begins on what is there: counts are reset, wear is set.
                for pe_cycles in [70, 0] {
                    trial.ftl.start_run(Some(pe_cycles));
                    trial.check().unwrap();
                    trial.rounds(turn::few_or_all(40, 100)).unwrap();
                }
                trial.ftl.fail_erases(0.1);
                trial.rounds(turn::few_or_all(100, 200)).unwrap();
                let has_retired = trial.ftl.counts().retired_blocks > 0;
                assert_eq!(has_retired, trial.ftl.retires(), "no block has left");
                trial.ftl.fail_erases(0.0);
                trial.retire().unwrap();
                assert!(trial.ftl.labels_are_right(), "collection's programs called the host's");
            };
            assert!(std::panic::catch_unwind(hold).is_ok(), "{sets:?}: see above");
        }
    }
}

/// An FTL that breaks its promises: it takes no data, and collects nothing or for ever.
#[derive(Clone)]
struct Broken {
    facts: Facts,
    collects: bool,
}

impl State for Broken {
    fn exchange(&mut self, _: &mut Archive<'_>) -> base::Result<()> {
        unreachable!("nobody saves it")
    }
}

impl Ftl for Broken {
    fn facts(&self) -> &Facts {
        &self.facts
    }
    fn lookup(&self, _: Lpn) -> Option<Ppn> {
        None
    }
    fn place(&mut self, _: Key, _: &[Lpn], _: &DieSet) -> Place {
        Place::NoRoom
    }
    fn place_moves(&mut self, _: Job, _: &[Move]) -> Place {
        Place::NoRoom
    }
    fn programmed(&mut self, _: &Program, _: Carried) {}
    fn not_programmed(&mut self, _: &Program, _: Carried) {}
    fn trim(&mut self, _: Lpn) {}
    fn wants(&self, _: Job, _: Urgency) -> bool {
        self.collects
    }
    fn step(&mut self, _: Job, _: Urgency, work: &mut Work) -> Step {
        work.clear();
        work.blocks.push(Block(0));
        Step::Erase
    }
    fn erased(&mut self, _: Block, _: base::Time) {}
}

impl Account for Broken {
    fn counts(&self) -> FtlCounts {
        FtlCounts::default()
    }
    fn start_run(&mut self, _: Option<u32>) {}
    fn occupancy(&self) -> Occupancy {
        Occupancy::default()
    }
    fn wear(&self) -> Wear {
        Wear::default()
    }
    fn ram(&self) -> Vec<Ram> {
        Vec::new()
    }
    fn bytes_per_unit(&self) -> f64 {
        0.0
    }
    fn filled_pages(&self, _: Block) -> u32 {
        0
    }
    fn valid_units(&self, _: Block) -> u32 {
        0
    }
}

impl Parts for Broken {}

#[test]
fn broken_promises_are_errors_and_not_endless() {
    for (collects, parts) in [(false, ["no die", "data"]), (true, ["collection", "not end"])] {
        let mut ftl = Broken { facts: Facts::new(8, 1, 2, 1), collects };
        let error = ftl.write_untimed(&[Lpn(0)], &mut Untimed::new(2)).unwrap_err();
        assert_carries(&error.problem, &parts);
    }
}
