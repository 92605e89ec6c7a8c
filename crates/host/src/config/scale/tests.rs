//! Drives that are scaled: what follows, what stays, and which scales are refused.

use crate::config::{Loaded, load, load_text, presets};
use base::error::assert_carries;
use base::rng::turn::few_or_all;
use base::{Error, Result};
use nand::chip::ChipConfig;
use ssd::build::{FtlNeeds, memory_bytes};

fn scaled(drive: &str, scale: &str, sets: &[&str]) -> Result<Loaded> {
    let scale = format!("drive.scale={scale}");
    let sets = std::iter::once(&*scale).chain(sets.iter().copied());
    load(drive, &sets.map(str::to_owned).collect::<Vec<_>>())
}

/// Bytes that the host sees, or the refusal of the drive.
fn capacity(loaded: &Loaded) -> Result<u64> {
    let needs = FtlNeeds::of(&loaded.config, u64::MAX).map_err(|error| loaded.explain(error))?;
    Ok(needs.capacity_bytes)
}

fn refused(drive: &str, scale: &str) -> Error {
    scaled(drive, scale, &[]).and_then(|drive| capacity(&drive)).err().unwrap()
}

#[test]
fn each_preset_scales_or_names_the_least_scale_that_works() {
    // Memory of a drive that is built, at most.
    let most_bytes = few_or_all(24, 512) << 20;
    let (mut built, mut too_small) = (0, 0);
    for preset in presets().into_iter().filter(|preset| preset.kind == "drive") {
        let name = &preset.name;
        let whole = load(name, &[]).unwrap();
        for parts in [2, 8, 64] {
            let drive = scaled(name, &format!("1/{parts}"), &[]).unwrap();
            if memory_bytes(&drive.config).unwrap() > most_bytes {
                continue;
            }
            let Err(error) = capacity(&drive) else {
                let flash = whole.config.flash_bytes() as f64 / f64::from(parts);
                let ratio = drive.config.flash_bytes() as f64 / flash;
                // Blocks that are free or open are as many as before.
                assert!((0.99..2.2).contains(&ratio), "{name} 1/{parts}: {ratio}");
                assert_eq!(drive.notices().len(), 1, "{name}");
                built += 1;
                continue;
            };
            assert_carries(&error, &["drive.scale", "at least 1/"]);
            let least = error.expected.trim_start_matches("at least 1/");
            let least: u32 = least.split(' ').next().unwrap().parse().unwrap();
            assert!(least < parts, "{name}: {error}");
            capacity(&scaled(name, &format!("1/{least}"), &[]).unwrap()).unwrap();
            if least + 1 < parts {
                assert_carries(refused(name, &format!("1/{}", least + 1)), &["drive.scale"]);
            }
            too_small += 1;
        }
    }
    assert!(built > 30 && too_small > 8, "{built} {too_small}");
}

#[test]
fn what_counts_the_drive_follows_and_what_a_collection_needs_stays() {
    let whole = load("tiny", &[]).unwrap().config;
    let drive = scaled("tiny", "1/4", &[]).unwrap();
    let config = &drive.config;
    // 2.5 blocks of a plane are free or open: 253.5 / 4 + 2.5.
    assert_eq!(config.chip.geometry.blocks_per_plane, 66);
    assert_eq!((config.gc.common.start_free_blocks, config.ftl.common.gc_reserve_blocks), (3, 1));
    // Eight programs of each of four dies: two planes of a page of 8 KiB.
    assert_eq!(config.buffer.bytes, 512 << 10);
    assert_eq!(config.drive.scale, None);
    assert_eq!(drive.notices().len(), 1);
    let left =
        capacity(&drive).unwrap() as f64 / capacity(&load("tiny", &[]).unwrap()).unwrap() as f64;
    assert!((left - 63.5 / 253.5).abs() < 1e-3, "{left}");
    // Nothing else differs.
    let mut same = config.clone();
    same.chip.geometry.blocks_per_plane = whole.chip.geometry.blocks_per_plane;
    same.ftl.common.overprovisioning = whole.ftl.common.overprovisioning;
    same.buffer.bytes = whole.buffer.bytes;
    assert_eq!(same, whole);
}

