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
        (1_948_569, 3_356_715_406_151_912_381),
        (1_952_586, 420_654_029_760_791_926),
        (1_936_247, 10_313_088_230_877_197_402),
        (1_928_010, 2_317_388_836_337_866_712),
        (1_936_247, 10_313_088_230_877_197_402),
        (1_834_715, 5_859_881_446_341_983_414),
        (1_838_311, 12_581_291_050_436_397_586),
        (1_842_739, 6_836_981_025_071_638_471),
        (1_961_845, 16_102_825_313_808_440_336),
        (3_808_601, 3_046_709_669_775_682_219),
        (1_950_892, 1_812_955_599_691_680_744),
        (878_446, 6_731_555_014_662_134_253),
        (1_841_518, 7_634_473_723_278_826_650),
    ];
    assert_eq!((LAYOUT, found), (14, known));
}
