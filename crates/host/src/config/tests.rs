//! Tests of `config`: every preset, every kind of bad input, and how layers compose.

use super::*;
use base::error::assert_carries;
use base::params;
use std::collections::BTreeSet;
use toml::Value;

/// A small complete drive, with one family member that has parameters.
const SMALL: &str = r#"summary = "a test"
[drive]
channels = 1
dies_per_channel = 2
queue_depth = 8

[chip]
preset = "mqsim_mlc"
geometry.blocks_per_plane = 64

[ftl]
name = "page"
overprovisioning = 0.3
[gc]
name = "d_choices"
d = 5
start_free_blocks = 4
[scheduler]
name = "in_order"
[retry]
name = "none"
[ecc]
model = "threshold"
t = 40
parity_bytes = 16
"#;

fn loaded(text: &str, sets: &[&str]) -> Result<Loaded> {
    let sets: Vec<String> = sets.iter().map(|&set| set.to_owned()).collect();
    load_text(text, "my.toml", &sets)
}

fn fails(text: &str, sets: &[&str]) -> String {
    loaded(text, sets).unwrap_err().to_string()
}

fn drives() -> Vec<Preset> {
    presets().into_iter().filter(|preset| preset.kind == "drive").collect()
}

fn bytes(config: &SsdConfig) -> u64 {
    let geometry = &config.chip.geometry;
    u64::from(config.drive.channels)
        * u64::from(config.drive.dies_per_channel)
        * u64::from(geometry.planes_per_die)
        * u64::from(geometry.blocks_per_plane)
        * u64::from(geometry.pages_per_block)
        * u64::from(geometry.page_bytes)
}

/// Every drive loads and completes, has a summary, fits its flash and leaves its FTL room. Drives
/// with small maps are built.
#[test]
fn every_drive_is_sane() {
    for preset in drives() {
        let name = &preset.name;
        let drive = load(name, &[]).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(!drive.summary.is_empty() && drive.summary == preset.summary, "{name}");
        assert!(drive.run.is_empty(), "{name}");
        let config = &drive.config;
        let again = SsdConfig::complete(config.clone()).unwrap();
        assert_eq!(&again, config, "{name}: complete already");
        let (ftl, gc) = (&config.ftl.common, &config.gc.common);
        assert!((1 << 28..8 << 40).contains(&bytes(config)), "{name}: {} bytes", bytes(config));
        assert!(gc.start_free_blocks > ftl.gc_reserve_blocks, "{name}");
        // Blocks that `page` keeps: reserve, open blocks and one more of each plane are not filled.
        let flag = |key: &str| config.ftl.params.get(key).and_then(Value::as_bool).unwrap_or(true);
        let held = ftl.gc_reserve_blocks + 1 + u32::from(flag("separate_gc_stream"));
        let blocks = f64::from(config.chip.geometry.blocks_per_plane);
        assert!(blocks / (1.0 + ftl.overprovisioning) <= blocks - f64::from(held) - 1.0, "{name}");
        if bytes(config) <= 8 << 30 {
            let ssd = ssd::Ssd::new(config, 1 << 30).unwrap_or_else(|e| panic!("{name}: {e}"));
            let least = if name == "tiny" { 640 << 20 } else { bytes(config) / 2 };
            assert!((least..bytes(config)).contains(&ssd.capacity_bytes()), "{name}");
        }
    }
}

