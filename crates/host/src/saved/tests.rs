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
        (1_948_768, 2_621_209_750_297_324_542),
        (1_952_785, 10_061_347_257_856_641_685),
        (1_936_446, 6_557_213_211_061_678_565),
        (1_928_209, 14_793_519_971_365_049_223),
        (1_936_446, 6_557_213_211_061_678_565),
        (1_834_970, 18_049_817_803_009_698_301),
        (1_838_566, 6_550_062_033_509_068_959),
        (1_842_968, 7_523_345_945_615_613_346),
        (1_962_045, 14_239_457_224_614_537_262),
        (3_808_945, 525_917_001_640_087_151),
        (1_951_114, 14_038_052_896_347_618_253),
        (885_297, 11_954_009_835_029_333_859),
        (1_845_637, 5_553_269_007_328_379_101),
    ];
    assert_eq!((LAYOUT, found), (21, known));
}
