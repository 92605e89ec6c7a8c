//! Tests of error correction in a whole drive: agreement of models, the cost of soft reads, lost
//! pages, and the codeword layout of named codes.

#![allow(clippy::print_stdout)]

use crate::running;

use base::error::assert_carries;
use host::config;
use running::{number, refused, run};
use serde_json::Value;
use ssd::precondition::Precondition;

/// A chip whose pages are all read at one bit error rate.
fn rate(rber: &str) -> String {
    format!("chip.array={{name='power_law', epsilon={rber}, alpha=0.0, beta=0.0, gamma=0.0}}")
}

fn ecc(report: &Value, key: &str) -> f64 {
    number(&report["ecc"][key])
}

/// Runs to the end, and checks the laws of every run.
fn checked(sets: &[&str], job: &str, precondition: Precondition) -> Value {
    let report = run(sets, job, precondition).unwrap_or_else(|error| panic!("{sets:?}: {error}"));
    let checks = &report["checks"];
    assert_eq!(checks["conservation"]["ok"], true, "{checks}");
    assert!(checks["busy_idle_error"].as_f64().unwrap() < 1e-9, "{checks}");
    report
}

const READS: &str = "rw=randread\nbs=4k\niodepth=16\nnumber_ios=2000\nnorandommap=1";

/// Three models of one BCH code on one drive agree: words corrected for certain are the same, word
/// by word, and the rest of the drive does not depend on the model.
#[test]
fn three_models_of_one_code_agree() {
    // 40 errors of 4616 bits are a rate of 0.0087: one word in five fails at 0.0077.
    let rate = rate("0.0077");
    let base = [rate.as_str(), "ecc.code=bch_512_t40", "chip.geometry.spare_bytes=0"];
    let of = |model: &[&str]| checked(&[&base, model].concat(), READS, Precondition::Fill);
    let threshold = of(&["ecc.model=threshold"]);
    assert_eq!(threshold["nandlab"]["config"]["ecc"]["t"], 40, "the code's");
    let exact = of(&["ecc.model=exact"]);
    let profile = of(&[]);
    assert_eq!(profile["nandlab"]["config"]["ecc"]["model"], "profile");
    let keys = ["codewords", "raw_bit_errors", "hard_failures", "uncorrectable"];
    for key in keys {
        let (bound, real) = (ecc(&threshold, key), ecc(&exact, key));
        println!(
            "validation | {key}, BCH t = 40, exact against threshold | {real} | {bound} | 0 | \
             every word really decoded"
        );
        assert_eq!(real, bound, "{key}");
    }
    // A read has eight codewords of 512 bytes.
    assert_eq!(ecc(&exact, "codewords"), 16_000.0);
    let share = ecc(&exact, "hard_failures") / 16_000.0;
    assert!((0.1..0.3).contains(&share), "{share}");
    assert_eq!(ecc(&profile, "hard_failures"), ecc(&exact, "hard_failures"));
    assert_eq!(ecc(&exact, "iterations"), ecc(&profile, "iterations"));
    // Times depend on iterations: the same again.
    assert_eq!(exact["host"]["latency_us"], profile["host"]["latency_us"]);
    let energy = ecc(&exact, "iterations") * 1.5e-6 * 4616.0;
    assert!((ecc(&exact, "energy_uj") / energy - 1.0).abs() < 1e-3, "{}", exact["ecc"]);
}