/// Every cell fits under a chip with as many bits, and replaces the chip's own.
#[test]
fn every_cell_is_sane() {
    for preset in presets().iter().filter(|preset| preset.kind == "cell") {
        let set = format!("chip.cell.preset={}", preset.name);
        let fits = ["slc", "mlc", "tlc", "qlc"]
            .iter()
            .position(|kind| preset.name.contains(kind))
            .unwrap_or_else(|| panic!("{} says what it is", preset.name));
        let chip = ["grupp2009_a_slc2", "wang2014_mlc", "tlc_3d", "qlc_3d"][fits];
        let chip = format!("chip.preset={chip}");
        let bits = format!("chip.cell_bits={}", fits + 1);
        let drive = loaded(SMALL, &[&chip, &bits, &set]).unwrap_or_else(|e| panic!("{set}: {e}"));
        let cell = drive.config.chip.cell().unwrap().expect("a cell");
        assert_eq!(cell.levels.gray.cell_bits() as usize, fits + 1, "{set}");
        assert!(!preset.summary.is_empty(), "{set}");
        for array in ["cells", "table"] {
            let array = format!("chip.array.name={array}");
            let times = ["read", "program", "erase"].map(|t| format!("chip.timing.t_{t}_us=cell"));
            let sets = [&chip, &bits, &set, &array, &times[0], &times[1], &times[2]];
            let chip = loaded(SMALL, &sets.map(String::as_str)).unwrap().config.chip;
            let hours = base::units::Hours(100.0);
            let read = |seed| {
                let mut chips = nand::chip::Chips::new(&chip, 1, 512, 1000, hours, seed).unwrap();
                let block = nand::geometry::Block(0);
                chips.load(block, chip.geometry.pages_per_block);
                chips.read(block, 0, 0.0).unwrap()
            };
            let (time, rber) = read(1);
            // The pages of a table differ, also from one drive to another.
            let is_other = rber > 1e-5 && read(2).1 != rber;
            assert_eq!(is_other, rber > 1e-5 && array.contains("table"), "{set}");
            assert!((15.0..150.0).contains(&time.us()), "{set}: {time}");
            assert!((0.0..0.01).contains(&rber), "{set}: {rber}");
        }
    }
    let without = fails(SMALL, &["chip.timing.t_erase_us=cell"]);
    assert_carries(without, &["chip.timing.t_erase_us", "chip.cell"]);
    let word = fails(SMALL, &["chip.timing.t_read_us=sell"]);
    assert_carries(word, &["chip.timing.t_read_us", "\"cell\""]);
    let other = fails(SMALL, &["chip.preset=tlc_3d", "chip.cell.preset=slc"]);
    assert_carries(other, &["8", "3 bits"]);
    // The cell belongs to the chip: another chip replaces it.
    let sets = ["chip.preset=tlc_3d", "chip.preset=mqsim_mlc"];
    assert!(loaded(SMALL, &sets).unwrap().config.chip.cell.is_none());
    let changed = loaded(SMALL, &["chip.preset=tlc_3d", "chip.cell.retention.share=0.5"]).unwrap();
    let cell = changed.config.chip.cell.expect("a cell");
    assert_eq!(cell.mechanisms["retention"]["share"].as_float(), Some(0.5));
    let wrong = fails(SMALL, &["chip.preset=tlc_3d", "chip.cell.retention.shaer=0.5"]);
    assert_carries(wrong, &["`share`"]);
}

/// Every chip and host fits under a drive.
#[test]
fn every_chip_and_host_is_sane() {
    let kinds = ["chip", "host"];
    for preset in presets().iter().filter(|preset| kinds.contains(&preset.kind)) {
        let set = format!("{}.preset={}", preset.kind, preset.name);
        // The parity of SMALL does not fit the pages of old chips.
        let drive =
            loaded(SMALL, &[&set, "ecc.parity_bytes=0"]).unwrap_or_else(|error| panic!("{error}"));
        assert!(!preset.summary.is_empty(), "{set}");
        if preset.kind == "host" {
            assert!(drive.config.host.link_mb_s > 20.0, "{set}");
        } else if preset.name != "mqsim_mlc" {
            assert!(drive.config.chip.geometry.blocks_per_plane > 64, "{set}: of the chip");
        }
    }
}

#[test]
fn presets_are_listed_and_shown() {
    let presets = presets();
    let keys: Vec<_> = presets.iter().map(|preset| (preset.kind, &preset.name)).collect();
    assert!(keys.is_sorted());
    for (kind, name) in keys {
        let text = show(&format!("{kind}/{name}")).unwrap();
        assert!(text.starts_with("# "), "{kind}/{name} opens by saying what it is");
    }
    // A name shared by a drive and a chip means the drive.
    assert!(show("wang2014_mlc").unwrap().contains("[drive]"));
    assert!(show("tlc_3d").unwrap().contains("pages_per_block"));
    assert_carries(show("zuolo2016_a_mcl").unwrap_err(), &["`zuolo2016_a_mlc`"]);
    assert_carries(show("chip/tlc_3x").unwrap_err(), &["`chip/tlc_3d`"]);
}

#[test]
fn bibliography_covers_every_source() {
    let mut keys: BTreeSet<String> = BTreeSet::new();
    for drive in drives() {
        keys.extend(load(&drive.name, &[]).unwrap().cite);
    }
    let kinds = ["chip", "host"];
    for preset in presets().iter().filter(|preset| kinds.contains(&preset.kind)) {
        let set = format!("{}.preset={}", preset.kind, preset.name);
        keys.extend(load("tiny", &[set]).unwrap().cite);
    }
    for family in FAMILIES.iter() {
        keys.extend(family.members.iter().map(|member| member.citation.to_owned()));
    }
    keys.extend(crate::trace::ROSTER.iter().map(|member| member.citation.to_owned()));
    keys.extend(crate::workload::ROSTER.iter().map(|member| member.citation.to_owned()));
    keys.remove("");
    let keys: Vec<String> = keys.into_iter().collect();
    let text = bibliography(&keys).unwrap();
    assert_eq!(text.matches("\n@").count() + 1, keys.len());
    assert!(text.starts_with('@') && text.ends_with("}\n"), "{text}");
    let unknown = bibliography(&["zuolo2015".to_owned()]).unwrap_err();
    assert_carries(unknown, &["`zuolo2016`"]);
}

