//! Tests of learned segments: against a plain map.

use super::line::Segment;
use super::*;
use base::rng::Rng;
use proptest::prelude::*;
use std::collections::BTreeMap;

fn segments(points: &[Point], gamma: Option<u32>) -> Vec<Segment> {
    let mut segments = Vec::new();
    learn(points, gamma, 64, |segment| segments.push(segment));
    segments
}

fn bytes(points: &[Point], gamma: Option<u32>) -> u64 {
    let mut group = Group::default();
    segments(points, gamma).into_iter().for_each(|segment| {
        group.insert(segment, &mut Space::default());
    });
    group.bytes() - GROUP_BYTES
}

#[test]
fn runs_are_one_segment() {
    let in_order: Vec<Point> = (0..=255).map(|unit| (unit, 1000 + u64::from(unit))).collect();
    assert_eq!(bytes(&in_order, Some(0)), 8);
    let strided: Vec<Point> = (0..50).map(|i| (5 * i, 70 + u64::from(i))).collect();
    assert_eq!(bytes(&strided, Some(0)), 8);
    // Piece by piece they become the same.
    for pieces in [1, 16, 100] {
        let mut group = Group::default();
        for piece in in_order.chunks(pieces) {
            segments(piece, Some(4)).into_iter().for_each(|segment| {
                group.insert(segment, &mut Space::default());
            });
        }
        assert_eq!(group.bytes(), GROUP_BYTES + 8, "{pieces}");
    }
}

/// A fitted segment takes 9 bytes and one for each unit; without `gamma` each unit takes 8.
#[test]
fn near_runs_are_one_fitted_segment() {
    let units = [0u8, 1, 3, 4, 7, 8, 9, 12, 14, 15, 17, 18, 21, 22, 24, 26];
    let points: Vec<Point> = units.iter().copied().zip(128u64..).collect();
    assert_eq!(bytes(&points, Some(2)), 9 + 16);
    assert!(bytes(&points, None) > 9 + 16);
    // Not over the end of a row.
    let points: Vec<Point> = units.iter().copied().zip(120u64..).collect();
    assert!(segments(&points, Some(2)).len() > 1);
}

/// Change of a group: units get addresses from one on, a unit is forgotten, or all is compacted.
#[derive(Debug, Clone)]
enum Change {
    Write(Vec<u8>, u64),
    Forget(u8),
    Compact,
}

fn change() -> impl Strategy<Value = Change> {
    let units = prop_oneof![
        prop::collection::btree_set(any::<u8>(), 1..24)
            .prop_map(|units| units.into_iter().collect::<Vec<u8>>()),
        prop::collection::btree_set(20u8..60, 1..24)
            .prop_map(|units| units.into_iter().collect::<Vec<u8>>()),
        (any::<u8>(), 1usize..9, 1usize..64)
            .prop_map(|(first, stride, most)| (first..=255).step_by(stride).take(most).collect()),
    ];
    prop_oneof![
        12 => (units, 0u64..4).prop_map(|(units, gap)| Change::Write(units, gap)),
        3 => any::<u8>().prop_map(Change::Forget),
        1 => Just(Change::Compact),
    ]
}

proptest! {
    /// Every unit is where it was written last, within gamma, in the same row and not before the
    /// first of its program; a forgotten unit is nowhere.
    #[test]
    fn predicts_within_gamma(
        changes in prop::collection::vec(change(), 1..60),
        gamma in prop_oneof![Just(0u32), 1u32..9],
    ) {
        let (mut group, mut space, mut next) = (Group::default(), Space::default(), 0);
        let mut known: BTreeMap<u8, u64> = BTreeMap::new();
        for change in changes {
            match change {
                Change::Write(units, gap) => {
                    next += gap;
                    let points: Vec<Point> =
                        units.iter().copied().zip(next..).collect();
                    next += points.len() as u64;
                    known.extend(points.iter().copied());
                    for segment in segments(&points, Some(gamma)) {
                        group.insert(segment, &mut space);
                    }
                }
                Change::Forget(unit) => {
                    group.forget(unit, &mut space);
                    known.remove(&unit);
                }
                Change::Compact => {
                    let before = group.bytes();
                    group.compact(&mut space);
                    prop_assert!(group.bytes() <= before);
                }
            }
            for unit in 0..=255 {
                match (group.predict(unit), known.get(&unit)) {
                    (None, None) => {}
                    (Some(address), Some(&place)) => {
                        prop_assert!(address.abs_diff(place) <= u64::from(gamma));
                        prop_assert!(address == place || group.is_fitted(unit));
                        prop_assert!(address == place || address / 64 == place / 64);
                    }
                    other => prop_assert!(false, "unit {}: {:?}", unit, other),
                }
            }
            // Levels do not overlap in themselves.
            for level in group.levels() {
                prop_assert!(level.windows(2).all(|pair| pair[0].last() < pair[1].first()));
            }
        }
    }
}

/// A map learned from all addresses alone is exact, and as small as a compacted one.
#[test]
fn a_map_is_learned_anew_from_all_addresses() {
    let (units, row) = (3000, 64);
    let mut rng = Rng::stream(3, "addresses");
    let mut segments = Segments::new(units, row);
    let mut known: BTreeMap<u32, u64> = BTreeMap::new();
    for next in (0..400).map(|number| number * row) {
        let first = rng.below(u64::from(units)) as u32;
        let places = (first..units).filter(|_| rng.chance(0.7)).take(row as usize).zip(next..);
        let places: Vec<(u32, u64)> = places.collect();
        known.extend(places.iter().copied());
        segments.learn(&places, Some(4));
    }
    for unit in (0..units).filter(|unit| unit % 7 == 0) {
        segments.forget(unit);
        known.remove(&unit);
    }
    let is_wrong = |(&unit, &address): (&u32, &u64)| segments.predict(unit) != Some(address);
    assert!(known.iter().any(is_wrong), "no line errs");
    let mut anew = Segments::new(units, row);
    anew.learn(&known.iter().map(|(&unit, &address)| (unit, address)).collect::<Vec<_>>(), None);
    for unit in 0..units {
        assert_eq!(anew.predict(unit), known.get(&unit).copied(), "unit {unit}");
        assert_eq!(anew.predict(unit).is_some(), segments.predict(unit).is_some(), "unit {unit}");
        assert!(!anew.has_fitted(unit));
    }
}
