//! Tests of the rules: runs that have settled, and runs that only look so.

use super::*;

/// A run on a drive of 4000 bytes. Its parts have these write amplifications, and each reclaims
/// `blocks` blocks.
fn run(goal: Goal, parts: impl IntoIterator<Item = f64>, blocks: u64) -> Settling {
    let mut settling = Settling::new(4000, Mark::default());
    settling.watch(goal);
    let mut mark = Mark::default();
    for value in parts {
        mark.at += Time(1_000_000_000);
        mark.written += 1000;
        mark.bytes += 1000;
        // A part that amplifies twice as much takes twice as long: here it does half as much.
        mark.completed += (1e6 / value) as u64;
        mark.ftl.host_units += 1_000_000;
        mark.ftl.moved_units += ((value - 1.0) * 1e6) as u64;
        mark.ftl.reclaimed_blocks += blocks;
        settling.close(mark, None);
    }
    settling
}

#[test]
fn a_level_settles_and_a_drift_does_not() {
    let settled = |parts: Vec<f64>| run(Goal::default(), parts, 1).settled_value();
    assert!((settled(vec![2.0; 8]).unwrap() - 2.0).abs() < 1e-9);
    // Less than two drive writes do not settle.
    assert_eq!(settled(vec![2.0; 7]), None);
    // A rise of a tenth of the mean, and one of half that size.
    let rise = |by: f64| (0..8).map(|i| 2.0 + 2.0 * by * f64::from(i) / 7.0).collect::<Vec<_>>();
    assert_eq!(settled(rise(0.12)), None);
    assert!(settled(rise(0.05)).is_some());
    // Values that scatter widely may hide a rise: not settled, until there are many of them.
    let noise = |count: usize| (0..count).map(|i| 2.0 + 0.4 * (i as f64 * 2.4).sin());
    assert_eq!(settled(noise(8).collect()), None);
    assert!(settled(noise(96).collect()).is_some());
    // The beginning is left out.
    let late = [1.0; 8].into_iter().chain([3.0; 16]);
    assert!((settled(late.collect()).unwrap() - 3.0).abs() < 1e-9);
}

/// A drive with free blocks has a write amplification of 1, and has not settled.
#[test]
fn a_drive_that_collects_nothing_has_not_settled() {
    assert_eq!(run(Goal::default(), [1.0; 20], 0).settled_value(), None);
    assert!(run(Goal::default(), [1.0; 20], 1).settled_value().is_some());
}

/// A run that never settles is given up.
#[test]
fn a_run_that_does_not_settle_is_given_up() {
    let swings = (0..100).map(|i| if i / 16 % 2 == 0 { 1.0 } else { 9.0 });
    let settling = run(Goal::default(), swings.clone(), 1);
    assert_eq!((settling.settled_value(), settling.is_over()), (None, true));
    assert!(!run(Goal::default(), swings.take(99), 1).is_over());
}

#[test]
fn the_rule_of_snia() {
    let goal = Goal { metric: Metric::Iops, rule: Rule::Pts };
    let settled = |parts: Vec<f64>| run(goal, parts, 0).settled_value().is_some();
    assert!(!settled(vec![2.0; 4]));
    assert!(settled(vec![2.0; 5]));
    // The extremes differ by 18 %, then by 22 %.
    assert!(settled(vec![2.0, 1.82, 2.18, 1.82, 2.0]));
    assert!(!settled(vec![2.0, 1.78, 2.22, 1.78, 2.0]));
    // A line that falls by 12 %.
    assert!(!settled((0..5).map(|i| 2.0 - 0.06 * f64::from(i)).collect()));
}

#[test]
fn the_rule_of_fio() {
    let second = Time(1_000_000_000);
    let rule = FioRule {
        is_slope: false,
        limit: 5.0,
        is_percent: true,
        window: second * 4,
        ramp: second * 2,
        interval: second,
    };
    let settled = |rule, parts: Vec<f64>| {
        run(Goal { metric: Metric::Iops, rule: Rule::Fio(rule) }, parts, 0).settled_value()
    };
    assert!(settled(rule, vec![2.0; 6]).is_some());
    assert_eq!(settled(rule, vec![2.0; 5]), None);
    assert_eq!(settled(rule, vec![2.0, 2.0, 2.0, 2.0, 2.0, 2.3]), None);
    // A rate of 500,000 a second that falls by 20,000 every second.
    let slower: Vec<f64> = (0..6).map(|i| 1e6 / (5e5 - 2e4 * f64::from(i))).collect();
    let slope = FioRule { is_slope: true, is_percent: false, ..rule };
    assert!(settled(FioRule { limit: 20_100.0, ..slope }, slower.clone()).is_some());
    assert_eq!(settled(FioRule { limit: 19_900.0, ..slope }, slower), None);
}

#[test]
fn percentiles_are_those_of_the_window() {
    let metric = Metric::Percentile(50.0);
    let mut settling = Settling::new(4000, Mark::default());
    settling.watch(Goal { metric, rule: Rule::Trend });
    let mut latency = Latency::new();
    for part in 0..16u64 {
        let us = if part < 8 { 1000 } else { 20 };
        (0..100).for_each(|_| latency.record(Time(us * 1000)));
        settling.close(
            Mark { at: Time(part + 1), completed: 100 * (part + 1), ..Mark::default() },
            Some(latency.clone()),
        );
    }
    let value = settling.settled_value().unwrap();
    assert!((value - 20.0).abs() < 0.1, "{value}");
}
