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
        (1_948_559, 12_957_352_405_653_531_215),
        (1_952_576, 18_417_420_107_194_294_971),
        (1_936_237, 817_927_993_626_571_407),
        (1_928_000, 13_624_088_335_041_266_840),
        (1_936_237, 817_927_993_626_571_407),
        (1_834_705, 5_271_176_583_321_373_555),
        (1_838_301, 2_285_999_063_142_960_575),
        (1_842_729, 5_537_216_633_327_577_248),
        (1_961_835, 14_335_117_591_686_102_285),
        (3_808_591, 116_512_438_719_876_641),
        (1_950_882, 15_963_115_078_096_880_659),
        (878_427, 4_703_092_504_978_025_289),
        (1_841_508, 238_898_490_126_704_891),
    ];
    assert_eq!((LAYOUT, found), (8, known));
}
