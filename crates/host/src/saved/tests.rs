//! Tests of the layout of saved drives: a change needs a new layout number.

use super::*;
use crate::report::fnv;

/// Length and hash of the state of a small empty drive.
fn layout(sets: &[&str]) -> (usize, u64) {
    let sets: Vec<String> = sets.iter().map(|&set| set.to_owned()).collect();
    let loaded = crate::config::load("tiny", &sets).unwrap();
    let mut drive = Drive::new(loaded, 1 << 32).unwrap();
    let mut bytes = Vec::new();
    let mut archive = Archive::saving(&mut bytes);
    drive.exchange(&mut archive).unwrap();
    archive.end().unwrap();
    (bytes.len(), fnv(&bytes))
}

/// A drive saved by another layout must be refused: whoever changes the layout raises `LAYOUT`, and
/// puts the new figures here.
#[test]
fn the_layout_has_its_number() {
    let found = [
        layout(&[]),
        layout(&["gc.name=cost_benefit"]),
        layout(&["gc.name=d_choices"]),
        layout(&["gc.name=fifo"]),
        layout(&["gc.name=random"]),
        layout(&["ftl.name=dftl", "ftl.map_cache_bytes=4096", "ftl.overprovisioning=0.5"]),
        layout(&[
            "ftl.name=dftl",
            "ftl.map_cache_policy=tpftl",
            "ftl.map_cache_bytes=4096",
            "ftl.overprovisioning=0.5",
        ]),
        layout(&["ftl.superblock_dies=0", "ftl.overprovisioning=0.5"]),
        layout(&["ftl.name=learned"]),
        layout(&["ftl.name=sepbit"]),
        layout(&["ftl.name=slc_cache"]),
        layout(&["ftl.name=bast", "ftl.overprovisioning=0.5"]),
        layout(&["ftl.name=superblock", "ftl.overprovisioning=0.5"]),
    ];
    let known = [
        (1_948_527, 12_961_701_861_565_432_319),
        (1_952_544, 17_061_147_941_094_882_593),
        (1_936_205, 2_952_091_477_154_809_900),
        (1_927_968, 9_168_451_811_392_749_315),
        (1_936_205, 2_952_091_477_154_809_900),
        (1_834_673, 2_462_451_773_728_694_965),
        (1_838_269, 16_303_102_754_238_474_503),
        (0, 0),
        (1_961_803, 10_005_305_160_765_384_633),
        (0, 0),
        (1_950_850, 4_398_183_269_636_337_490),
        (878_395, 1_424_891_446_548_628_183),
        (1_841_476, 15_504_760_809_341_880_839),
    ];
    assert_eq!((LAYOUT, found), (8, known));
}
