//! Tests of sets of dies under jobs: a writer in one set leaves the reads of another as they are
//! alone, up to what sets share; the report's rows of sets add up to the drive.

use serde_json::Value;
use ssd::precondition::Precondition;

use crate::running::{number, run_file};

const READER: &str = "[reader]\nfilename=/dev/nvme0n1\nrw=randread\niodepth=2\n";
const WRITER: &str = "[writer]\nfilename=/dev/nvme0n2\nrw=randwrite\niodepth=8\n";

const HALVES: &str = "namespace=[{dies=2}, {share=1.0}]";
const SHARED: &str = "namespace=[{share=0.5}, {share=0.5}]";

/// Reads' 99th percentile in us, of the first job.
fn p99(namespaces: &str, bus: &str, jobs: &[&str], seed: u64) -> f64 {
    let global = "[global]\nbs=4k\nnorandommap\ntime_based\nruntime=400ms\n";
    let text = [&[global], jobs].concat().concat();
    let seed = format!("seed={seed}");
    let report = run_file(&[namespaces, bus, &seed], &text, Precondition::Steady).unwrap();
    assert_eq!(report["checks"]["conservation"]["ok"], true);
    number(&report["jobs"][0]["read"]["clat_ns"]["percentile"]["99.000000"]) / 1e3
}

/// Slowdown of the reader's p99 by the writer: least, mean and most of some seeds.
fn slowdown(namespaces: &str, bus: &str) -> [f64; 3] {
    let seeds = 1..=5;
    let of_seed = |seed| {
        let both = p99(namespaces, bus, &[READER, WRITER], seed);
        both / p99(namespaces, bus, &[READER], seed)
    };
    let all: Vec<f64> = seeds.map(of_seed).collect();
    let mean = all.iter().sum::<f64>() / all.len() as f64;
    let (least, most) = (f64::min, f64::max);
    [all.iter().copied().fold(f64::MAX, least), mean, all.iter().copied().fold(0.0, most)]
}

/// With a bus that takes no time the sets share nothing that a read waits for.
#[test]
fn reads_of_a_set_know_nothing_of_another() {
    let (fast, real) = ("chip.timing.bus_mt_s=100000", "chip.timing.bus_mt_s=333");
    let [least, _, most] = slowdown(HALVES, fast);
    assert!(least > 0.99 && most < 1.01, "{least} to {most}");
    let [_, with_bus, most] = slowdown(HALVES, real);
    let [least, shared, _] = slowdown(SHARED, real);
    assert!(most < least && with_bus * 2.0 < shared, "{with_bus} and {shared}");
}

#[test]
fn sets_of_the_report_add_up_to_the_drive() {
    let own = "namespace=[{dies=1, ftl={name='dftl', map_cache_bytes=16384}}, {share=1.0}]";
    let jobs = "[global]\nrw=randwrite\nbs=4k\niodepth=8\nnumber_ios=30000\nnorandommap\n\
                [a]\nfilename=/dev/nvme0n1\n[b]\nfilename=/dev/ng0n2\n";
    let report = run_file(&[own], jobs, Precondition::Steady).unwrap();
    let sets = report["sets"].as_array().unwrap();
    assert_eq!((&sets[0]["ftl"], &sets[1]["ftl"]), (&"dftl".into(), &"page".into()));
    assert_eq!((&sets[0]["namespace"], &sets[1]["namespace"]), (&1.into(), &Value::Null));
    assert_eq!((&sets[1]["first_die"], &sets[1]["dies"]), (&1.into(), &3.into()));
    for key in ["host_units", "gc_copies", "padding_units", "gc_runs"] {
        let sum = number(&sets[0][key]) + number(&sets[1][key]);
        assert_eq!(sum, number(&report["ftl"][key]), "{key}");
        assert!(sum == 0.0 || number(&sets[0][key]) > 0.0, "{key}");
    }
    for key in ["read_uj", "program_uj", "erase_uj", "bus_uj", "standby_uj"] {
        let of = |value: &Value| number(&value["energy"][key]);
        let (sum, whole) = (of(&sets[0]) + of(&sets[1]), of(&report["nand"]));
        assert!((sum / whole - 1.0).abs() < 1e-12 && of(&sets[0]) > 0.0, "{key}: {sum}, {whole}");
    }
    let energy = |value: &Value| number(&value["energy_uj"]);
    let sum = energy(&sets[0]) + energy(&sets[1]);
    assert!((sum / energy(&report["nand"]) - 1.0).abs() < 1e-12);
    assert!(number(&sets[0]["map"]["writes"]) > 0.0 && number(&sets[1]["map"]["writes"]) == 0.0);
    for set in sets {
        let shares =
            ["read", "program", "erase", "wait", "idle"].map(|key| number(&set["busy"][key]));
        assert!((shares.iter().sum::<f64>() - 1.0).abs() < 1e-9);
        assert!(number(&set["write_amplification"]) > 1.0 && number(&set["free_units"]) > 0.0);
    }
    // A third of the writes of each die of the other set, and more spare.
    assert!(number(&sets[0]["pe_cycles"]["mean"]) > number(&sets[1]["pe_cycles"]["mean"]));
    assert_eq!(
        run_file(&[], "[a]\nrw=read\nio_size=4k\n", Precondition::Fill).unwrap()["sets"],
        Value::Null
    );
}
