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
        (1_948_590, 6_742_749_167_812_465_569),
        (1_952_607, 3_291_236_472_739_337_122),
        (1_936_268, 4_789_802_922_991_279_701),
        (1_928_031, 10_946_704_170_834_159_069),
        (1_936_268, 4_789_802_922_991_279_701),
        (1_834_736, 16_392_368_003_702_186_094),
        (1_838_332, 8_568_746_977_165_538_170),
        (1_842_769, 10_347_653_705_466_589_713),
        (1_961_866, 18_239_633_658_465_108_352),
        (3_808_622, 5_253_662_479_734_983_874),
        (1_950_913, 17_035_636_584_168_588_485),
        (885_295, 7_000_739_548_229_649_083),
        (1_845_635, 5_314_641_791_191_816_443),
    ];
    assert_eq!((LAYOUT, found), (19, known));
}