/// Soft reads of a drive at the end of its life show in all counts, and combining them in the chip
/// saves as much bus time as it should.
#[test]
fn soft_reads_show_in_every_figure() {
    let rate = rate("0.0027");
    let sets = |retry: &'static str| {
        let code = ["ecc.model=threshold", "ecc.payload_bytes=4096", "ecc.parity_bytes=224"];
        let costs = ["ecc.t_decode_us=5", "ecc.t_soft_decode_us=10", "buffer.bytes=0"];
        let mut sets: Vec<String> = code.iter().chain(&costs).map(|&set| set.to_owned()).collect();
        sets.extend([rate.clone(), format!("retry.name={retry}")]);
        sets
    };
    let of = |retry| {
        let sets = sets(retry);
        let sets: Vec<&str> = sets.iter().map(String::as_str).collect();
        let job = READS.replace("number_ios=2000", "number_ios=20000");
        checked(&sets, &job, Precondition::Fill)
    };
    let (none, sd, nasd) = (of("none"), of("soft_decision"), of("nand_assisted"));
    let failed = ecc(&none, "hard_failures");
    // 22 % of words of 34,560 bits hold more than 100 errors at this rate.
    assert!((0.1..0.4).contains(&(failed / 20_000.0)), "{failed}");
    assert_eq!(number(&none["host"]["requests_failed"]), failed);
    for soft in [&sd, &nasd] {
        assert_eq!(number(&soft["host"]["requests_failed"]), 0.0);
        assert_eq!(ecc(soft, "hard_failures"), failed, "the same words fail");
        assert_eq!(soft["ecc"]["soft_reads"][0], failed as u64, "each goes up one level");
        assert_eq!(ecc(soft, "further_decodes"), failed);
        let reads = number(&soft["nand"]["reads"]) - number(&none["nand"]["reads"]);
        assert_eq!(reads, 2.0 * failed);
        let tail = |report: &Value| number(&report["host"]["read"]["latency_us"]["p99_9"]);
        assert!(tail(soft) > 1.3 * tail(&none), "{} {}", tail(soft), tail(&none));
    }
    // Bus time: a transfer each for the hard reads, two or one for each soft read.
    let energy = |report: &Value| number(&report["nand"]["energy"]["bus_uj"]);
    let one = energy(&none) / 20_000.0;
    for (report, transfers) in [(&sd, 2.0), (&nasd, 1.0)] {
        let expected = energy(&none) + transfers * failed * one;
        assert!((energy(report) / expected - 1.0).abs() < 1e-9, "{} {expected}", energy(report));
    }
    assert!(number(&nasd["host"]["iops"]) > number(&sd["host"]["iops"]));
    let mean = |report: &Value| number(&report["host"]["read"]["latency_us"]["mean"]);
    assert!(mean(&nasd) < mean(&sd) && mean(&none) < mean(&nasd));
}

/// Retention moves the voltages, and a retry table follows them: hard reads alone bring the data
/// back.
#[test]
fn a_retry_table_follows_retention() {
    let sets = |retry: &'static str| {
        [
            "chip.cell_bits=3",
            "chip.cell.preset=tlc_3d",
            "chip.page_order=one_shot",
            "chip.geometry.pages_per_block=96",
            "chip.timing.t_read_us=50",
            "chip.timing.t_program_us=1000",
            "chip.array.name=table",
            "age.pe_cycles=300",
            "age.retention_hours=8000",
            "ecc.model=threshold",
            "ecc.t=150",
            retry,
        ]
    };
    let none = checked(&sets("retry.name=none"), READS, Precondition::Fill);
    let retry = checked(&sets("retry.name=read_retry"), READS, Precondition::Fill);
    let failed = ecc(&none, "uncorrectable");
    assert!(failed > 20.0, "{}", none["ecc"]);
    // Reads disturb each other in another order: about as many fail at first.
    assert!((ecc(&retry, "hard_failures") / failed - 1.0).abs() < 0.2, "{}", retry["ecc"]);
    assert!(ecc(&retry, "retries") >= 0.8 * failed, "{}", retry["ecc"]);
    let soft = retry["ecc"]["soft_reads"].as_array().unwrap().first().map_or(0.0, number);
    assert!(soft < 0.3 * failed, "{}", retry["ecc"]);
    assert_eq!(ecc(&retry, "uncorrectable"), 0.0);
}