#[test]
fn citations_are_of_what_was_chosen() {
    let cite = |sets: &[&str]| loaded(SMALL, sets).unwrap().cite;
    assert_eq!(cite(&[]), ["desnoyers2012", "tavakkol2018", "vanhoudt2013", "zuolo2016"]);
    let other = ["gc.name=cost_benefit", "ecc.model=ideal", "chip.preset=wang2014_mlc"];
    assert_eq!(cite(&other), ["desnoyers2012", "micron_l41b", "rosenblum1992", "wang2014"]);
    let decoded = ["ecc.model=profile", "ecc.code=ldpc_4k_r95", "retry.name=read_retry"];
    let sources = cite(&decoded);
    assert!(["bates2014", "cai2017"].iter().all(|&key| sources.iter().any(|c| c == key)));
}

/// Bad text is refused: each case has the text, the place of the error, and the names in it.
#[test]
fn bad_files_are_refused_with_line_and_nearest() {
    let replaced = |from: &str, to: &str| {
        assert!(SMALL.contains(from), "{from}");
        SMALL.replacen(from, to, 1)
    };
    for (text, parts) in [
        (replaced("channels = 1", "chanels = 1"), &["my.toml:3: drive", "`channels`"][..]),
        (replaced("channels = 1", "channels = 'x'"), &["my.toml:3: drive.channels", "\"x\""]),
        (replaced("channels = 1", "channels = 0"), &["my.toml:3: drive.channels", "1 to 4096"]),
        (replaced("channels = 1\n", ""), &["my.toml:2: drive", "missing", "`channels`"]),
        (replaced("[drive]", "[driv]"), &["my.toml:2: driv", "`drive`"]),
        (replaced("[retry]\nname = \"none\"", ""), &["my.toml", "missing", "`retry`"]),
        (replaced("\"mqsim_mlc\"", "\"mqsim\""), &["my.toml:8: chip.preset", "`mqsim_mlc`"]),
        (replaced("\"mqsim_mlc\"", "\"tiny\""), &["my.toml:8: chip.preset", "`tiny`", "a drive"]),
        (replaced("\"mqsim_mlc\"", "7"), &["my.toml:8: chip.preset", "7", "text"]),
        (
            replaced("\"mqsim_mlc\"", "\"no.toml\""),
            &["my.toml:8: chip.preset", "cannot read", "`no.toml`"],
        ),
        (
            replaced("geometry.blocks", "geometry.bloks"),
            &["my.toml:9: chip.geometry", "`blocks_per_plane`"],
        ),
        (
            replaced("blocks_per_plane = 64", "blocks_per_plane = 0"),
            &["my.toml:9: chip.geometry.blocks_per_plane", "1 to"],
        ),
        (
            replaced("[ftl]", "timing.t_read_us = [1.0]\n[ftl]"),
            &["my.toml:11: chip.timing.t_read_us", "page type"],
        ),
        (
            replaced("[ftl]", "timing.wear = [{ pe_cycles = 1, raed = 2.0 }]\n[ftl]"),
            &["my.toml:11: chip.timing.wear[0]", "`read`"],
        ),
        (replaced("\"page\"", "\"paeg\""), &["my.toml:12: ftl.name", "`page`"]),
        (
            replaced("overprov", "overprv"),
            &["my.toml:13: ftl.overprvisioning", "`overprovisioning`"],
        ),
        (replaced("name = \"d_choices\"\n", ""), &["my.toml:14: gc", "missing", "`name`"]),
        (
            replaced("\"d_choices\"", "\"greedy\""),
            &["my.toml:16: gc.d", "`d`", "d_choices", "greedy"],
        ),
        (replaced("d = 5", "d = -5"), &["my.toml:16: gc.d", "-5"]),
        (replaced("\"threshold\"", "\"treshold\""), &["my.toml:23: ecc.model", "`threshold`"]),
        (
            replaced("parity_bytes", "parity_byte"),
            &["my.toml:25: ecc.parity_byte", "`parity_bytes`"],
        ),
        (replaced("parity_bytes = 16", "parity_bytes = 9999"), &["my.toml:25: ecc.parity_bytes"]),
        (
            replaced("[drive]", "drive_preset = \"tyni\"\n[drive]"),
            &["my.toml:2: drive_preset", "tiny"],
        ),
        (replaced("\"a test\"", "3"), &["my.toml:1: summary", "3", "text"]),
        (
            replaced("[drive]", "cite = \"zuolo2016\"\n[drive]"),
            &["my.toml:2: cite", "CITATIONS.bib"],
        ),
        (replaced("[drive]", "run = 3\n[drive]"), &["my.toml:2: run", "[run]"]),
        (replaced("= 8\n", "= = 8\n"), &["my.toml:5", "TOML"]),
    ] {
        assert_carries(fails(&text, &[]), parts);
    }
}

