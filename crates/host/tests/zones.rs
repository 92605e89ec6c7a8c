//! Jobs on drives with zones, as fio has them: places of reads, writes and resets, limits, reports.

use crate::running;

use base::error::assert_carries;
use host::drive::Drive;
use host::report::Outside;
use host::session::{Session, Workload};
use running::{number, refused, run, run_file};
use serde_json::Value;
use ssd::precondition::Precondition;

/// Preset `tiny` with 200 zones on all dies: each takes 4 MiB, and starts lie 6 MiB apart.
const ZONED: [&str; 4] =
    ["ftl.name=zoned", "ftl.max_active_zones=8", "ftl.zone_bytes=6291456", "ftl.reset_us=200"];

const MIB: f64 = (1 << 20) as f64;

fn zoned<'a>(more: &[&'a str]) -> Vec<&'a str> {
    ZONED.iter().chain(more).copied().collect()
}

fn zones(job: &str, precondition: Precondition) -> Value {
    let report = run(&zoned(&[]), &format!("zonemode=zbd\n{job}"), precondition).unwrap();
    assert_eq!(report["checks"]["conservation"]["ok"], true, "{report}");
    let refused = report["zones"]["refused"].as_object().unwrap();
    assert!(refused.values().all(|count| *count == 0), "{job}: {refused:?}");
    assert_eq!(report["host"]["requests_failed"], 0, "{job}");
    report
}

#[test]
fn sequential_writes_go_through_the_zones_and_reset_full_ones() {
    let report = zones("rw=write\nbs=64k\niodepth=8\nsize=10z\nloops=2\n", Precondition::None);
    let (of, capacity) = (&report["zones"], number(&report["zones"]["zone_capacity_bytes"]));
    assert_eq!(number(&report["host"]["write"]["bytes"]), 20.0 * capacity);
    assert_eq!((number(&of["resets"]), number(&of["states"]["full"])), (10.0, 10.0));
    assert_eq!(number(&report["ftl"]["write_amplification_flash"]), 1.0);
    // Random writes end in as many full zones, whichever were drawn.
    let job = "rw=randwrite\nbs=16k\niodepth=16\nsize=10z\nmax_open_zones=3\nio_size=40z\n";
    let of = &zones(job, Precondition::None)["zones"];
    assert!(number(&of["resets"]) > 20.0, "{of}");
    assert!(number(&of["states"]["implicitly open"]) <= 3.0, "{of}");
}

#[test]
fn a_full_drive_is_overwritten_zone_by_zone() {
    for pattern in ["write", "randwrite"] {
        let job = format!("rw={pattern}\nbs=128k\niodepth=4\nio_size=20z\n");
        let report = zones(&job, Precondition::Fill);
        let zones = &report["zones"];
        assert!(number(&zones["resets"]) >= 20.0, "{pattern}: {zones}");
        assert!(number(&report["nand"]["erases"]) > 0.0);
        // Resets stand alone in the job, and are not among fio's requests.
        assert_eq!(number(&report["jobs"][0]["trim"]["total_ios"]), 0.0);
        assert!(number(&zones["reset"]["latency_us"]["min"]) >= 200.0);
    }
}

#[test]
fn reads_stay_below_the_write_pointers() {
    let report = jobs(
        "[w]\nzonemode=zbd\nrw=write\nbs=8k\nnumber_ios=1000\nsize=4z\n\
         [r]\nstonewall\nzonemode=zbd\nrw=randread\nbs=4k\niodepth=16\nnumber_ios=3000\n\
         [s]\nstonewall\nzonemode=zbd\nrw=read\nbs=64k\n",
    );
    assert_eq!(report["host"]["read_units_unwritten"], 0, "{}", report["host"]);
    assert_eq!(number(&report["jobs"][1]["read"]["total_ios"]), 3000.0);
    // Sequential reads cover all written bytes.
    assert!(number(&report["jobs"][2]["read"]["io_bytes"]) >= 1000.0 * 8192.0);
}

