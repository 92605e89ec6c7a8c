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
        layout(&["ftl.name=learned"]),
        layout(&["ftl.name=slc_cache"]),
        layout(&["ftl.name=bast", "ftl.overprovisioning=0.5"]),
        layout(&["ftl.name=superblock", "ftl.overprovisioning=0.5"]),
    ];
    let known = [
        (1_948_506, 5_269_071_551_089_456_091),
        (1_952_523, 17_684_693_136_230_378_646),
        (1_936_184, 16_524_214_229_984_008_080),
        (1_927_947, 10_218_225_072_494_138_648),
        (1_936_184, 16_524_214_229_984_008_080),
        (1_834_652, 11_916_443_211_415_522_613),
        (1_838_248, 8_785_706_633_408_096_584),
        (1_961_782, 5_277_357_174_558_948_743),
        (1_950_829, 3_160_818_210_567_992_840),
        (878_374, 7_016_686_370_057_453_489),
        (1_841_455, 17_174_404_141_989_234_310),
    ];
    assert_eq!((LAYOUT, found), (6, known));
}
