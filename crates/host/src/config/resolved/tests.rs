//! Tests of complete configurations: each is loaded again without a change.

use super::*;
use crate::config::{load, presets};

/// Every preset is loaded again without a change, to the last bit of every number.
#[test]
fn every_drive_comes_back() {
    let presets = presets();
    let drives = presets.iter().filter(|preset| preset.kind == "drive");
    let mut cases: Vec<(&str, &[String])> = drives.map(|drive| (&*drive.name, &[][..])).collect();
    assert!(cases.len() > 5, "{}", cases.len());
    let with_code =
        ["chip.geometry.spare_bytes=1952", "ecc.code=\"ldpc_4k_r90\""].map(str::to_owned);
    cases.push(("tiny", &with_code));
    for (name, sets) in cases {
        let loaded = load(name, sets).unwrap();
        let again = Resolved::of(&loaded).unwrap().load("x.nldrive").unwrap();
        assert_eq!(again.config, loaded.config, "{name}");
        assert_eq!(again.cite, loaded.cite, "{name}");
        assert_eq!(again.summary, loaded.summary, "{name}");
    }
}