#[test]
fn appends_resets_and_finishes_are_jobs_too() {
    let append = "rw=write\nbs=4k\niodepth=32\nsize=2z\nnandlab_append=1\n";
    let report = zones(append, Precondition::None);
    let (zones_of, capacity) = (&report["zones"], number(&report["zones"]["zone_capacity_bytes"]));
    assert_eq!(number(&zones_of["append"]["bytes"]), 2.0 * capacity);
    assert_eq!(number(&report["jobs"][0]["write"]["io_bytes"]), 2.0 * capacity);
    assert_eq!(number(&report["ftl"]["write_amplification_flash"]), 1.0);

    let resets = zones("rw=trim\nbs=6m\niodepth=4\nsize=30z\n", Precondition::Fill);
    assert_eq!(number(&resets["zones"]["resets"]), 30.0);
    assert_eq!(number(&resets["zones"]["states"]["empty"]), 30.0);
    assert_eq!(number(&resets["jobs"][0]["trim"]["total_ios"]), 30.0);
    // Commands go one after the other in the firmware: four at a time are not faster.
    let mean = number(&resets["jobs"][0]["trim"]["lat_ns"]["mean"]);
    assert!((700_000.0..810_000.0).contains(&mean), "{mean}");

    let report = jobs(
        "[w]\nzonemode=zbd\nrw=randwrite\nbs=4k\nnumber_ios=40\nmax_open_zones=4\n\
         [f]\nstonewall\nzonemode=zbd\nrw=trim\nbs=6m\nnandlab_finish=1\n",
    );
    assert_eq!(number(&report["zones"]["finishes"]), 4.0);
    assert_eq!(number(&report["zones"]["states"]["full"]), 4.0);
    let padded = 4.0 * number(&report["zones"]["zone_capacity_bytes"]) / 4096.0 - 40.0;
    assert_eq!(number(&report["ftl"]["padding_units"]), padded);
    // Mixed reads and writes, with resets of some zones before they are full.
    let mixed = "rw=randrw\nbs=4k\niodepth=8\nsize=8z\nnumber_ios=20000\nzone_reset_threshold=0.3\n\
                 zone_reset_frequency=0.01\n";
    let mixed = zones(mixed, Precondition::None);
    assert!(number(&mixed["host"]["read"]["requests"]) > 5000.0);
    assert!(number(&mixed["zones"]["resets"]) > 10.0);
}

/// Overwrites in random write areas never reach the flash: write amplification is the share of the
/// other writes, but for what the buffer holds at the end.
#[test]
fn overwritten_data_take_no_room_on_flash() {
    for (share, flush) in [(25, 4096), (60, 4096), (60, 65536)] {
        let flush = format!("ftl.zrwa_flush_bytes={flush}");
        let drive = zoned(&["ftl.zrwa_bytes=131072", "ftl.zrwa_zones=4", &flush]);
        let job = format!(
            "zonemode=zbd\nrw=randwrite\nbs=4k\niodepth=8\nsize=8z\nio_size=40z\n\
             nandlab_rewrite={share}\n"
        );
        let report = run(&drive, &job, Precondition::None).unwrap();
        let (of, ftl) = (&report["zones"], &report["ftl"]);
        assert_eq!(report["checks"]["conservation"]["ok"], true, "{report}");
        assert!(of["refused"].as_object().unwrap().values().all(|count| *count == 0), "{of}");
        let writes = number(&report["host"]["write"]["requests"]);
        let overwritten = number(&of["overwritten_units"]) / writes;
        assert!((overwritten - f64::from(share) / 100.0).abs() < 1e-3, "{overwritten}");
        assert_eq!((number(&of["blank_units"]), number(&ftl["padding_units"])), (0.0, 0.0));
        assert!(number(&of["area_opens"]) > 10.0 && number(&of["implicit_commits"]) > 100.0);
        // At most the areas of four zones and their short rows are in the buffer.
        let left = (writes * (1.0 - overwritten) - number(&ftl["host_units"])) / writes;
        assert!((0.0..4.0 * (64.0 + 64.0) / writes).contains(&left), "{left}");
        let amplification = number(&ftl["write_amplification"]);
        assert!((amplification - (1.0 - overwritten)).abs() <= left + 1e-9, "{amplification}");
    }
}

