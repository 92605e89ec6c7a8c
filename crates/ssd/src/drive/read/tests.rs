//! Tests of the latency of reads with retries, to the nanosecond.

use crate::failure::retry::{Reread, Retry};
use crate::flash::timeline::{SpanKind, Track};
use crate::terms::request::{Op, Request};
use crate::{Completion, Ssd, Step, test_drive};
use base::Time;
use ecc::model::{Decode, Model, Word};

/// Command cycles, array, bus and decoder of the drives here, in ns.
const C: u64 = 500;
const A: u64 = 50_000;
const B: u64 = 10_240;
const D: u64 = 5_000;

/// Retry policy with these rounds, each with its level, senses and transfers.
struct Rounds(&'static [(u8, u8, u8)]);

impl Retry for Rounds {
    fn after_failure(&self, attempt: u8) -> Option<Reread> {
        let &(level, senses, transfers) = self.0.get(usize::from(attempt))?;
        Some(Reread { level, senses, transfers, shift_v: 0.0 })
    }
}

/// Model that fails this many hard decodes, and no soft one.
struct FailsAtFirst(u32);

impl Model for FailsAtFirst {
    fn decode(&mut self, word: &Word) -> Decode {
        let corrected = word.level > 0 || self.0 == 0;
        self.0 -= u32::from(!corrected);
        Decode { errors: 1, corrected, iterations: 0, time: Time(D) }
    }
}

/// A drive of one channel holding `units` units, each in a page of its own; on two dies, the odd
/// ones lie on the second.
fn drive(sets: &[&str], units: u64) -> Ssd {
    let own = [
        "chip.geometry.pages_per_block=8",
        "chip.timing.t_command_us=0.5",
        "chip.array={name='power_law', epsilon=0.01}",
        "ecc={model='threshold', t=0, t_decode_us=5}",
    ];
    let config = test_drive::config(&[&own, sets].concat());
    let mut ssd = Ssd::new(&config, 1 << 30).unwrap();
    ssd.start(0);
    for unit in 0..units {
        let now = ssd.now();
        ssd.submit(Request::new(Op::Write, 4096 * unit, 4096), 0, now);
        finish(&mut ssd);
    }
    ssd
}

fn finish(ssd: &mut Ssd) -> Completion {
    let Step::Completed(slot) = ssd.step() else { panic!("lost") };
    assert!(matches!(ssd.step(), Step::Idle));
    *ssd.completed(slot)
}

/// The latencies of reads of units, each submitted so many nanoseconds after the start.
fn read(ssd: &mut Ssd, reads: &[(u64, u64)]) -> Vec<(Completion, u64)> {
    let start = ssd.now();
    for (i, &(_, after)) in reads.iter().enumerate() {
        ssd.wake_at(start + Time(after), i as u32);
    }
    let mut done = Vec::new();
    loop {
        match ssd.step() {
            Step::Wake(i) => {
                let now = ssd.now();
                let (unit, _) = reads[i as usize];
                ssd.submit(Request::new(Op::Read, 4096 * unit, 4096), i, now);
            }
            Step::Completed(slot) => {
                let completion = *ssd.completed(slot);
                done.push((completion, ssd.now().since(completion.arrival).0));
            }
            Step::Idle => break,
            Step::Ready => unreachable!("nobody cut the power"),
        }
    }
    assert_eq!(done.len(), reads.len());
    ssd.fault().unwrap();
    done.sort_by_key(|(completion, _)| completion.token);
    done
}

/// Every round costs what it says: command and array for each transfer, bus for each transfer,
/// one decode for the round; with a second register the second of two reads goes on while the
/// first is transferred.
#[test]
fn a_failed_read_goes_round_as_asked() {
    for cache_read in [false, true] {
        // Level, senses, transfers; then senses, transfers, commands and overlapped transfers.
        for (rounds, senses, transfers, commands, overlapped) in [
            (&[][..], 1, 1, 1, 0),
            (&[(0, 1, 1)][..], 2, 2, 2, 0),
            (&[(1, 1, 2)][..], 3, 3, 3, 1),
            (&[(1, 2, 1)][..], 3, 2, 2, 0),
            (&[(1, 1, 2), (2, 2, 1)][..], 5, 4, 4, 1),
            (&[(1, 1, 2), (2, 1, 2)][..], 5, 5, 5, 2),
        ] {
            let mut ssd = drive(&[&format!("chip.features.cache_read={cache_read}")], 1);
            // Nothing ever decodes here.
            (ssd.reader.retry, ssd.codes.first.model) =
                (Box::new(Rounds(rounds)), Box::new(FailsForEver));
            let reads = ssd.flash_counts().reads;
            let (done, latency) = read(&mut ssd, &[(0, 0)])[0];
            assert!(done.failed);
            let attempts = 1 + rounds.len() as u64;
            let overlapped = if cache_read { overlapped } else { 0 };
            let expected = commands * C + senses * A + (transfers - overlapped) * B + attempts * D;
            assert_eq!(latency, expected, "{rounds:?} cache read {cache_read}");
            assert_eq!(ssd.flash_counts().reads - reads, senses);
            let parts = done.parts;
            assert_eq!((parts.bus, parts.ecc), (Time(transfers * B), Time(attempts * D)));
            let sum = parts.queue + parts.flash + parts.bus + parts.ecc;
            assert_eq!(sum, Time(latency), "{rounds:?}: {parts:?}");
            if overlapped == 0 {
                assert_eq!(parts.flash, Time(senses * A));
                // What is left are the command cycles.
                assert_eq!(parts.queue, Time(commands * C));
            }
            let counts = ssd.counts();
            assert_eq!(counts.codes.hard_failures, 1);
            assert_eq!(counts.codes.uncorrectable, 1);
            let soft = rounds.iter().filter(|&&(level, _, _)| level > 0).count() as u64;
            assert_eq!(counts.further_reads.soft_reads.iter().sum::<u64>(), soft);
            assert_eq!(counts.further_reads.retries + soft, rounds.len() as u64);
            assert_eq!(counts.codes.further_decodes, rounds.len() as u64);
        }
    }
}

struct FailsForEver;

impl Model for FailsForEver {
    fn decode(&mut self, _: &Word) -> Decode {
        Decode { errors: 1, corrected: false, iterations: 0, time: Time(D) }
    }
}

/// A hard failure of unit 0 and one soft read, of the policy called `name`; reads of other units
/// decode at once.
fn one_level(name: &str, sets: &[&str], reads: &[(u64, u64)]) -> (Ssd, Vec<u64>) {
    let retry = format!("retry.name={name}");
    let sets: Vec<&str> = sets.iter().copied().chain([retry.as_str()]).collect();
    let mut ssd = drive(&sets, 3);
    ssd.codes.first.model = Box::new(FailsAtFirst(1));
    ssd.keep_timeline(100, Time::ZERO);
    let done = read(&mut ssd, reads);
    assert!(done.iter().all(|(completion, _)| !completion.failed));
    assert_eq!(ssd.counts().further_reads.soft_reads[..2], [1, 0]);
    (ssd, done.iter().map(|&(_, latency)| latency).collect())
}

/// Prints a row of docs/validation.md, then holds it to equality.
fn validate(what: &str, ours: u64, expected: u64, source: &str) {
    println!("validation | {what} | {ours} | {expected} | 0 | {source}");
    assert_eq!(ours, expected, "{what}");
}

/// Zuolo 2016, Fig. 2, 3 and 5: a read with one soft read, alone on its bus.
#[test]
fn one_soft_level_alone() {
    let hard = C + A + B + D;
    let alone = [(0, 0)];
    let (_, sd) = one_level("soft_decision", &[], &alone);
    let source = "hard read, 2 x (command + array + transfer), decode";
    validate("QD1 read, one soft read, SD, ns", sd[0], hard + 2 * (C + A + B) + D, source);
    let cache = ["chip.features.cache_read=true"];
    let (_, sd) = one_level("soft_decision", &cache, &alone);
    let source = "the second array read overlaps the first transfer";
    validate(
        "QD1 read, one soft read, SD, cache read, ns",
        sd[0],
        hard + 2 * (C + A) + B + D,
        source,
    );
    for cache in [&[][..], &cache] {
        let (_, nasd) = one_level("nand_assisted", cache, &alone);
        let source = "hard read, command, 2 x array, transfer, decode";
        validate("QD1 read, one soft read, NASD, ns", nasd[0], hard + C + 2 * A + B + D, source);
    }
}

/// Spans of the bus, in their order.
fn on_the_bus(ssd: &Ssd) -> Vec<SpanKind> {
    let spans = ssd.timeline().spans().iter();
    spans.filter(|span| span.track == Track::Channel).map(|span| span.kind).collect()
}

/// Fig. 5: another die takes the bus between the two transfers of SD; NASD has but one, which is
/// through by then.
#[test]
fn one_soft_level_against_another_die() {
    use SpanKind::{DataOut, SoftOut};
    let hard = C + A + B + D;
    let two = "drive.dies_per_channel=2";
    // The other die is asked while the first transfer of SD is on the bus: its command goes out
    // right after that, ahead of the one for the second read, and so do its data.
    let reads = [(0, 0), (1, hard + C + A + 1000)];
    let (sd, latency) = one_level("soft_decision", &[two], &reads);
    let source = "as alone, and a whole transfer of the other die";
    let alone = hard + 2 * (C + A + B) + D;
    validate("one soft read, SD, bus contended, ns", latency[0], alone + B, source);
    assert_eq!(latency[1], B - 1000 + C + A + B + D, "the other came first");
    assert_eq!(on_the_bus(&sd), [DataOut, SoftOut, DataOut, SoftOut]);
    let (nasd, latency) = one_level("nand_assisted", &[two], &reads);
    let (source, alone) = ("as alone: the other comes after it", hard + C + 2 * A + B + D);
    validate("one soft read, NASD, bus contended, ns", latency[0], alone, source);
    assert_eq!(on_the_bus(&nasd), [DataOut, SoftOut, DataOut]);
}

/// Soft reads against another die with cache read: the other die is 700 ns ahead of the second
/// read.
#[test]
fn one_soft_level_against_another_die_with_cache_read() {
    use SpanKind::{DataOut, SoftOut};
    let hard = C + A + B + D;
    let sets = ["drive.dies_per_channel=2", "chip.features.cache_read=true"];
    let reads = [(0, 0), (1, hard + C + A - 700)];
    let (sd, latency) = one_level("soft_decision", &sets, &reads);
    let source = "as alone, and the rest of the other die's transfer";
    let alone = hard + 2 * (C + A) + B + D;
    validate(
        "one soft read, SD, cache read, contended, ns",
        latency[0],
        alone + B - C - 200,
        source,
    );
    assert_eq!(on_the_bus(&sd), [DataOut, SoftOut, DataOut, SoftOut]);
    // Its second read needs no command and is earlier by that.
    let (nasd, latency) = one_level("nand_assisted", &sets, &reads);
    let alone = hard + C + 2 * A + B + D;
    let what = "one soft read, NASD, cache read, contended, ns";
    validate(what, latency[0], alone + B - 700 + C, source);
    assert_eq!(on_the_bus(&nasd), [DataOut, DataOut, SoftOut]);
}

/// With cache read, another page of the die is read while a combined one leaves, if the two reads
/// were combined in the page buffer, and after that if they are combined on the way out.
#[test]
fn a_combined_read_leaves_like_any_or_takes_both_registers() {
    let soft = C + A + B + D + C + 2 * A;
    // The other read comes while the soft ones go on.
    let reads = [(0, 0), (1, soft - A)];
    let cache = "chip.features.cache_read=true";
    let of = |place: &str| {
        let place = format!("chip.features.combined_read={place}");
        one_level("nand_assisted", &[cache, &place], &reads).1
    };
    let latency = of("page_buffer");
    let source = "its command goes out first, its array read overlaps the transfer";
    validate("read behind NASD, page buffer, ns", latency[1], A + C + A + B + D, source);
    assert_eq!(latency[0], soft + C + B + D);
    let latency = of("output");
    let source = "after the transfer";
    validate("read behind NASD, output, ns", latency[1], A + B + C + A + B + D, source);
    assert_eq!(latency[0], soft + B + D);
}

/// While an earlier page leaves from the second register, both reads of a level go on if they are
/// combined in the page buffer; if on the way out, the second waits for that register.
#[test]
fn a_combined_read_behind_a_page_that_leaves() {
    const SHORT: u64 = 5_000;
    for (place, later) in [("page_buffer", 0), ("output", SHORT)] {
        let place = format!("chip.features.combined_read={place}");
        let sets = ["chip.features.cache_read=true", &place, "chip.timing.t_read_us=5"];
        // All three are asked for at once; the first fails.
        let (ssd, latency) = one_level("nand_assisted", &sets, &[(0, 0), (1, 0), (2, 0)]);
        // Commands of the second and third read go out ahead of the transfers of those before them.
        let first_out = C + SHORT + C + B;
        assert_eq!(latency[1], first_out + C + B + D);
        // The third is in the page register when the first has failed, and leaves after the second.
        let third_out = first_out + C + B + C + B;
        assert_eq!(latency[2], third_out + D);
        // The command of the soft read went out before the third's data; while they leave, there is
        // time for two reads.
        assert_eq!(latency[0], third_out + later + B + D, "{place}");
        let spans = ssd.timeline().spans().iter();
        let array: Vec<(SpanKind, u64)> = spans
            .filter(|span| span.track == Track::Die)
            .map(|span| (span.kind, span.end.since(span.start).0))
            .collect();
        use SpanKind::{Read, SoftRead};
        let soft = (SoftRead, SHORT);
        assert_eq!(array, [(Read, SHORT), (Read, SHORT), (Read, SHORT), soft, soft]);
    }
}

/// In turn: other reads of the die that wait by then come before each read of a soft read; no
/// erase does, though it is older than their turn.
#[test]
fn soft_reads_wait_their_turn() {
    use SpanKind::{Read, SoftRead};
    let alone = C + A + B + D + 2 * (C + A + B) + D;
    let (_, sd) = one_level("soft_decision", &["retry.in_turn=true"], &[(0, 0)]);
    validate("QD1 read, one soft read, SD in turn, ns", sd[0], alone, "one after the other");
    let cache = ["retry.in_turn=true", "chip.features.cache_read=true"];
    let (_, sd) = one_level("soft_decision", &cache, &[(0, 0)]);
    assert_eq!(sd[0], alone, "the second is asked for when the first has arrived");
    // One read of the die comes while the first decode runs, the other one while that is read.
    let reads = [(0, 0), (1, C + A + B), (2, C + A + B + 100)];
    for (in_turn, order) in [
        (true, [Read, Read, Read, SoftRead, SoftRead]),
        (false, [Read, Read, SoftRead, SoftRead, Read]),
    ] {
        let set = format!("retry.in_turn={in_turn}");
        let (ssd, _) = one_level("soft_decision", &[&set], &reads);
        let spans = ssd.timeline().spans().iter();
        let array: Vec<SpanKind> =
            spans.filter(|span| span.track == Track::Die).map(|span| span.kind).collect();
        assert_eq!(array, order, "in turn {in_turn}");
    }
}

/// Model that fails the first decode, after this time.
struct FailsLate(Option<Time>);

impl Model for FailsLate {
    fn decode(&mut self, _: &Word) -> Decode {
        let late = self.0.take();
        let time = late.unwrap_or(Time(D));
        Decode { errors: 1, corrected: late.is_none(), iterations: 0, time }
    }
}

/// A read whose data have moved on while it was decoded begins anew: all that it took is told.
#[test]
fn a_read_begun_anew_tells_all_of_its_time() {
    let mut ssd = drive(&[], 1);
    let late = Time(5_000_000);
    (ssd.reader.retry, ssd.codes.first.model) =
        (Box::new(Rounds(&[(0, 1, 1)])), Box::new(FailsLate(Some(late))));
    let (start, reads) = (ssd.now(), ssd.flash_counts().reads);
    ssd.submit(Request::new(Op::Read, 0, 4096), 0, start);
    ssd.wake_at(start + Time(200_000), 0);
    assert!(matches!(ssd.step(), Step::Wake(0)));
    ssd.submit(Request { fua: true, ..Request::new(Op::Write, 0, 4096) }, 1, ssd.now());
    let Step::Completed(slot) = ssd.step() else { panic!("lost") };
    assert_eq!(ssd.completed(slot).token, 1, "the write is first");
    let done = finish(&mut ssd);
    assert_eq!((done.failed, ssd.flash_counts().reads - reads), (false, 2));
    let parts = done.parts;
    assert_eq!((parts.flash, parts.bus), (Time(2 * A), Time(2 * B)));
    assert_eq!(parts.ecc, late + Time(D));
    assert_eq!(parts.queue + parts.flash + parts.bus + parts.ecc, ssd.now().since(start));
}
