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
        (1_948_580, 7_218_259_990_289_698_042),
        (1_952_597, 1_060_977_937_819_349_678),
        (1_936_258, 580_546_051_044_238_481),
        (1_928_021, 5_900_147_693_564_624_990),
        (1_936_258, 580_546_051_044_238_481),
        (1_834_726, 5_725_227_038_770_258_205),
        (1_838_322, 4_544_705_397_648_286_290),
        (1_842_750, 12_194_125_819_886_387_189),
        (1_961_856, 3_625_223_237_824_542_012),
        (3_808_612, 17_568_496_079_186_510_238),
        (1_950_903, 5_485_054_120_707_050_420),
        (885_285, 5_774_102_236_652_393_490),
        (1_845_625, 7_532_767_987_839_302_426),
    ];
    assert_eq!((LAYOUT, found), (18, known));
}