/// The report of a job file.
fn jobs(text: &str) -> Value {
    let loaded = host::config::load("tiny", &zoned(&[]).map_owned()).unwrap();
    let workload = Workload::FioText {
        text: text.into(),
        place: "test".into(),
        dir: ".".into(),
        traces: Box::default(),
    };
    let mut session = Session::new(loaded, &workload, Precondition::None, 1 << 32).unwrap();
    while !session.advance(1000).unwrap() {}
    session.report(Outside::default()).unwrap()
}

/// Zones are opened up to the limit, beside one that a write has opened, and all are closed.
#[test]
fn opens_and_closes_are_jobs_too() {
    let report = jobs(
        "[global]\nzonemode=zbd\n[w]\nrw=write\nbs=4k\nnumber_ios=1\n\
         [o]\nstonewall\nrw=trim\nbs=6m\nnandlab_open=1\nmax_open_zones=5\n\
         [c]\nstonewall\nrw=trim\nbs=6m\nnandlab_close=1\n",
    );
    let zones = &report["zones"];
    assert_eq!([number(&zones["opens"]), number(&zones["closes"])], [4.0, 5.0]);
    assert_eq!(number(&zones["states"]["closed"]), 5.0);
    assert_eq!(number(&report["jobs"][1]["trim"]["total_ios"]), 4.0);
}

#[test]
fn jobs_beside_each_other_write_zones_of_their_own() {
    let job = "rw=write\nbs=16k\nsize=2z\noffset_increment=2z\nnumjobs=4\niodepth=4\n";
    let report = zones(job, Precondition::None);
    assert_eq!(number(&report["zones"]["states"]["full"]), 8.0);
    // All jobs write one region: the first one to open a zone has it.
    let report = zones("rw=write\nbs=16k\nsize=6z\nnumjobs=3\nio_size=2z\n", Precondition::None);
    assert!(number(&report["zones"]["states"]["full"]) >= 3.0, "{}", report["zones"]["states"]);
}

/// Ten sequential writers, where eight zones may be active: two wait until a zone is full.
#[test]
fn more_writers_than_zones_wait_for_each_other() {
    let job = "rw=write\nbs=64k\niodepth=1\nsize=2z\nnumjobs=10\noffset_increment=2z\n";
    let report = zones(job, Precondition::None);
    for job in report["jobs"].as_array().unwrap() {
        assert_eq!(number(&job["write"]["io_bytes"]), 8.0 * MIB, "{job}");
    }
    assert_eq!(number(&report["zones"]["states"]["full"]), 20.0);
}

/// Random writers of one region, and of regions of their own, share the zones that may be open.
#[test]
fn random_writers_share_the_open_zones() {
    for place in ["", "size=100z\noffset_increment=100z\n"] {
        let job = format!("rw=randwrite\nbs=16k\niodepth=64\nio_size=50m\nnumjobs=2\n{place}");
        let report = zones(&job, Precondition::None);
        for job in report["jobs"].as_array().unwrap() {
            assert_eq!(number(&job["write"]["io_bytes"]), 50.0 * MIB, "{place}: {job}");
        }
    }
}

/// A zone whose rest is smaller than a block is finished, or the rest is written as a short block.
/// Amounts count what was sent.
#[test]
fn rests_of_zones_are_finished_or_written() {
    let job = |more: &str| {
        let job = format!("rw=write\nbs=24k\niodepth=1\n{more}");
        let report = zones(&job, Precondition::None);
        let of = &report["zones"];
        let (requests, bytes) = (&report["host"]["write"]["requests"], &report["host"]["write"]);
        [requests, &bytes["bytes"], &of["finishes"], &of["states"]["full"]].map(number)
    };
    assert_eq!(job("size=20z\n"), [3400.0, 3400.0 * 24.0 * 1024.0, 20.0, 20.0]);
    let written = "write_zone_remainder=1\n";
    assert_eq!(job(&format!("size=20z\n{written}")), [3420.0, 80.0 * MIB, 0.0, 20.0]);
    assert_eq!(job(&format!("io_size=300m\n{written}"))[1], 300.0 * MIB);
    assert_eq!(job("io_size=300m\n")[1], 300.0 * MIB);
    let report = zones("rw=write\nbs=24k\nsize=20z\n", Precondition::None);
    let amplification = number(&report["ftl"]["write_amplification_flash"]);
    assert!((amplification - 4096.0 / 4080.0).abs() < 1e-9, "{amplification}");
}

