//! Placement handles that collection keeps apart, and the counts of each handle.

use crate::drive;
use crate::write_amplification::greedy_theory;

use base::counts::Counts;
use base::rng::Rng;
use nand::geometry::Block;
use ssd::Step;
use ssd::ftl::contract::HandleCounts;
use ssd::precondition::Precondition;
use ssd::request::{Op, Request};

/// Counts of two handles on a full drive: the first rewrites the first half in order, as a log
/// does, the second writes the other half at random, as often.
fn log_beside_noise(more: &[&str]) -> [HandleCounts; 2] {
    let sets = ["ftl.host_streams=2", "gc.start_free_blocks=3", "ftl.overprovisioning=0.5"];
    let geometry = ["chip.geometry.blocks_per_plane=40"];
    let mut ssd = drive::small(&[&sets[..], &geometry, more].concat());
    drive::prepare(&mut ssd, Precondition::Fill);
    let half = ssd.capacity_bytes() / 4096 / 2;
    let mut rng = Rng::stream(7, "noise");
    for pass in 0..2 {
        // The first pass brings the drive to where it stays.
        ssd.start(0);
        for number in 0..16 * half {
            for handle in 0..2 {
                let unit = if handle == 0 { number % half } else { half + rng.below(half) };
                let request =
                    Request { stream: handle, ..Request::new(Op::Write, 4096 * unit, 4096) };
                while !ssd.has_room() {
                    ssd.step();
                }
                ssd.submit(request, 0, ssd.now());
            }
        }
        while !matches!(ssd.step(), Step::Idle) {}
        assert!(pass == 0 || ssd.ftl_counts().reclaimed_blocks > 100);
    }
    ssd.fault().unwrap();
    [0, 1].map(|handle| ssd.handle_counts(handle))
}

/// Units written to flash for each unit that the host has written.
fn amplification(counts: HandleCounts) -> f64 {
    1.0 + counts.moved_units as f64 / counts.host_units as f64
}

/// With one die a superblock or all, data of a log are hardly moved because of a random neighbour
/// once their handle is kept apart; the neighbour bears its own write amplification. The rest are
/// victims of greedy collection, which does not know that they would soon have been empty.
#[test]
fn a_log_pays_nothing_for_its_neighbour() {
    for dies in ["ftl.superblock_dies=1", "ftl.superblock_dies=0"] {
        let [log, noise] = log_beside_noise(&["ftl.isolation=persistent", dies]);
        assert!(amplification(log) < 1.15, "{dies}: {log:?}");
        assert!(amplification(noise) > 1.3, "{dies}: {noise:?}");
        assert!(log.erased_blocks > 0 && noise.erased_blocks > log.erased_blocks, "{dies}");
    }
}

/// Each handle has the units that its writes have sent, whatever collection does with them.
#[test]
fn handles_share_the_work_of_the_drive() {
    for more in [&[][..], &["ftl.isolation=persistent"]] {
        let [log, noise] = log_beside_noise(more);
        let ratio = log.host_units as f64 / noise.host_units as f64;
        // Units that are rewritten in the buffer reach the flash once.
        assert!((0.95..1.1).contains(&ratio), "{more:?}: {log:?} {noise:?}");
    }
}

/// Handles that are kept apart hold all blocks with data, and these have the cycles that the chips
/// have counted; a noisy handle wears its blocks more than a quiet one, which is never rewritten.
#[test]
fn blocks_of_handles_have_the_cycles_of_the_chips() {
    let sets = [
        "ftl.host_streams=2",
        "ftl.isolation=persistent",
        "ftl.overprovisioning=0.5",
        "ftl.static_wear_delta=0",
        "gc.start_free_blocks=3",
        "chip.geometry.blocks_per_plane=40",
        "age.pe_cycles=100",
    ];
    let mut ssd = drive::small(&sets);
    let half = ssd.capacity_bytes() / 4096 / 2;
    let mut rng = Rng::stream(11, "noise");
    ssd.start(100);
    for number in 0..9 * half {
        let stream = u8::from(number >= half);
        let unit = if number < half { number } else { half + rng.below(half) };
        while !ssd.has_room() {
            ssd.step();
        }
        let request = Request { stream, ..Request::new(Op::Write, 4096 * unit, 4096) };
        ssd.submit(request, 0, ssd.now());
    }
    while !matches!(ssd.step(), Step::Idle) {}
    ssd.fault().unwrap();
    let held = ssd.held_by_handles();
    let (mut blocks, mut cycles) = (0, 0.0);
    for block in (0..ssd.geometry().blocks()).map(Block) {
        if ssd.ftl_mut().filled_pages(block) > 0 {
            blocks += 1;
            cycles += f64::from(ssd.cycles_of(block));
        }
    }
    // Blocks that are open and have no page yet are held too.
    let open = u64::from(2 * 2 * ssd.geometry().planes());
    let all: u64 = held.iter().map(|held| held.blocks).sum();
    assert!((blocks..=blocks + open).contains(&all), "{held:?}: {blocks} blocks with data");
    let sum: f64 = held.iter().map(|held| held.pe_cycles.mean * held.blocks as f64).sum();
    let most = f64::from(ssd.wear().max) * open as f64;
    assert!((cycles..=cycles + most).contains(&sum), "{held:?}: {cycles} cycles");
    let [quiet, noisy] = [0, 1].map(|handle: usize| held[handle].pe_cycles);
    assert_eq!((quiet.min, quiet.max), (100, 100), "{held:?}");
    assert!(noisy.mean > 102.0 && noisy.max <= ssd.wear().max, "{held:?}");
}