/// A parameter may be assigned before the choice that it belongs to.
#[test]
fn assignments_mean_the_same_in_any_order() {
    let loaded = |sets: &[&str]| {
        let sets: Vec<String> = sets.iter().map(|&set| set.to_owned()).collect();
        load("tiny", &sets).unwrap().config
    };
    for sets in [
        ["gc.name=d_choices", "gc.d=10", "gc.start_free_blocks=4"],
        ["chip.preset=tlc_3d", "chip.cell.preset=tlc_planar", "chip.timing.t_read_us=77"],
        ["ecc.code=bch_512_t40", "ecc.model=exact", "chip.geometry.spare_bytes=2048"],
    ] {
        let [a, b, c] = sets;
        for order in [[a, b, c], [b, a, c], [c, b, a], [c, a, b]] {
            let (one, other) = (loaded(&sets), loaded(&order));
            assert_eq!(format!("{one:?}"), format!("{other:?}"), "{order:?}");
        }
    }
}

/// Bad assignments, each over a good file.
#[test]
fn bad_assignments_are_refused_by_name() {
    for (sets, parts) in [
        (&["drive.chanels=2"][..], &["--set drive.chanels=2", "`channels`"][..]),
        (&["drvie.channels=2"], &["--set drvie.channels=2", "`drive`"]),
        (&["drive.channels=two"], &["--set drive.channels=two", "\"two\""]),
        (&["drive.channels=99999"], &["--set drive.channels=99999", "1 to 4096"]),
        (&["drive=2"], &["--set drive=2", "invalid type"]),
        (&["gc.nmae=greedy"], &["--set gc.nmae=greedy", "unknown", "`nmae`"]),
        (&["gc.name=gredy"], &["--set gc.name=gredy", "`greedy`"]),
        (&["ecc.modle=x"], &["--set ecc.modle=x", "`model`"]),
        (&["gc.start_free_block=3"], &["--set gc.start_free_block=3", "`start_free_blocks`"]),
        (&["gc.name=greedy", "gc.d=3"], &["--set gc.d=3", "d_choices", "greedy"]),
        (&["gc.d=3", "gc.name=greedy"], &["--set gc.d=3", "d_choices", "greedy"]),
        (&["chip.preset=tlc_3x"], &["--set chip.preset=tlc_3x", "`tlc_3d`"]),
        (
            &["chip.geometry.page_bytes=4096", "chip={preset='tlc_3d'}"],
            &["--set chip.geometry.page_bytes=4096", "`--set chip={preset='tlc_3d'}`"],
        ),
        (
            &["chip.geometry.page_bytes=1000"],
            &["--set chip.geometry.page_bytes=1000", "multiple of 512"],
        ),
        (&["chip.array.name=cell"], &["--set chip.array.name=cell", "unknown", "`cell`"]),
        (&["ecc.t=x"], &["--set ecc.t=x", "invalid type"]),
        (
            &["ecc.code=ldpc_4k_r90", "ecc.model=threshold"],
            &["--set ecc.code=ldpc_4k_r90", "ecc.t", "missing", "\"profile\"", "\"exact\""],
        ),
        (
            &["chip.geometry.page_bytes=2048", "ecc.code=ldpc_4k_r90"],
            &[
                "--set ecc.code=ldpc_4k_r90",
                "ecc.payload_bytes",
                "4096",
                "at most 2048",
                "chip.geometry.page_bytes",
            ],
        ),
        (&["summary=x"], &["--set summary=x", "unknown", "`summary`"]),
        (&["drive_preset=tiny"], &["--set drive_preset=tiny", "unknown", "`drive_preset`"]),
        (&["drive.channels"], &["--set drive.channels", "path.to.key=value"]),
    ] {
        assert_carries(fails(SMALL, sets), parts);
    }
}

#[test]
fn unknown_drives_are_refused() {
    for (drive, parts) in [
        ("tyni", &["`tyni`", "`tiny`"]),
        ("tlc_3d", &["`tlc_3d`", "a chip"]),
        ("no/such.toml", &["cannot read", "`no/such.toml`"]),
    ] {
        assert_carries(load(drive, &[]).unwrap_err(), parts);
    }
}