/// A job that ends before its amount says why.
#[test]
fn jobs_that_end_early_say_why() {
    let notices = |job: &str| {
        let report = jobs(&format!("[global]\nzonemode=zbd\n{job}"));
        report["nandlab"]["notices"].to_string()
    };
    let read = "[r]\nrw=read\nbs=64k\nsize=4z\nnumjobs=4\noffset_increment=4z\n";
    let said = notices(read);
    assert!(said.contains("4 jobs `r`") && said.contains("no zone of it holds data"), "{said}");
    let finish =
        "[w]\nrw=write\nbs=4k\nnumber_ios=1\n[f]\nstonewall\nrw=trim\nbs=6m\nnandlab_finish=1\n";
    let said = notices(finish);
    assert!(said.contains("`f` ended early, after 1 requests"), "{said}");
    // What ends by its amount, or by its time, says nothing.
    for whole in ["[w]\nrw=write\nsize=2z\n", "[w]\nrw=randwrite\nruntime=1ms\ntime_based\n"] {
        assert!(!notices(whole).contains("ended early"), "{whole}");
    }
}

#[test]
fn jobs_that_do_not_fit_the_drive_are_refused() {
    let refused_on = |job: &str| refused(&zoned(&[]), job);
    for (job, parts) in [
        ("rw=randwrite", &["rw", "write pointers", "zonemode=zbd"][..]),
        ("rw=write", &["zonemode=zbd"]),
        ("rw=trim\nbs=6m", &["zonemode=zbd"]),
        ("zonemode=zbd\nrw=trim\nbs=4k", &["bs", "6291456"]),
        ("zonemode=zbd\nrw=write\nzonesize=4m", &["zonesize", "4194304 bytes", "6291456"]),
        ("zonemode=zbd\nrw=write\nzonecapacity=1m", &["zonecapacity", "1048576 bytes", "drive"]),
        ("zonemode=zbd\nrw=write\nsize=1m", &["size", "1048576 bytes", "6291456 bytes"]),
        ("zonemode=zbd\nrw=trimwrite\nbs=6m", &["rw", "trims", "reset"]),
        ("zonemode=zbd\nrw=read\nnandlab_append=1", &["nandlab_append", "rw=write"]),
        ("zonemode=zbd\nrw=write\nnandlab_finish=1", &["nandlab_finish", "rw=trim"]),
        ("zonemode=zbd\nrw=write\nnandlab_rewrite=5", &["nandlab_rewrite", "ftl.zrwa_bytes"]),
        ("zonemode=zbd\nrw=write\nnandlab_rewrite=100", &["nandlab_rewrite", "99"]),
        ("zonemode=zbd\nrw=randwrite\nnandlab_open=1", &["nandlab_open", "rw=trim"]),
        (
            "zonemode=zbd\nrw=trim\nbs=6m\nnandlab_open=1\nnandlab_close=1",
            &["nandlab_open", "nandlab_close", "one of them"],
        ),
        ("zonemode=zbd\nrw=write\nzone_reset_threshold=2", &["zone_reset_threshold", "0 to 1"]),
    ] {
        assert_carries(refused_on(job), parts);
    }
    assert_carries(refused(&[], "rw=write\nzonemode=zbd"), &["zonemode", "no zones"]);
    assert_carries(refused(&[], "rw=write\nsize=2z"), &["size", "no zones"]);
    assert_carries(refused(&["ftl.name=zoned"], "rw=read"), &["buffer.bytes"]);
}

