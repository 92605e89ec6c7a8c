//! Tests of a drive's bytes: which older versions are kept.

use super::*;
use crate::device::image::Store;

/// A client that discards a drive of which nothing was written costs no memory.
#[test]
fn zeros_that_become_zeros_are_not_remembered() {
    let image = Image::open(&Store::Memory, 1 << 24, 1 << 24, false).unwrap();
    let mut contents = Contents::new(image, 4096, true);
    contents.expect(1, (Some(8192), 4096), Some(vec![7; 4096]), false);
    let entered = Happened::Entered { version: 1, replaces: false };
    let trims = (0..4096).map(|unit| (unit, Happened::Trimmed { drops: false }));
    let mut log: Vec<_> = std::iter::once((2, entered)).chain(trims).collect();
    contents.follow(&mut log, None).unwrap();
    let History { newest, older, .. } = contents.history.as_ref().unwrap();
    // The chunk of the written unit: nothing tells which of its bytes are zero.
    assert!(newest.len() <= 16 && older.len() <= 16, "{} {}", newest.len(), older.len());
    assert!(older[&2].iter().any(|older| older.version == 1 && older.bytes == vec![7; 4096]));
    // The power cut undoes the trim: the written data are on flash.
    contents.settle(|unit| (unit == 2).then_some(1)).unwrap();
    let mut bytes = Vec::new();
    contents.read(8192, 4096, &mut bytes).unwrap();
    assert_eq!(bytes, vec![7; 4096]);
}
