//! Tests of placement handles: data of jobs with different lifetimes are kept apart, and the
//! counters of the endurance group agree with the FTL's account.

use crate::running;

use base::error::assert_carries;
use running::{number, run_file};
use serde_json::Value;
use ssd::precondition::Precondition;

fn refused(sets: &[&str], text: &str) -> String {
    run_file(sets, text, Precondition::None).expect_err("it ran").to_string()
}

/// Bytes of the host and of the flash agree with the counts of the FTL: host data, copies, padding
/// and map pages, of a unit each, make up all programmed bytes. Data in the buffer at the end are
/// not programmed, and a program that waits for its die is in the account of the FTL alone.
fn agree(report: &Value) {
    let (group, ftl) = (&report["endurance_group"], &report["ftl"]);
    let units: f64 =
        ["host_units", "gc_copies", "padding_units"].map(|key| number(&ftl[key])).iter().sum();
    let map = number(&ftl["map"]["writes"]);
    let unit_bytes = number(&ftl["unit_bytes"]);
    let media = number(&group["media_bytes"]);
    let waiting = (units + map) * unit_bytes - media;
    // Two rows of two planes for each of four dies.
    assert!((0.0..=131072.0).contains(&waiting), "{waiting}: {group} {ftl}");
    let written = number(&report["host"]["write"]["bytes"]);
    assert_eq!(number(&group["host_bytes"]), written);
    // Data rewritten in the buffer never left it, and some are there at the end.
    let left = number(&ftl["host_units"]) + number(&report["buffer"]["coalesced"]);
    let buffered = written - left * unit_bytes;
    assert!((0.0..=1048576.0).contains(&buffered), "{buffered}");
    let amplification = number(&group["write_amplification"]);
    assert!((amplification - media / written).abs() < 1e-12);
    // A block is erased before it is written anew.
    let block = number(&report["nandlab"]["config"]["chip"]["geometry"]["pages_per_block"])
        * number(&report["nandlab"]["config"]["chip"]["geometry"]["page_bytes"]);
    assert_eq!(number(&group["erased_bytes"]), number(&report["nand"]["erases"]) * block);
}

/// A ring that is written in order, and beside it small random writes, each on half of the drive.
const TWO: &str = "[global]\nbs=16k\niodepth=8\nsize=50%\nrate=50m\nnumber_ios=80000\n\
                   [ring]\nrw=write\nHANDLE0\n\
                   [random]\nrw=randwrite\nnorandommap\noffset=50%\nHANDLE1\n";

fn two(more: &[&str]) -> Value {
    let text = TWO.replace("HANDLE0", APART[0]).replace("HANDLE1", APART[1]);
    let own = ["ftl.host_streams=2", "ftl.static_wear_delta=0"];
    let sets: Vec<&str> = more.iter().copied().chain(own).collect();
    let report = run_file(&sets, &text, Precondition::Fill).unwrap();
    assert_eq!(report["checks"]["conservation"]["ok"], true);
    assert_eq!(number(&report["endurance_group"]["handles"]), 2.0);
    report
}

const APART: [&str; 2] = ["dataplacement=fdp\nplids=0", "dataplacement=fdp\nplids=1"];

#[test]
fn counters_of_the_endurance_group_are_those_of_the_ftl() {
    // A map of 800 KB of which an eighth is cached: map pages are among what the flash takes.
    let small_cache = ["ftl.name=dftl", "ftl.map_cache_bytes=100000"];
    for (more, writes_map) in [
        (&[][..], false),
        (&["ftl.metadata_share=0.05", "ftl.gc_reserve_blocks=2"], false),
        (&small_cache, true),
    ] {
        let report = two(more);
        agree(&report);
        assert!(number(&report["ftl"]["gc_copies"]) > 0.0);
        assert_eq!(number(&report["ftl"]["map"]["writes"]) > 0.0, writes_map);
    }
    // A job under a handle that spans the drive in order: nothing is moved.
    let order = "[w]\nrw=write\nbs=64k\niodepth=8\nloops=3\nfdp=1\nplids=1\n";
    let report = run_file(&["ftl.host_streams=2"], order, Precondition::None).unwrap();
    agree(&report);
    let host = number(&report["endurance_group"]["host_bytes"]);
    assert_eq!(host, 3.0 * number(&report["nandlab"]["capacity_bytes"]));
    assert!(number(&report["endurance_group"]["write_amplification"]) < 1.01);
}

/// Two rings are written in order at different speeds. Where blocks hold data of both, those of the
/// slow ring must be moved; apart, whole blocks become invalid at once.
#[test]
fn data_that_die_apart_are_kept_apart() {
    let run = |handles: [&str; 2]| {
        let text = format!(
            "[global]\nbs=16k\niodepth=8\nsize=50%\nrw=write\n\
             [fast]\nrate=32m\nnumber_ios=128000\n{}\n\
             [slow]\nrate=4m\nnumber_ios=16000\noffset=50%\n{}\n",
            handles[0], handles[1]
        );
        let sets = ["ftl.host_streams=2", "ftl.static_wear_delta=0"];
        let report = run_file(&sets, &text, Precondition::Fill).unwrap();
        number(&report["ftl"]["gc_copies"])
    };
    let (apart, mixed) = (run(APART), run(["", ""]));
    assert!(apart == 0.0 && mixed > 20_000.0, "{apart} {mixed}");
    // In turn under both handles, data of both jobs are mixed again.
    let turns = run(["fdp=1", "fdp=1"]);
    assert!((turns / mixed - 1.0).abs() < 0.15, "{turns} {mixed}");
}

#[test]
fn a_drive_has_the_handles_that_it_is_given() {
    let job = |plid: u32| format!("[w]\nrw=write\nbs=16k\nnumber_ios=100\nfdp\nplids={plid}\n");
    let sixteen = ["ftl.host_streams=16", "ftl.overprovisioning=0.6"];
    assert!(run_file(&sixteen, &job(15), Precondition::None).is_ok());
    let error = refused(&["ftl.host_streams=4"], &job(4));
    assert_carries(error, &["plids", "handle 4", "0 to 3"]);
    let error = refused(&["ftl.name=slc_cache"], &job(1));
    assert_carries(error, &["plids", "handle 1", "expected: 0"]);
    assert_carries(refused(&["ftl.host_streams=17"], &job(0)), &["1 to 16"]);
}