#[test]
fn presets_lie_under_and_assignments_over() {
    let config = loaded(SMALL, &[]).unwrap().config;
    assert_eq!(config.chip.geometry.blocks_per_plane, 64, "the file over its chip");
    assert_eq!(config.chip.geometry.pages_per_block, 256, "the chip");
    assert_eq!((config.seed, config.buffer.bytes), (1, 0), "defaults");
    let sets = ["chip.geometry.blocks_per_plane=32", "seed=7", "chip.geometry.blocks_per_plane=40"];
    let config = loaded(SMALL, &sets).unwrap().config;
    assert_eq!((config.chip.geometry.blocks_per_plane, config.seed), (40, 7), "the last wins");
    let sets = ["chip.preset=tlc_3d", "chip.geometry.blocks_per_plane=32"];
    let config = loaded(SMALL, &sets).unwrap().config;
    assert_eq!(config.chip.geometry.blocks_per_plane, 32);
    assert_eq!(config.chip.cell_bits, 3, "the file's changes were to the other chip");
    let twice = ["chip.preset=tlc_3d", "chip.preset=wang2014_mlc"];
    assert_eq!(loaded(SMALL, &twice).unwrap().config.chip.geometry.blocks_per_plane, 2048);
}

#[test]
fn another_member_drops_what_was_the_old_ones() {
    let gc = |sets: &[&str]| loaded(SMALL, sets).unwrap().config.gc;
    assert_eq!(gc(&[]).params["d"].as_integer(), Some(5));
    assert_eq!(gc(&["gc.name=d_choices"]).params["d"].as_integer(), Some(5), "no change");
    let greedy = gc(&["gc.name=greedy"]);
    assert!(!greedy.params.contains_key("d"));
    assert_eq!(greedy.common.start_free_blocks, 4, "shared");
    let back = gc(&["gc.name=greedy", "gc.name=d_choices"]);
    assert_eq!(back.params["d"].as_integer(), Some(10), "the default: the file's went");
    let ecc = loaded(SMALL, &["ecc.model=ideal"]).unwrap().config.ecc;
    assert_eq!((ecc.get("t"), ecc["parity_bytes"].as_integer()), (None, Some(16)));
    // Between files: the upper one chooses another array model than the chip's.
    let text = SMALL.replace("mqsim_mlc", "zuolo2016_a_mlc") + "[chip.array]\nname = 'ideal'\n";
    assert!(loaded(&text, &[]).unwrap().config.chip.array.params.is_empty());
}

#[test]
fn a_run_file_lies_over_a_drive_preset() {
    let text = "drive_preset = 'tiny'\n[drive]\nqueue_depth = 4\n[gc]\nname = 'fifo'\n\
                [run]\nworkload = 'job.fio'\nprecondition = 'fill'\n";
    let run = loaded(text, &["ftl.overprovisioning=0.5"]).unwrap();
    assert_eq!((run.config.drive.channels, run.config.drive.queue_depth), (2, 4));
    assert_eq!(run.config.gc.name, "fifo");
    assert_eq!(run.run["workload"].as_str(), Some("job.fio"));
    assert_eq!(run.summary, load("tiny", &[]).unwrap().summary);
    let error = fails(&text.replace("queue_depth", "qeue_depth"), &[]);
    assert!(error.starts_with("my.toml:3: drive.qeue_depth"), "{error}");
    // A chip chosen over a drive preset drops the preset's changes to its own chip.
    let other = text.replace("[drive]", "[chip]\npreset = 'wang2014_mlc'\n[drive]");
    assert_eq!(loaded(&other, &[]).unwrap().config.chip.geometry.blocks_per_plane, 2048);
}