/// Words that no level corrects are lost: the host is told, and blocks with many losses are
/// retired.
#[test]
fn what_is_lost_is_told_and_its_block_retired() {
    let rate = rate("0.001");
    let sets = [
        rate.as_str(),
        "ecc.model=shares",
        "ecc.failures=[0.1, 0.02, 0.01]",
        "retry.name=soft_decision",
        "retry.retire_after=2",
        "chip.geometry.blocks_per_plane=64",
    ];
    let job = "rw=randrw\nbs=4k\niodepth=16\nnumber_ios=60000\nnorandommap=1";
    let report = checked(&sets, job, Precondition::Fill);
    let lost = ecc(&report, "uncorrectable");
    let failed = number(&report["host"]["requests_failed"]);
    assert!(lost >= failed && failed > 100.0, "{lost} {failed}");
    // Shares of 10 %, 2 % and 1 % of all first reads, within five standard errors. The last two
    // count pages, of which hardly any has two such words.
    let reads = ecc(&report, "codewords");
    let soft: Vec<f64> =
        report["ecc"]["soft_reads"].as_array().unwrap().iter().map(number).collect();
    let hard = ecc(&report, "hard_failures");
    assert!((0.9 * hard..hard).contains(&soft[0]), "{} pages, {hard} words", soft[0]);
    for (count, share) in [(hard, 0.1), (soft[1], 0.02), (lost, 0.01)] {
        let spread = 5.0 * (reads * share).sqrt();
        assert!((count - reads * share).abs() < spread, "{count} of {reads}, {share}");
    }
    let retired = number(&report["ftl"]["retired_blocks"]);
    assert!(retired > 5.0, "{}", report["ftl"]);
    let bad = number(&report["checks"]["conservation"]["bad_units"]);
    // A block of 64 pages of two units.
    assert_eq!(bad, 128.0 * retired);
}

/// Soft reads beyond the measured levels cost their reads and save no word.
#[test]
fn soft_levels_that_nobody_knows_are_refused() {
    for (code, model, levels) in [
        ("ldpc_1k_r90", "profile", 2),
        ("bch_512_t40", "profile", 0),
        ("bch_512_t40", "threshold", 0),
    ] {
        let (code, model) = (format!("ecc.code={code}"), format!("ecc.model={model}"));
        let expected = format!("at most {levels}");
        for more in [0, 1] {
            let levels = format!("retry.max_levels={}", levels + more);
            let spare = "chip.geometry.spare_bytes=0";
            let sets = [code.as_str(), &model, spare, "retry.name=nand_assisted", &levels];
            match run(&sets, READS, Precondition::None) {
                Ok(_) => assert_eq!(more, 0, "{sets:?}"),
                Err(error) => {
                    assert_eq!(more, 1, "{sets:?}: {error}");
                    assert_carries(error, &["retry.max_levels", &expected]);
                }
            }
        }
    }
}

/// Retries at other references are refused where the law of errors has no references.
#[test]
fn references_that_a_law_does_not_have_are_refused() {
    for (array, moves) in [("ideal", true), ("power_law", false), ("exponential", false)] {
        let array = format!("chip.array.name={array}");
        for (shifts, are) in [("[-0.1, 0.2]", moves), ("[0.0]", true), ("[]", true)] {
            let shifts = format!("retry.shifts_v={shifts}");
            let sets = [&*array, "retry.name=read_retry", &*shifts, "ecc.model=threshold"];
            match run(&sets, READS, Precondition::None) {
                Ok(_) => assert!(are, "{sets:?}"),
                Err(error) => {
                    assert!(!are, "{sets:?}: {error}");
                    assert_carries(error, &["retry.shifts_v", "-0.1", "chip.array.name"]);
                }
            }
        }
    }
}

