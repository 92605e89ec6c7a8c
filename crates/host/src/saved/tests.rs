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
        (1_948_672, 54_507_398_213_108_369),
        (1_952_689, 16_101_711_802_986_044_589),
        (1_936_350, 13_300_851_260_042_445_335),
        (1_928_113, 3_692_020_426_036_892_211),
        (1_936_350, 13_300_851_260_042_445_335),
        (1_834_874, 14_774_651_517_804_466_861),
        (1_838_470, 17_018_103_915_900_856_171),
        (1_842_870, 12_080_536_245_239_683_181),
        (1_961_949, 9_498_033_619_684_056_650),
        (3_808_785, 17_865_327_606_036_722_417),
        (1_951_015, 1_714_680_669_760_835_222),
        (885_297, 11_954_009_835_029_333_859),
        (1_845_637, 5_553_269_007_328_379_101),
    ];
    assert_eq!((LAYOUT, found), (21, known));
}
