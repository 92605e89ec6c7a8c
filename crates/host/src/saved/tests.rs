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
        (1_948_591, 17_641_060_563_985_374_344),
        (1_952_608, 18_112_647_786_180_692_385),
        (1_936_269, 14_101_830_615_327_298_908),
        (1_928_032, 1_732_809_078_526_962_072),
        (1_936_269, 14_101_830_615_327_298_908),
        (1_834_791, 8_662_028_124_635_652_644),
        (1_838_387, 1_610_481_198_046_015_755),
        (1_842_770, 17_596_044_988_558_864_392),
        (1_961_868, 5_711_719_852_243_427_879),
        (3_808_623, 197_803_920_773_050_595),
        (1_950_914, 7_266_969_612_584_411_125),
        (885_296, 943_812_750_422_692_374),
        (1_845_636, 724_158_029_195_374_210),
    ];
    assert_eq!((LAYOUT, found), (19, known));
}
