//! Tests of pace: rates and their processes, pauses, and requests in a ramp.

use crate::running;

use host::run::stats::RequestLog;
use running::number;
use serde_json::Value;
use ssd::precondition::Precondition;
use ssd::request::Op;

/// Runs a job to its end on a full small drive. Returns its report and its requests.
fn run(job: &str) -> (Value, RequestLog) {
    run_with(&[], job)
}

fn run_with(sets: &[&str], job: &str) -> (Value, RequestLog) {
    let mut session = running::session(sets, job, Precondition::Fill).unwrap();
    session.run.log = Some(RequestLog::default());
    while !session.advance(10_000).unwrap() {}
    let report = session.report(host::report::Outside::default()).unwrap();
    (report, session.run.log.take().unwrap())
}

/// Arrivals of `ops`, in the order of time, in seconds.
fn arrivals(log: &RequestLog, ops: &[Op]) -> Vec<f64> {
    let of_ops = |&(_, &op): &(&u64, &u8)| ops.iter().any(|&wanted| wanted as u8 == op);
    let mut all: Vec<f64> =
        log.arrival_ns.iter().zip(&log.op).filter(of_ops).map(|(&ns, _)| ns as f64 / 1e9).collect();
    all.sort_by(f64::total_cmp);
    all
}

/// Mean of the gaps between arrivals, and their coefficient of variation.
fn gaps(arrivals: &[f64]) -> (f64, f64) {
    let gaps: Vec<f64> = arrivals.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
    let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
    (mean, variance.sqrt() / mean)
}

const BOTH: &[Op] = &[Op::Read, Op::Write];

/// Each direction of a mixed job has its given rate, whatever the mix is.
#[test]
fn directions_keep_their_own_rates() {
    let job = "rw=randrw\niodepth=16\ntime_based=1\nruntime=500ms\nnorandommap=1";
    for (more, reads, writes) in [
        ("rate_iops=9000,1000", 9000.0, 1000.0),
        ("rate_iops=2000,2000\nrwmixread=90", 2000.0, 2000.0),
        ("rate=8m,2m\nbs=4k", 2048.0, 512.0),
    ] {
        let (_, log) = run(&format!("{job}\n{more}"));
        for (op, rate) in [(Op::Read, reads), (Op::Write, writes)] {
            let (mean, variation) = gaps(&arrivals(&log, &[op]));
            assert!((mean * rate - 1.0).abs() < 0.01, "{more}: {op:?} every {mean} s");
            // Evenly, but for the queue, which may be full for a moment.
            assert!(variation < 0.5, "{more}: {op:?} {variation}");
        }
    }
    // A direction without a rate goes as fast as the queue lets it.
    let (_, log) = run(&format!("{job}\nrate_iops=,500"));
    let (reads, writes) = (arrivals(&log, &[Op::Read]).len(), arrivals(&log, &[Op::Write]).len());
    assert!((240..=251).contains(&writes), "{writes}");
    assert!(reads > 5000, "{reads}");
    // A job of one direction has no other request to send meanwhile.
    let (_, log) = run(&format!("{job}\nrate_iops=9000,1000\nrwmixread=0"));
    assert!(arrivals(&log, &[Op::Read]).is_empty());
    // Where the drive cannot keep up with either, the mix decides.
    let (_, log) = run(&format!("{job}\nrate_iops=1000000,1000000\nrwmixread=70"));
    let (reads, writes) = (arrivals(&log, &[Op::Read]).len(), arrivals(&log, &[Op::Write]).len());
    let share = reads as f64 / (reads + writes) as f64;
    assert!((share - 0.7).abs() < 0.03, "{share}");
}

/// A Poisson process of two directions is one in each, and one in both together: the variation of
/// gaps is 1, and no gap is 0.
#[test]
fn poisson_arrivals_are_a_poisson_process() {
    let job = "rw=randrw\niodepth=256\nnumber_ios=20000\nnorandommap=1\nrate_process=poisson";
    for rates in ["rate_iops=3000,3000", "rate_iops=3500,1500\nrwmixread=70", "rate_iops=3000,500"]
    {
        let (_, log) = run(&format!("{job}\n{rates}"));
        for ops in [BOTH, &[Op::Read], &[Op::Write]] {
            let arrivals = arrivals(&log, ops);
            let (_, variation) = gaps(&arrivals);
            // Four standard errors of the variation of so many exponential gaps.
            let bound = 4.0 / (arrivals.len() as f64).sqrt();
            assert!((variation - 1.0).abs() < bound, "{rates}, {ops:?}: {variation}");
        }
        let both = arrivals(&log, BOTH);
        let none = both.windows(2).filter(|pair| pair[1] - pair[0] < 1e-9).count();
        assert!(none < 5, "{none} gaps of nothing");
    }
}

/// The job's seed decides its arrivals, and the drive's does not where the job has one.
#[test]
fn seeds_of_a_job_decide_its_arrivals() {
    let job = "rw=randread\nnumber_ios=200\nrate_iops=5000\nrate_process=poisson\nrandseed=";
    let arrivals = |sets: &[&str], seed: u32| run_with(sets, &format!("{job}{seed}")).1.arrival_ns;
    assert_ne!(arrivals(&[], 1), arrivals(&[], 2));
    assert_eq!(arrivals(&["seed=1"], 5), arrivals(&["seed=2"], 5));
}

/// Requests that complete after the ramp are counted: rates do not lack a queue's worth.
#[test]
fn a_ramp_changes_no_rate_of_a_steady_run() {
    let job = "rw=randread\niodepth=512\nnorandommap=1\ntime_based=1";
    let (plain, _) = run(&format!("{job}\nruntime=2s"));
    let (ramped, _) = run(&format!("{job}\nruntime=100ms\nramp_time=100ms"));
    let (plain, ramped) = (number(&plain["host"]["iops"]), number(&ramped["host"]["iops"]));
    assert!((ramped / plain - 1.0).abs() < 0.02, "{ramped} and {plain}");
}

/// Pauses come after `thinktime_blocks` reads, writes and trims; flushes do not count.
#[test]
fn flushes_do_not_count_towards_a_pause() {
    for (fsync, depth) in [(0, 1), (1, 1), (2, 1), (1, 4)] {
        let (_, log) = run(&format!(
            "rw=write\nsize=64k\nthinktime=100ms\nthinktime_blocks=4\n\
             fsync={fsync}\niodepth={depth}"
        ));
        let sent = arrivals(&log, &[Op::Read, Op::Write, Op::Flush]);
        let pauses = sent.windows(2).filter(|pair| pair[1] - pair[0] >= 0.1).count();
        assert_eq!(pauses, 3, "fsync={fsync}: 16 writes in fours");
    }
}