/// A durable write waits for the encoder too.
#[test]
fn encoding_takes_its_time() {
    let sets = [
        "host.link_mb_s=0",
        "host.link_latency_us=0",
        "controller.command_us=0",
        "buffer.bytes=0",
        "buffer.latency_us=0",
        "chip.timing.t_program_us=500",
        "chip.timing.t_transfer_us=0.1",
        "chip.timing.t_command_us=0",
        "chip.timing.bus_mt_s=400",
        "ecc.decoders=1",
    ];
    let job = "rw=randwrite\nbs=4k\niodepth=1\nnumber_ios=100\nnorandommap=1";
    let latency = |encode: &'static str| {
        let report = checked(&[&sets[..], &[encode]].concat(), job, Precondition::None);
        assert_eq!(ecc(&report, "encoded"), 200.0, "a page of two codewords, half of it padding");
        number(&report["host"]["write"]["latency_us"]["max"])
    };
    let expected = 2.0 * 10.24 + 0.1 + 500.0;
    for (set, encode) in [("ecc.t_encode_us=0", 0.0), ("ecc.t_encode_us=7", 14.0)] {
        let ours = latency(set);
        let source = "two codewords in one encoder + transfer + program";
        println!(
            "validation | durable write, {set}, us | {ours} | {} | 0 | {source}",
            expected + encode
        );
        assert_eq!(ours, expected + encode);
    }
}

/// A code decides the bytes of a codeword; models, bytes and errors follow from it.
#[test]
fn a_named_code_says_what_a_codeword_holds() {
    let load = |sets: &[&str]| {
        let sets = ["chip.geometry.spare_bytes=0"].iter().chain(sets);
        let sets: Vec<String> = sets.map(|&set| set.to_owned()).collect();
        config::load("zuolo2016_a_mlc", &sets)
    };
    let loaded = load(&["ecc.code=bch_4320_t100"]).unwrap();
    let (common, choice) = loaded.config.ecc_parts().unwrap();
    assert_eq!((common.payload_bytes, common.parity_bytes), (4096, 224));
    assert_eq!(choice.name, "profile");
    assert_eq!(common.code_hash.len(), 16);
    assert!(loaded.cite.iter().any(|key| key == "bose1960"), "{:?}", loaded.cite);
    // Another code after it brings its own bytes.
    let sets = ["ecc.code=bch_4320_t100", "ecc.code=bch_1024_t72", "ecc.model=exact"];
    let (common, choice) = load(&sets).unwrap().config.ecc_parts().unwrap();
    assert_eq!((common.payload_bytes, common.parity_bytes), (1024, 126));
    assert_eq!(choice.name, "exact");
    // An assigned model stays.
    let sets = ["ecc.model=threshold", "ecc.t=72", "ecc.code=bch_1024_t72"];
    assert_eq!(load(&sets).unwrap().config.ecc_parts().unwrap().1.name, "threshold");
    // The code gives what its model needs, whichever of the two comes first.
    for sets in [
        ["ecc.model=threshold", "ecc.code=bch_1024_t72"],
        ["ecc.code=bch_1024_t72", "ecc.model=threshold"],
    ] {
        let (common, choice) = load(&sets).unwrap().config.ecc_parts().unwrap();
        assert_eq!((common.payload_bytes, choice.name.as_str()), (1024, "threshold"));
        assert_eq!(choice.params["t"].as_integer(), Some(72));
    }
    for (sets, parts) in [
        (&["ecc.code=bch_4321"][..], &["`bch_4321`", "did you mean"][..]),
        (&["ecc.code=bch_4320_t100", "ecc.parity_bytes=225"], &["ecc.parity_bytes", "225", "224"]),
        (&["ecc.code=bch_4320_t100", "ecc.code_hash='0123'"], &["ecc.code_hash"]),
        (&["ecc.parity_bytes=225", "ecc.code=bch_4320_t100"], &["ecc.parity_bytes", "225", "224"]),
        (&["ecc.model=threshold", "ecc.code=bch_4320_t100", "ecc.t=99"], &["ecc.t", "99", "100"]),
        (&["ecc.model=exact"], &["ecc.code", "\"exact\""]),
        (&["ecc.model=profile"], &["ecc.code", "\"profile\""]),
    ] {
        let error = load(sets).map(drop).or_else(|_| {
            // Some errors are found only when the drive is built.
            load(sets).map(drop)
        });
        let text = match error {
            Err(error) => error.to_string(),
            Ok(()) => refused(sets, READS),
        };
        assert_carries(text, parts);
    }
}