#[test]
fn all_keys_are_those_of_the_whole_drive() {
    let sets = ["gc.start_free_blocks=40", "ftl.gc_reserve_blocks=20", "buffer.bytes=8MiB"];
    let common = scaled("tiny", "1/4", &sets).unwrap().config;
    // The reserve stays, which collection needs on any drive, and one block more to begin with;
    // 2 MiB are the buffer's share.
    let (gc, ftl) = (&common.gc.common, &common.ftl.common);
    assert_eq!((gc.start_free_blocks, ftl.gc_reserve_blocks), (21, 20));
    assert!(common.buffer.bytes.abs_diff(2 << 20) < 400 << 10, "{}", common.buffer.bytes);
    // The scale may stand anywhere.
    let text = "drive_preset = 'tiny'\n[drive]\nscale = '1/4'\n[gc]\nstart_free_blocks = 40\n\
                [ftl]\ngc_reserve_blocks = 20\n[buffer]\nbytes = '8MiB'\n";
    assert_eq!(load_text(text, "my.toml", &[]).unwrap().config, common);
    let number = load_text(&text.replace("'1/4'", "0.25"), "my.toml", &[]).unwrap();
    assert_eq!(number.config, common);
    let one = scaled("tiny", "1", &[]).unwrap();
    assert_eq!((one.config, one.whole.is_none()), (load("tiny", &[]).unwrap().config, true));
}

#[test]
fn parameters_of_members_follow() {
    let number = |loaded: &Loaded, key: &str| loaded.config.ftl.params[key].as_integer().unwrap();
    let sets = ["ftl.name=dftl", "ftl.map_cache_bytes=64KiB", "ftl.ram_bytes=1MiB"];
    let drive = scaled("tiny", "1/4", &sets).unwrap();
    assert!(number(&drive, "map_cache_bytes").abs_diff(16 << 10) < 200);
    assert!(drive.config.ftl.common.ram_bytes.abs_diff(256 << 10) < 2000);
    let sets = ["ftl.name=bast", "ftl.log_blocks=40"];
    assert_eq!(number(&scaled("tiny", "1/4", &sets).unwrap(), "log_blocks"), 10);
    let drive = scaled("consumer_qlc_sata", "1/16", &[]).unwrap();
    assert!((number(&drive, "dynamic_bytes") as f64 / 36e9 * 16.0 - 1.0).abs() < 2e-3);
    // A limit of memory without a cache behind it refuses what is too large: it stays.
    let drive = scaled("usb_stick_2005", "1/8", &[]).unwrap();
    assert_eq!(drive.config.ftl.common.ram_bytes, 5120);
    let drive = scaled("tiny", "1/4", &["drive.capacity=600MiB"]).unwrap();
    let bytes = drive.config.drive.capacity.unwrap();
    assert!((bytes as f64 / (150 << 20) as f64 - 1.0).abs() < 3e-3, "{bytes}");
    assert!(capacity(&drive).unwrap().abs_diff(bytes) <= 4096);
    let drive = scaled("tiny", "1/4", &["recovery.name=checkpoint"]).unwrap();
    let units = drive.config.recovery.params["checkpoint_units"].as_integer().unwrap();
    assert!(units.abs_diff(1 << 18) < 4000, "{units}");
    let cache = scaled("tiny", "1/4", &["read_cache.bytes=8MiB"]).unwrap().config.read_cache;
    assert!(cache.bytes.abs_diff(2 << 20) < 20_000, "{}", cache.bytes);
    // Not at all, where nothing is scheduled.
    let sets = ["ftl.name=learned", "ftl.compaction_units=0"];
    assert_eq!(number(&scaled("tiny", "1/4", &sets).unwrap(), "compaction_units"), 0);
}

