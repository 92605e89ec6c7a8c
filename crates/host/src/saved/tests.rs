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
        (1_948_518, 9_437_778_430_688_599_183),
        (1_952_535, 11_702_576_186_334_446_486),
        (1_936_196, 2_628_556_448_142_166_734),
        (1_927_959, 2_714_648_462_941_231_121),
        (1_936_196, 2_628_556_448_142_166_734),
        (1_834_664, 3_955_752_951_167_781_311),
        (1_838_260, 16_428_569_606_971_349_992),
        (1_961_794, 11_900_164_585_481_338_920),
        (1_950_841, 17_795_222_528_050_421_337),
        (878_386, 402_629_019_467_007_201),
        (1_841_467, 12_362_363_773_234_216_311),
    ];
    assert_eq!((LAYOUT, found), (6, known));
}