#[test]
fn files_name_files_by_path() {
    let folder = std::env::temp_dir().join(format!("nandlab-config-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("chip.toml"), show("chip/mqsim_mlc").unwrap() + "# mine\n").unwrap();
    let drive = folder.join("drive.toml");
    std::fs::write(&drive, SMALL.replace("mqsim_mlc", "chip.toml")).unwrap();
    let path = drive.display().to_string();
    let config = load(&path, &[]).unwrap().config;
    assert_eq!(config, loaded(SMALL, &[]).unwrap().config);
    std::fs::write(folder.join("chip.toml"), "cell_bits = 2\ncel_bits = 3\n").unwrap();
    let error = load(&path, &[]).unwrap_err().to_string();
    let place = format!("{}:2: chip.cel_bits: ", folder.join("chip.toml").display());
    assert!(error.starts_with(&place), "{error}");
    std::fs::remove_dir_all(&folder).unwrap();
}

/// Drives that name each other, directly, through a link, or in an endless chain, are refused where
/// that shows; so are chips and cells that name themselves.
#[test]
fn files_that_name_each_other_are_refused() {
    let folder = std::env::temp_dir().join(format!("nandlab-circle-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.join(name), text).unwrap();
    let fails = |name: &str| load(&folder.join(name).display().to_string(), &[]).unwrap_err();
    for (name, under) in [("a", "b"), ("b", "c"), ("c", "b"), ("self", "./self")] {
        write(&format!("{name}.toml"), &format!("drive_preset = '{under}.toml'\n"));
    }
    for i in 0..100 {
        write(&format!("chain{i}.toml"), &format!("drive_preset = 'chain{}.toml'\n", i + 1));
    }
    let error = fails("a.toml");
    let [b, c] = ["b.toml", "c.toml"].map(|name| folder.join(name).display().to_string());
    assert_eq!(error.place, format!("{c}:1: drive_preset"));
    assert_carries(error, &[&format!("{b} -> {c} -> {b}")]);
    assert_carries(fails("self.toml"), &["self.toml:1: drive_preset", "same file"]);
    assert_carries(fails("chain0.toml"), &["drive_preset", "32 drives"]);

    let with = |own: &str, preset: &str| format!("preset = '{own}'\n{}", show(preset).unwrap());
    write("chip.toml", &with("chip.toml", "chip/tlc_3d"));
    write("cell.toml", &with("cell.toml", "cell/tlc_3d"));
    let chip = show("chip/tlc_3d").unwrap();
    write("of_cell.toml", &chip.replace("\"tlc_3d\"", "\"cell.toml\""));
    for (chip, parts) in
        [("chip.toml", &["unknown", "`preset`"][..]), ("of_cell.toml", &["`preset`"])]
    {
        write("drive.toml", &format!("drive_preset = 'tiny'\n[chip]\npreset = '{chip}'\n"));
        assert_carries(fails("drive.toml"), parts);
    }
    write("code.toml", "code = 'code.toml'\n");
    write("drive.toml", &SMALL.replace("t = 40", "code = 'code.toml'"));
    assert_carries(fails("drive.toml"), &["code.toml"]);
    std::fs::remove_dir_all(&folder).unwrap();
}

/// Every file that a drive is read from is listed; presets are not.
#[test]
fn files_of_a_drive_are_known() {
    let folder = std::env::temp_dir().join(format!("nandlab-files-{}", std::process::id()));
    std::fs::create_dir_all(folder.join("in")).unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.join(name), text).unwrap();
    write("in/cell.toml", &show("cell/tlc_3d").unwrap());
    write("in/code.toml", &show("code/bch_1024_t72").unwrap());
    write("in/chip.toml", &show("chip/tlc_3d").unwrap().replace("\"tlc_3d\"", "\"cell.toml\""));
    write("in/under.toml", "drive_preset = 'tiny'\n[chip]\npreset = 'chip.toml'\n");
    write("top.toml", "drive_preset = 'in/under.toml'\n[ecc]\ncode = 'in/code.toml'\n");
    let loaded = load(&folder.join("top.toml").display().to_string(), &[]).unwrap();
    let mut names: Vec<String> = loaded
        .files
        .iter()
        .map(|file| file.strip_prefix(&folder).unwrap().display().to_string())
        .collect();
    names.sort_unstable();
    let expected = ["in/cell.toml", "in/chip.toml", "in/code.toml", "in/under.toml", "top.toml"];
    assert_eq!(names, expected);
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn errors_of_building_are_explained() {
    let drive = loaded(SMALL, &["ftl.overprovisioning=0.001"]).unwrap();
    let error = drive.explain(Error::new("ftl.overprovisioning", "too little"));
    assert_eq!(error.place, "--set ftl.overprovisioning=0.001");
    let error = drive.explain(Error::new("chip.geometry.blocks_per_plane", "too few"));
    assert_eq!(error.place, "my.toml:9: chip.geometry.blocks_per_plane");
}

#[test]
fn a_member_assigned_to_its_family_is_told_its_key() {
    for (set, key) in [
        ("gc=fifo", "gc.name=fifo"),
        ("chip.array=\"ideal\"", "chip.array.name=ideal"),
        ("ecc=threshold", "ecc.model=threshold"),
    ] {
        assert_carries(fails(SMALL, &[set]), &[key, "table"]);
    }
}

#[test]
fn all_missing_keys_are_told_at_once() {
    let told = load_text("[drive]\nchannels = 2\n", "mine.toml", &[]).unwrap_err().to_string();
    let keys = ["drive.dies_per_channel", "drive.queue_depth", "chip.preset", "gc.name"];
    assert_carries(&told, &keys);
    assert_carries(&told, &["mine.toml", "missing", "ecc.model"]);
    assert!(!told.contains("drive.channels"), "{told}");
    // A misspelt key is reported before the keys that it leaves missing.
    let told = load_text("[drive]\nchanels = 2\n", "mine.toml", &[]).unwrap_err();
    assert_carries(told, &["`channels`"]);
}

#[test]
fn every_preset_has_all_keys() {
    for preset in presets().iter().filter(|preset| preset.kind == "drive") {
        let drive = load(&preset.name, &[]).unwrap();
        let table = params::write(&drive.config).unwrap();
        assert!(schema::missing(&table).is_empty(), "{}", preset.name);
    }
}

#[test]
fn tables_are_a_drive_as_its_file_is() {
    let text = "drive_preset = \"tiny\"\n[drive]\nchannels = 3\n[run]\niodepth = 2\n";
    let tables = params::parse(text, "").unwrap();
    let (of_file, of_tables) = (load_text(text, "drive", &[]), load_tables(&tables, "drive", &[]));
    let (of_file, of_tables) = (of_file.unwrap(), of_tables.unwrap());
    assert_eq!(params::write(&of_file.config).unwrap(), params::write(&of_tables.config).unwrap());
    assert_eq!(of_file.run, of_tables.run);
    assert_eq!(of_tables.origin("drive.channels").as_deref(), Some("drive"));
    let wrong = params::parse("drive_preset = \"tiny\"\ndrive.channels = \"x\"\n", "").unwrap();
    let told = load_tables(&wrong, "drive", &[]).unwrap_err().to_string();
    assert!(told.starts_with("drive: drive.channels: "), "{told}");
}

/// Numbers with units give the same drive and hash as plain numbers, in a file, in assignments and
/// in tables.
#[test]
fn units_make_the_same_drive() {
    let sets = ["buffer.bytes=2097152", "ftl.overprovisioning=0.3", "gc.background_after_us=2000"];
    let plain = loaded(SMALL, &sets).unwrap().config;
    let text = SMALL.replace("= 0.3", "= '30%'") + "[buffer]\nbytes = \"2MiB\"\n";
    let after = "gc.background_after_us=2ms";
    let tables = params::parse(&text, "").unwrap();
    for same in [
        loaded(SMALL, &["buffer.bytes=2M", "ftl.overprovisioning=30%", after]).unwrap(),
        loaded(SMALL, &["buffer.bytes=2097152.0", "ftl.overprovisioning=30 %", after]).unwrap(),
        loaded(&text, &[after]).unwrap(),
        load_tables(&tables, "drive", &[after.to_owned()]).unwrap(),
    ] {
        assert_eq!(same.config, plain);
        let hash = |config| crate::report::config_hash(config).unwrap();
        assert_eq!(hash(&same.config), hash(&plain));
    }
    let of_kind = ["chips.slow.channels=1", "drive.channels=2", "chips.slow.chip.preset=tlc_3d"];
    let kind = [&of_kind[..], &["chips.slow.chip.geometry.spare_bytes=2KiB"]].concat();
    let config = loaded(SMALL, &kind).unwrap().config;
    assert_eq!(config.chips["slow"].chip.geometry.spare_bytes, 2048);

    assert_carries(fails(SMALL, &["buffer.bytes=2MX"]), &["--set buffer.bytes=2MX", "MiB", "MB"]);
    assert_carries(fails(SMALL, &["buffer.bytes=2.5"]), &["--set buffer.bytes=2.5"]);
    let place = "my.toml:13: ftl.overprovisioning";
    assert_carries(fails(&SMALL.replace("= 0.3", "= '30MiB'"), &[]), &[place, "30MiB", "%"]);
}

/// Values with units fit the schema for files, and not the schema of configurations.
#[test]
fn the_schema_for_files_takes_units() {
    let pattern = |of_files: bool, key: &str| {
        let schema = schema(of_files);
        schema["$defs"]["BufferConfig"]["properties"][key]["pattern"].clone()
    };
    assert!(pattern(true, "bytes").is_string() && pattern(true, "latency_us").is_string());
    assert!(pattern(false, "bytes").is_null());
}

/// The capacity that the host sees is the given one, whatever the FTL keeps; the over-provisioning
/// follows, and the later of the two replaces the other.
#[test]
fn a_capacity_gives_the_overprovisioning() {
    let asked = 700 << 20;
    let capacity = |config: &SsdConfig| ssd::Ssd::new(config, 1 << 30).unwrap().capacity_bytes();
    let spare = |config: &SsdConfig| config.ftl.common.overprovisioning;
    for more in [
        &[][..],
        &["ftl.name=dftl"],
        &["ftl.name=superblock"],
        &["ftl.name=bast"],
        &["ftl.name=learned"],
        &["recovery.name=checkpoint"],
        &["chip.geometry.bad_block_fraction=0.05"],
        &["drive.single_level=true", "drive.capacity=300MiB"],
    ] {
        let sets = [&["drive.capacity=700MiB"], more].concat();
        let sets: Vec<String> = sets.iter().map(|&set| set.to_owned()).collect();
        let config = load("tiny", &sets).unwrap().config;
        let asked = if more.len() > 1 { 300 << 20 } else { asked };
        assert_eq!(capacity(&config), asked, "{more:?}");
        if more.is_empty() {
            assert!((bytes(&config) as f64 / asked as f64 - 1.0 - spare(&config)).abs() < 1e-4);
        }
    }
    let file = |drive: &str, sets: &[&str]| {
        loaded(&format!("drive_preset = 'tiny'\n{drive}"), sets).map(|loaded| loaded.config)
    };
    let key = "drive.capacity = '700MiB'";
    let later = file(key, &["ftl.overprovisioning=0.5"]).unwrap();
    assert_eq!((later.drive.capacity, spare(&later)), (None, 0.5));
    let sold = file("ftl.overprovisioning = 0.5", &["drive.capacity=700MiB"]).unwrap();
    assert_eq!(capacity(&sold), asked);
    // A report's configuration has both keys in one place, and they agree.
    let again = load_tables(&params::write(&sold).unwrap(), "drive", &[]).unwrap().config;
    assert_eq!(again, sold);
    let both = format!("{key}\nftl.overprovisioning = 0.9");
    let place = "my.toml:2: drive.capacity";
    assert_carries(file(&both, &[]).unwrap_err(), &[place, "ftl.overprovisioning = 0.9"]);
    let whole = format!("{key}\nftl.overprovisioning = 1");
    assert_carries(file(&whole, &[]).unwrap_err(), &[place, "ftl.overprovisioning = 1"]);
    let sets = ["drive.capacity=700MiB", "ftl.overprovisioning=0.9"];
    assert_carries(file("", &sets).unwrap_err(), &[sets[0], sets[1]]);
    for (set, parts) in [
        ("drive.capacity=2TB", &["2000000000000", "good blocks", "less than"][..]),
        ("drive.capacity=100", &["100 bytes", "4096"]),
    ] {
        assert_carries(file("", &[set]).unwrap_err(), &[&[set], parts].concat());
    }
    // The FTL refuses a drive with too little space for collection.
    let set = format!("drive.capacity={}", bytes(&later) - (1 << 20));
    let drive = loaded("drive_preset = 'tiny'", &[&set]).unwrap();
    let error = drive.explain(ssd::Ssd::new(&drive.config, 1 << 30).err().unwrap());
    assert_carries(error, &[&set, "over-provisioning", "at least"]);
}

/// The facts of a fit change neither the drive nor its hash, and are checked.
#[test]
fn facts_of_a_fit_are_no_part_of_the_drive() {
    let fit = "[chip.fit]\nlaw = 'power_law'\ndata = 'board.csv'\nrows = 12\n\
               parameters = ['alpha', 'k']\nvalues = [1e-9, 1.5]\nis_log = [true, false]\n\
               covariance = [[0.04, -0.01], [-0.01, 0.02]]\nranges.pe_cycles = [0.0, 3000.0]\n";
    let (plain, fitted) = (loaded(SMALL, &[]).unwrap(), loaded(&(SMALL.to_owned() + fit), &[]));
    assert_eq!(fitted.unwrap().config, plain.config);
    for (right, wrong, parts) in [
        ("rows", "rosw", &["rows"][..]),
        ("[1e-9, 1.5]", "[1e-9]", &["chip.fit.values", "1 entries", "2"]),
        ("[-0.01, 0.02]", "[0.01, 0.02]", &["chip.fit.covariance", "symmetric"]),
        ("[-0.01, 0.02]", "[-0.01]", &["chip.fit.covariance", "2 rows of 2"]),
        ("0.04", "-0.04", &["chip.fit.covariance", "row 1"]),
        ("[0.0, 3000.0]", "[9.0, 1.0]", &["chip.fit.ranges", "pe_cycles"]),
    ] {
        let text = SMALL.to_owned() + &fit.replacen(right, wrong, 1);
        assert_carries(fails(&text, &[]), &[&["my.toml:"], parts].concat());
    }
    assert_carries(fails(SMALL, &["chip.fit=3"]), &["chip.fit", "table"]);
}