#[test]
fn zones_keep_their_size_and_are_fewer() {
    let drive = scaled("wd_zn540", "1/64", &[]).unwrap();
    let params = &drive.config.ftl.params;
    let number = |key: &str| params[key].as_integer().unwrap();
    assert_eq!((number("zones"), number("zone_bytes")), (14, 2 << 30));
    assert_eq!((number("max_open_zones"), number("max_active_zones")), (14, 14));
    assert_eq!(capacity(&drive).unwrap(), 28 << 30);
    // As many for each group of dies.
    let sets = ["ftl.zones=900", "ftl.zone_dies=8", "ftl.zone_capacity_bytes=0"];
    let sets = [&sets[..], &["ftl.zone_bytes=0"]].concat();
    let drive = scaled("wd_zn540", "1/50", &sets).unwrap();
    assert_eq!(drive.config.ftl.params["zones"].as_integer(), Some(20));
    capacity(&drive).unwrap();
    // Where over-provisioning says how many there are, the share of them.
    let zones = |parts: &str| {
        let sets = ["ftl.name=zoned", "ftl.overprovisioning=0.1", "ftl.zone_bytes=4MiB"];
        capacity(&scaled("tiny", parts, &sets).unwrap()).unwrap() >> 22
    };
    assert_eq!((zones("1"), zones("1/2"), zones("1/8")), (232, 116, 29));
}

#[test]
fn blocks_are_shorter_where_too_few_would_be_left() {
    let whole = load("modern_qlc", &[]).unwrap().config;
    for (parts, pages) in [(16, 3072), (32, 1536), (64, 768), (256, 192)] {
        let drive = scaled("modern_qlc", &format!("1/{parts}"), &[]).unwrap();
        let chip = &drive.config.chip;
        assert_eq!((chip.geometry.blocks_per_plane, chip.geometry.pages_per_block), (45, pages));
        let share = capacity(&drive).unwrap() as f64 / 1e12 * f64::from(parts);
        assert!((share - 1.0).abs() < 2e-3, "1/{parts}: {share}");
        // An erase takes as long for each page as on the whole drive, worn too; programs stay.
        let timing = |chip: &ChipConfig| chip.timing(chip.cell().unwrap().as_deref()).unwrap();
        let (all, left) = (timing(&whole.chip), timing(chip));
        for pe_cycles in [0, 700, 5000] {
            let [all, left] = [&all, &left].map(|timing| timing.erase(pe_cycles).ns() as f64);
            assert!((left / all * 3072.0 / f64::from(pages) - 1.0).abs() < 1e-5, "1/{parts}");
        }
        assert_eq!(left.program(0, 700), all.program(0, 700));
        let said = drive.notices().concat();
        assert_eq!(said.contains(&format!("{pages} of 3072 pages")), pages < 3072, "{said}");
    }
}

#[test]
fn shares_that_are_none_are_refused() {
    for bad in ["0", "2", "x", "1/0", "-1/2", "nan", "inf", "1/", "''", "true", "[1]"] {
        let error = scaled("tiny", bad, &[]).err().unwrap();
        assert_carries(&error, &["drive.scale", "1/64", "at most 1"]);
    }
    let error = refused("modern_qlc", "1/2000");
    let least = "blocks of 192 pages)";
    assert_carries(&error, &["--set drive.scale=1/2000", "3 of 682 blocks", "at least 1/", least]);
    // Blocks of zones, and of maps by block, are what they are.
    for (drive, sets) in [("tiny", &["ftl.name=bast"][..]), ("modern_qlc", &["ftl.name=block"])] {
        let error = scaled(drive, "1/2000", sets).and_then(|drive| capacity(&drive)).err().unwrap();
        assert_carries(&error, &["keep their pages"]);
    }
    // What is wrong at any scale is said as it is.
    let error = scaled("tiny", "1/4", &["ftl.host_streams=40"]).and_then(|drive| capacity(&drive));
    assert_carries(error.err().unwrap(), &["ftl.host_streams", "1 to 16"]);
}
