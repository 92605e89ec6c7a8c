//! Archives: what comes back is what was saved, and nothing damaged is taken.

use super::*;
use crate::error::assert_carries;

#[derive(Debug, Clone, PartialEq)]
struct Part {
    table: Vec<u32>,
    list: Vec<(u32, bool)>,
    name: String,
}

impl State for Part {
    fn exchange(&mut self, archive: &mut Archive<'_>) -> Result<()> {
        let Self { table, list, name } = self;
        archive.table(table)?;
        archive.value(list)?;
        archive.value(name)
    }
}

fn part() -> Part {
    let table = (0..600_000u32).map(|i| i.wrapping_mul(2_654_435_761)).collect();
    Part { table, list: vec![(1, true), (u32::MAX, false)], name: "drive".into() }
}

fn save(parts: &mut [Part]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut archive = Archive::saving(&mut bytes);
    archive.parts(parts).unwrap();
    archive.end().unwrap();
    bytes
}

fn load(mut bytes: &[u8], tables: &[usize]) -> Result<Vec<Part>> {
    let empty = |&len: &usize| Part { table: vec![0; len], list: vec![], name: String::new() };
    let mut parts: Vec<Part> = tables.iter().map(empty).collect();
    let mut archive = Archive::loading(&mut bytes);
    archive.parts(&mut parts)?;
    archive.end()?;
    Ok(parts)
}

#[test]
fn comes_back_as_it_was() {
    let mut parts = vec![part(), Part { table: vec![], list: vec![], name: "é".into() }];
    let bytes = save(&mut parts);
    assert!(bytes.len() < 600_000 * 4 + 200, "{}", bytes.len());
    assert_eq!(load(&bytes, &[600_000, 0]).unwrap(), parts);
    // Another configuration has other tables.
    for tables in [&[600_000, 1][..], &[599_999, 0], &[600_000], &[600_000, 0, 0]] {
        assert!(load(&bytes, tables).is_err(), "{tables:?}");
    }
}

/// A file that is cut anywhere, or that has any bit flipped, is refused.
#[test]
fn refuses_what_is_cut_or_changed() {
    let bytes = save(&mut [Part { table: (0..99).collect(), ..part() }]);
    for length in 0..bytes.len() {
        assert_carries(load(&bytes[..length], &[99]).unwrap_err(), &["cut short"]);
    }
    for bit in 0..8 * bytes.len() {
        let mut flipped = bytes.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        assert!(load(&flipped, &[99]).is_err(), "bit {bit}");
    }
    let longer = [&bytes[..], &[0]].concat();
    assert!(load(&longer, &[99]).is_err());
}

#[test]
fn refuses_frames_that_changed_places() {
    let bytes = save(&mut [part()]);
    let frame = 8 + (1 << 20);
    let swapped = [&bytes[frame..2 * frame], &bytes[..frame], &bytes[2 * frame..]].concat();
    assert_carries(load(&swapped, &[600_000]).unwrap_err(), &["checksum"]);
}
