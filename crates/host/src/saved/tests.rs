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
        (1_948_671, 11_334_483_980_017_121_493),
        (1_952_688, 3_457_167_357_968_521_443),
        (1_936_349, 12_148_710_304_434_465_826),
        (1_928_112, 14_353_395_934_831_956_895),
        (1_936_349, 12_148_710_304_434_465_826),
        (1_834_817, 8_163_427_312_279_369_250),
        (1_838_413, 17_778_082_447_353_419_914),
        (1_842_869, 6_279_812_989_275_476_112),
        (1_961_947, 9_143_640_552_364_334_376),
        (3_808_783, 5_358_053_160_347_981_522),
        (1_951_014, 16_864_965_493_299_525_397),
        (885_296, 943_812_750_422_692_374),
        (1_845_636, 724_158_029_195_374_210),
    ];
    assert_eq!((LAYOUT, found), (19, known));
}
