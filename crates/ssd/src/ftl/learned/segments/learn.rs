//! Learning: cuts units with their addresses into segments.

use super::SEGMENT_BYTES;
use super::line::{FRACTION, Form, Segment, Units, on_line};

/// A unit in its group, and its address.
pub(super) type Point = (u8, u64);

/// Cuts points, in the order of their units, into segments. A fitted one errs by at most `gamma`,
/// and its addresses lie in one row of `row` of them; without `gamma` all are exact.
#[inline]
pub(super) fn learn(points: &[Point], gamma: Option<u32>, row: u64, mut into: impl FnMut(Segment)) {
    let mut rest = points;
    while let Some(&(first, base)) = rest.first() {
        let exact = exact_run(rest);
        if let Some(gamma) = gamma
            && let Some((slope, length)) = fitted_run(rest, gamma, row)
            && is_cheaper(&rest[..length])
        {
            let mut units = Units::default();
            rest[..length].iter().for_each(|&(unit, _)| units.insert(unit));
            let last = rest[length - 1].0;
            into(Segment { first, last, base, form: Form::Fitted { slope, units } });
            rest = &rest[length..];
            continue;
        }
        let stride = if exact > 1 { rest[1].0 - first } else { 1 };
        into(Segment::exact(first, rest[exact - 1].0, stride, base));
        rest = &rest[exact..];
    }
}

/// Number of the first points that make one exact segment.
fn exact_run(points: &[Point]) -> usize {
    let steps = points.windows(2).map(|pair| (pair[1].0 - pair[0].0, pair[1].1 == pair[0].1 + 1));
    let mut stride = None;
    1 + steps.take_while(|&(step, follows)| follows && *stride.get_or_insert(step) == step).count()
}

/// Whether points take less memory as one fitted segment, with a byte for each and one for their
/// end, than as exact segments.
fn is_cheaper(points: &[Point]) -> bool {
    let (mut rest, mut exact) = (points, 0);
    while !rest.is_empty() {
        exact += SEGMENT_BYTES;
        rest = &rest[exact_run(rest)..];
    }
    SEGMENT_BYTES + points.len() as u64 + 1 < exact
}

/// Slope of a line from the first point that errs by at most `gamma`, and the number of its points,
/// two at least. The line does not lead beyond the last of them.
fn fitted_run(points: &[Point], gamma: u32, row: u64) -> Option<(u16, usize)> {
    let (first, base) = points[0];
    // Rounding gives a half away, and a bit more is lost with the last bits of the slope.
    let room = f64::from(gamma) + 0.49;
    let mut cone = (0.0f64, f64::from(u16::MAX) / f64::from(1 << FRACTION));
    let mut length = 1;
    for pair in points.windows(2) {
        let (unit, address) = pair[1];
        if address <= pair[0].1 || address / row != base / row {
            break;
        }
        let (x, y) = (f64::from(unit - first), (address - base) as f64);
        let narrower = (cone.0.max((y - room) / x), cone.1.min((y + room) / x));
        if narrower.0 > narrower.1 {
            break;
        }
        cone = narrower;
        length += 1;
    }
    (2..=length).rev().find_map(|length| {
        let (last, end) = points[length - 1];
        let steepest = (end - base) as f64 / f64::from(last - first);
        let slope = (steepest.min(cone.1).max(cone.0) * f64::from(1 << FRACTION)).floor() as u16;
        let is_near = |&(unit, address): &Point| {
            (base + on_line(slope, unit - first)).abs_diff(address) <= u64::from(gamma)
        };
        let stays = base + on_line(slope, last - first) <= end;
        (stays && points[..length].iter().all(is_near)).then_some((slope, length))
    })
}