/// Zones of one namespace beside another that is written anywhere: each job keeps to its own.
#[test]
fn jobs_run_on_zones_beside_other_namespaces() {
    let own = "namespace=[{dies=2, ftl={name='page'}}, {dies=2}]";
    let sets: Vec<&str> = zoned(&[own]);
    let text = "[global]\nbs=16k\niodepth=4\n[meta]\nfilename=/dev/nvme0n1\nrw=randwrite\n\
                number_ios=20000\nnorandommap\n[log]\nfilename=/dev/nvme0n2\nzonemode=zbd\n\
                rw=randwrite\nmax_open_zones=4\nio_size=20z\nsize=10z\n";
    let report = run_file(&sets, text, Precondition::Steady).unwrap();
    assert_eq!(report["checks"]["conservation"]["ok"], true, "{report}");
    assert_eq!(report["host"]["requests_failed"], 0);
    let of = &report["zones"];
    assert_eq!(number(&report["jobs"][1]["write"]["io_bytes"]), 20.0 * 6.0 * MIB);
    assert!(number(&of["resets"]) >= 20.0, "{of}");
    let [meta, log] = [0, 1].map(|set| &report["sets"][set]);
    assert_eq!((&meta["ftl"], &log["ftl"]), (&"page".into(), &"zoned".into()));
    assert_eq!(number(&log["write_amplification"]), 1.0);
    assert!(number(&meta["write_amplification"]) > 1.0);
    // A job without zones is refused on the zones, and one with zones beside them.
    let refused = |job: &str| run_file(&sets, job, Precondition::None).unwrap_err();
    let job = "[a]\nfilename=/dev/nvme0n2\nrw=randwrite\n";
    assert_carries(refused(job), &["rw", "zonemode=zbd"]);
    let job = "[a]\nfilename=/dev/nvme0n1\nrw=randwrite\nzonemode=zbd\n";
    assert_carries(refused(job), &["zonemode", "no zones"]);
}

/// A drive that was saved and loaded, or cloned, goes on where it was, short rows in its buffer
/// too.
#[test]
fn a_drive_goes_on_where_it_was() {
    let sets: Vec<String> = zoned(&[]).map_owned();
    let drive = Drive::new(host::config::load("tiny", &sets).unwrap(), 1 << 32).unwrap();
    let text = |seed: u32| {
        format!(
            "[w]\nzonemode=zbd\nrw=randwrite\nbs=4k\niodepth=4\nnumber_ios=501\nrandseed={seed}\n\
             size=6z\nmax_open_zones=4\n"
        )
    };
    let (_, drive) = on(drive, &text(1));
    let twin = drive.twin().unwrap();
    let dir = std::env::temp_dir().join(format!("zones-{}", std::process::id()));
    drive.twin().map(|mut other| other.save(&dir)).unwrap().unwrap();
    let loaded = Drive::load(&dir, 1 << 32).unwrap();
    std::fs::remove_file(&dir).unwrap();
    let reports = [drive, twin, loaded].map(|drive| on(drive, &text(2)).0);
    assert_eq!(reports[0], reports[1]);
    assert_eq!(reports[0], reports[2]);
    assert_eq!(number(&reports[0]["host"]["write"]["requests"]), 501.0);
}

fn on(drive: Drive, text: &str) -> (Value, Drive) {
    let workload = Workload::FioText {
        text: text.into(),
        place: "test".into(),
        dir: ".".into(),
        traces: Box::default(),
    };
    let mut session = Session::on(drive, &workload).unwrap();
    while !session.advance(1000).unwrap() {}
    let report = session.report(Outside::default()).unwrap();
    assert_eq!(report["checks"]["conservation"]["ok"], true, "{report}");
    (report, session.drive_left().unwrap())
}

/// Copies of assignments, owned.
trait Owned {
    fn map_owned(&self) -> Vec<String>;
}

impl Owned for Vec<&str> {
    fn map_owned(&self) -> Vec<String> {
        self.iter().map(|set| (*set).to_owned()).collect()
    }
}