/// A full drive of one die whose two handles have half of the data each, both written at random
/// and as often, with quotas of the spare. Returns the counts of each, the quotas in superblocks,
/// and asserts that no handle ever holds more than its data, its quota, two open blocks, one that
/// dies while they fill, and the victim.
fn noise_with_quotas(shares: [f64; 2], seed: u64) -> [(HandleCounts, f64); 2] {
    let quotas = format!("ftl.handle_quota=[{}, {}]", shares[0], shares[1]);
    let sets = [
        "drive.channels=1",
        "drive.dies_per_channel=1",
        "chip.geometry.planes_per_die=1",
        "chip.geometry.page_bytes=4096",
        "chip.geometry.pages_per_block=64",
        "chip.geometry.blocks_per_plane=256",
        "ftl.host_streams=2",
        "ftl.isolation=persistent",
        "ftl.overprovisioning=0.25",
        "ftl.static_wear_delta=0",
        &quotas,
    ];
    let mut ssd = drive::small(&sets);
    let half = ssd.capacity_bytes() / 4096 / 2;
    // Blocks for the data, and those that are kept free or open: three free, four open, and five
    // for rows that collection pads.
    let spare = 256.0 - (2.0 * half as f64 / 64.0).ceil() - 12.0;
    let mut rng = Rng::stream(seed, "noise");
    ssd.start(0);
    let mut begun = [HandleCounts::default(); 2];
    for number in 0..9 * half {
        if number == 5 * half {
            begun = [0, 1].map(|handle| ssd.handle_counts(handle));
        }
        for handle in 0..2u8 {
            let unit = if number < half { number } else { rng.below(half) };
            let offset = 4096 * (u64::from(handle) * half + unit);
            let request = Request { stream: handle, ..Request::new(Op::Write, offset, 4096) };
            while !ssd.has_room() {
                ssd.step();
            }
            ssd.submit(request, 0, ssd.now());
        }
        if number % 64 == 0 {
            for handle in 0..2 {
                let data = half as f64 / 64.0;
                let most = data + shares[handle as usize] * spare + 4.0;
                let held = ssd.held_by_handle(handle).blocks as f64;
                assert!(held <= most, "handle {handle} holds {held} of {most} at {number}");
            }
        }
    }
    ssd.fault().unwrap();
    [0, 1].map(|handle| {
        let counts = ssd.handle_counts(handle).since(&begun[handle as usize]);
        let data = half as f64 / 64.0;
        (counts, (data + shares[handle as usize] * spare) / data)
    })
}

/// A handle with a quota of the spare has the write amplification of a drive of its own with so
/// much over-provisioning, by the exact mean field of greedy collection, whatever its neighbour
/// has: the mean of five seeds, to 5 %.
#[test]
fn a_quota_is_over_provisioning_of_its_own() {
    let shares = [0.7, 0.3];
    let (mut means, mut theory) = ([0.0; 2], [0.0; 2]);
    for seed in 0..5 {
        for (handle, (counts, alpha)) in noise_with_quotas(shares, seed).into_iter().enumerate() {
            means[handle] += amplification(counts) / 5.0;
            theory[handle] = greedy_theory(alpha, 64);
        }
    }
    println!("{shares:?}: write amplification {means:.3?}, of drives of their own {theory:.3?}");
    for handle in 0..2 {
        let ratio = means[handle] / theory[handle];
        assert!((0.95..1.05).contains(&ratio), "{shares:?}: {means:?}, {theory:?}");
    }
    assert!(means[1] > 1.5 * means[0], "{means:?}");
}

/// Quotas that cannot be are refused at their key, with what is allowed.
#[test]
fn quotas_that_cannot_be() {
    let refused = |sets: &[&str]| {
        let base = ["ftl.host_streams=2", "ftl.overprovisioning=1.5"];
        let error = drive::built(&[&base[..], sets].concat()).err().expect("refused");
        assert_eq!(error.place, "ftl.handle_quota", "{error}");
        error.expected.clone()
    };
    let kept = "ftl.isolation=persistent";
    assert!(refused(&["ftl.handle_quota=[0.5, 0.5]"]).contains("empty"));
    assert!(refused(&[kept, "ftl.handle_quota=[0.5]"]).contains('2'));
    assert!(refused(&[kept, "ftl.handle_quota=[0.6, 0.6]"]).contains("at most 1"));
    assert!(refused(&[kept, "ftl.handle_quota=[nan, 0.5]"]).contains("more than 0"));
    assert!(refused(&[kept, "ftl.handle_quota=[0.99, 0.01]"]).contains("superblocks"));
}
