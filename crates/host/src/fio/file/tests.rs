//! Tests of job files: options of the jobs, notices, and refusals.

use super::*;
use base::error::assert_carries;
use proptest::prelude::{any, prop_assert, proptest};
use ssd::ftl::contract::{AreaLayout, ZoneLayout};
use ssd::request::Request;

const CAPACITY: u64 = 1 << 30;

fn read(text: &str) -> Result<Loaded> {
    parse(text, "job.fio", Path::new("/nowhere"), &Target::new(CAPACITY, 1))
}

/// One job with options separated by blanks.
fn job(options: &str) -> Job {
    let text = format!("[job]\n{}", options.replace(' ', "\n"));
    read(&text).unwrap().jobs.swap_remove(0)
}

fn requests(job: &mut Job, most: usize) -> Vec<Request> {
    let next = || job.source.next(Time::ZERO).unwrap().map(|arrival| arrival.request);
    std::iter::from_fn(next).take(most).collect()
}

#[test]
fn globals_reach_the_jobs_below_them() {
    let text = "\
        ; a comment\n\
        # another\n\
        [global]\n  rw = randread   ; behind an option\n bs=8k\n\n\
        [one]\n\
        [two]\n bs=16k # its own\n rw=write\n\
        [global]\n iodepth=32\n bs=64k\n\
        [three]\n size=1m\n";
    let mut loaded = read(text).unwrap();
    let seen: Vec<_> = loaded
        .jobs
        .iter_mut()
        .map(|job| {
            let first = requests(job, 1)[0];
            (job.name.clone(), first.op.name(), first.length >> 10, job.pace.clone())
        })
        .collect();
    let closed = |depth| Pace::Closed { depth };
    let expected = [
        ("one".to_owned(), "read", 8, closed(1)),
        ("two".to_owned(), "write", 16, closed(1)),
        ("three".to_owned(), "read", 64, closed(32)),
    ];
    assert_eq!(seen, expected);
    let options = |pairs: &[(&str, &str)]| -> Vec<(String, String)> {
        pairs.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect()
    };
    let global = [("rw", "randread"), ("bs", "8k"), ("iodepth", "32"), ("bs", "64k")];
    assert_eq!(loaded.global_options, options(&global));
    assert_eq!(loaded.jobs[1].options, options(&[("bs", "16k"), ("rw", "write")]));
    assert!(loaded.notices.is_empty(), "{:?}", loaded.notices);
}

#[test]
fn paces_follow_rates_and_depths() {
    let rated = |drawn| Pace::Paced { depth: 4, drawn };
    for (options, pace) in [
        ("iodepth=4", Pace::Closed { depth: 4 }),
        ("iodepth=4 rate_process=poisson", Pace::Closed { depth: 4 }),
        ("iodepth=4 rate=0", Pace::Closed { depth: 4 }),
        ("iodepth=4 rate=1m", rated(false)),
        ("iodepth=4 rate_iops=,50", rated(false)),
        ("iodepth=4 rate_iops=9 rate_process=poisson", rated(true)),
    ] {
        assert_eq!(job(options).pace, pace, "{options}");
    }
}

#[test]
fn rates_are_by_direction() {
    for (options, at_ms) in [
        ("rw=read rate=1m bs=512k", [0, 500, 1000]),
        ("rw=read rate=1m,", [0, 4, 8]),
        ("rw=read rate_iops=,50", [0, 0, 0]),
        ("rw=write rate_iops=,50", [0, 20, 40]),
        ("rw=trim rate_iops=,50", [0, 20, 40]),
        ("rw=read rate_iops=100,50,20", [0, 10, 20]),
        ("rw=trim rate_iops=100,50,20", [0, 50, 100]),
        ("rw=rw rwmixread=100 rate_iops=100,50,20", [0, 10, 20]),
    ] {
        let mut job = job(options);
        let mut next = || job.source.next(Time::ZERO).unwrap().unwrap().at;
        let at = [next(), next(), next()].map(|at| (at.s() * 1e3).round() as u64);
        assert_eq!(at, at_ms, "{options}");
    }
}

#[test]
fn times_reach_the_job() {
    let job = job("runtime=2m ramp_time=500ms startdelay=3 thinktime=50 thinktime_blocks=8");
    assert_eq!(job.runtime, Some(Time::from_s(120.0)));
    assert_eq!(job.ramp, Time(500_000_000));
    assert_eq!(job.start_delay, Time::from_s(3.0));
    assert_eq!(job.think, Some(Think { time: Time(50_000), every: 8 }));
    let plain = self::job("runtime=0 thinktime=0");
    assert_eq!((plain.runtime, plain.think, plain.stonewall), (None, None, false));
    assert_eq!(self::job("timeout=10").runtime, Some(Time::from_s(10.0)));
    let drawn = self::job("startdelay=2-4").start_delay;
    assert!((Time::from_s(2.0)..=Time::from_s(4.0)).contains(&drawn));
}

#[test]
fn clones_have_streams_and_places_of_their_own() {
    let text = "[w]\nrw=randwrite\nnumjobs=3\noffset=64m\noffset_increment=128m\nsize=128m\n\
                stonewall\nstartdelay=0-9\n[w]\nrw=randwrite\nsize=128m\n";
    let mut jobs = read(text).unwrap().jobs;
    assert_eq!(jobs.len(), 4);
    let walls: Vec<bool> = jobs.iter().map(|job| job.stonewall).collect();
    assert_eq!(walls, [true, false, false, false]);
    let mut orders = Vec::new();
    for (index, job) in jobs.iter_mut().enumerate() {
        assert_eq!(job.name, "w");
        let start = if index < 3 { (64 + 128 * index as u64) << 20 } else { 0 };
        let all = requests(job, 40_000);
        assert_eq!(all.len(), 32_768);
        let offsets: Vec<u64> = all.iter().map(|request| request.offset - start).collect();
        assert!(offsets.iter().all(|&offset| offset < 128 << 20));
        orders.push(offsets);
    }
    assert!((1..4).all(|i| orders[..i].iter().all(|other| *other != orders[i])));
    assert_ne!(jobs[0].start_delay, jobs[1].start_delay);
}

#[test]
fn seeds_decide() {
    let first = |text: &str, seed| {
        let loaded = parse(text, "job.fio", Path::new(""), &Target::new(CAPACITY, seed)).unwrap();
        requests(&mut { loaded.jobs }[0], 100)
    };
    let (plain, fixed) = ("[j]\nrw=randread\n", "[j]\nrw=randread\nrandseed=7\n");
    assert_eq!(first(plain, 1), first(plain, 1));
    assert_ne!(first(plain, 1), first(plain, 2));
    assert_eq!(first(fixed, 1), first(fixed, 2));
    assert_eq!(first(fixed, 1), first(plain, 7));
    // A job before it, or another option, does not change its requests.
    let after = "[a]\nrw=randread\n[j]\nrw=randread\niodepth=9\n";
    let mut loaded = parse(after, "job.fio", Path::new(""), &Target::new(CAPACITY, 1)).unwrap();
    assert_eq!(requests(&mut loaded.jobs[1], 100), first(plain, 1));
}

#[test]
fn notices_name_each_option_once() {
    let text = "[global]\nioengine=libaio\ndirect=1\nrandrepeat=1\nallrandrepeat=0\n\
                [a]\nfilename=/dev/sda\ngroup_reporting\n[b]\nfilename=/dev/sdb\nexitall\n\
                size=64k\nnumber_ios=100\n[c]\ntime_based\nreplay_no_stall=1\n";
    let notices = read(text).unwrap().notices;
    for parts in [
        &["job.fio:2", "`ioengine`"][..],
        &["job.fio:3", "`direct`"],
        &["job.fio:5", "--seed"],
        &["job.fio:7", "`filename`"],
        &["`group_reporting`"],
        &["`exitall`"],
        &["job.fio:15", "`time_based`", "runtime"],
        &["job.fio:16", "`replay_no_stall`", "read_iolog"],
    ] {
        let has_all = |notice: &&String| parts.iter().all(|part| notice.contains(part));
        assert_eq!(notices.iter().filter(has_all).count(), 1, "{parts:?}: {notices:?}");
    }
    assert_eq!(notices.len(), 8);
}

#[test]
fn bad_input_is_told_with_its_place() {
    for (text, parts) in [
        ("", &["job.fio", "no job", "[name]"][..]),
        ("[global]\nbs=4k", &["no job"]),
        ("[j]\nblcoksize=4k", &["job.fio:2", "`blcoksize`", "`blocksize`"]),
        ("[j]\niodetph=4", &["job.fio:2", "`iodepth`"]),
        ("[j]\nbs", &["job.fio:2", "`bs`", "bs=VALUE"]),
        ("[j]\nbs=", &["job.fio:2", "`bs`", "bs=VALUE"]),
        ("[j]\nbs=4000", &["job.fio:2", "bs", "`4000`", "multiple of 512"]),
        ("[j]\n\nbs=4k,x", &["job.fio:3", "bs", "`x`"]),
        ("[j]\nbs=0", &["bs", "`0`"]),
        ("[j]\nbssplit=4k/60:8k/60", &["bssplit", "120 %", "100 %"]),
        ("[j]\nbsrange=1-2k", &["bsrange", "`1`"]),
        ("[j]\nba=100", &["ba", "`100`", "multiple of 512"]),
        ("[j]\nrw=randrad", &["rw", "`randrad`", "`randread`"]),
        ("[j]\nrw=read:-8k", &["rw", "`-8k`", "0 or more"]),
        ("[j]\nrw=randread:0", &["rw", "`0`", "from 1"]),
        ("[j]\nrw_sequencer=x", &["rw_sequencer", "`x`", "identical"]),
        ("[j]\niodepth=0", &["iodepth", "`0`", "from 1"]),
        ("[j]\niodepth=many", &["iodepth", "`many`"]),
        ("[j]\nnumjobs=9999", &["numjobs", "4096"]),
        ("[j]\nsize=2g", &["job.fio:2", "size", "2 GiB", "1 GiB", "1073741824 bytes"]),
        ("[j]\noffset=512m\nsize=600m", &["job.fio:3", "size", "512 MiB", "1 GiB"]),
        ("[j]\noffset=1g", &["job.fio:2", "offset", "1 GiB", "capacity"]),
        ("[j]\noffset=100", &["job.fio:2", "offset", "100", "512"]),
        ("[j]\nnumjobs=3\noffset_increment=600m", &["job.fio:3", "offset_increment"]),
        ("[j]\nnumjobs=2\nsize=600m\noffset_increment=500m", &["job.fio:3", "size"]),
        ("[j]\nsize=1000", &["size", "1000", "512"]),
        ("[j]\nsize=4k\nbs=8k", &["job.fio:2", "size", "8 KiB"]),
        ("[j]\nrw=rw\nsize=4k\nbs=4k,8k", &["job.fio:3", "size", "write of 8 KiB"]),
        ("[j]\nsize=101%", &["size", "`101%`", "1% to 100%"]),
        ("[j]\nsize=x", &["size", "`x`", "percentage"]),
        ("[j]\nio_size=100", &["io_size", "100", "512"]),
        ("[j]\nfilesize=2g", &["filesize", "1 GiB"]),
        ("[j]\nfilesize=1m\noffset=1m", &["job.fio:2", "filesize", "1 MiB", "above the offset"]),
        ("[j]\nruntime=5x", &["runtime", "`5x`", "ms, s, m, h or d"]),
        ("[j]\nthinktime=-1", &["thinktime", "`-1`"]),
        ("[j]\nrwmixread=101", &["rwmixread", "`101`", "0 to 100"]),
        ("[j]\npercentage_random=200", &["percentage_random", "`200`"]),
        ("[j]\nrandom_distribution=zpif", &["`zpif`", "`zipf`", "pareto"]),
        ("[j]\nrandom_distribution=zipf:0", &["random_distribution", "theta", "`0`"]),
        ("[j]\nrandom_distribution=zoned:50/50", &["random_distribution", "50 %"]),
        (
            "[j]\nrw=randread\nrandom_distribution=zoned_abs:100/2g",
            &["job.fio:3", "random_distribution", "2 GiB", "1 GiB"],
        ),
        ("[j]\nrate=1m\nrate_iops=5", &["job.fio:3", "rate_iops", "rate"]),
        ("[j]\nrate_process=fast", &["rate_process", "`fast`", "linear, poisson"]),
        ("[j]\ntime_based=maybe", &["time_based", "`maybe`", "1 or 0"]),
        ("[j]\nrandrepeat=x", &["randrepeat", "`x`", "1 or 0"]),
        ("[j]\nwrite_hint=forever", &["write_hint", "`forever`", "extreme"]),
        ("[j]\nfdp\nplids=1", &["job.fio:3", "plids", "handle 1", "ftl.host_streams"]),
        ("[j]\nfdp\nplids=16", &["plids", "`16`", "0 to 15"]),
        ("[j]\ndataplacement=fpd", &["dataplacement", "`fpd`", "`fdp`"]),
        ("[j]\ndataplacement=streams", &["`streams`", "write_hint"]),
        ("[j]\nfdp\nplid_select=scheme", &["`scheme`", "offset, size"]),
        ("[j]\nfdp\nwrite_hint=long", &["job.fio:3", "write_hint", "dataplacement=fdp"]),
        ("[j]\nsync=perhaps", &["sync", "`perhaps`", "dsync"]),
        ("[j]\nloops=0", &["loops", "`0`"]),
        ("[j]\nsize=${SIZE}", &["job.fio:2", "size", "variable", "`${SIZE}`"]),
        ("[j]\nbs=$pagesize", &["bs", "variable", "`$pagesize`"]),
        ("[j]\nzonemode=zbd", &["job.fio:2", "zonemode", "zbd", "no zones", "ftl.name"]),
        ("[j]\nwait_for=a", &["`wait_for`", "stonewall"]),
        ("[j]\nkb_base=1000", &["kb_base", "`1000`", "1024"]),
        ("[j]\nss=iops", &["job.fio:2", "`iops`", "iops:2%"]),
        (
            "[a]\nss=iops:1%\nss_dur=4\nss_interval=0",
            &["job.fio:4", "steadystate_check_interval", "at most ss_dur"],
        ),
        (
            "[a]\nss=iops:1%\nss_dur=4\nss_interval=5000",
            &["job.fio:4", "steadystate_check_interval", "at most ss_dur"],
        ),
        (
            "[a]\nss=iops:1%\nss_dur=4\n[b]\nss=bw:1%\nss_dur=4",
            &["job.fio:5", "steadystate", "all jobs"],
        ),
        ("[j]\nread_iolog=:", &["read_iolog", "`:`", "path"]),
        (
            "[j]\n\nread_iolog=none.log",
            &["job.fio:3", "read_iolog", "/nowhere/none.log", "No such file"],
        ),
    ] {
        assert_carries(read(text).map(|_| ()).expect_err(text), parts);
    }
    let nowhere = load(Path::new("/nowhere/a.fio"), &Target::new(CAPACITY, 1)).map(|_| ());
    assert_carries(nowhere.unwrap_err(), &["/nowhere/a.fio", "No such file"]);
}

/// Offset and bytes that the requests of a job reach.
#[test]
fn regions_are_where_they_should_be() {
    const M: u64 = 1 << 20;
    for (options, region) in [
        ("bs=1m", 0..1024 * M),
        ("bs=1m offset=256m", 256 * M..1024 * M),
        ("bs=1m offset=25%", 256 * M..1024 * M),
        ("bs=1m offset=25% size=50%", 256 * M..768 * M),
        ("bs=1m offset=75% size=50%", 768 * M..1024 * M),
        ("bs=1m size=64m", 0..64 * M),
        ("bs=1m filesize=64m", 0..64 * M),
        ("bs=1m filesize=64m offset=16m size=1g", 16 * M..64 * M),
        ("bs=3m offset=10%", 105 * M..1023 * M),
        ("bs=1m offset=10% offset_align=128m", 128 * M..1024 * M),
        ("bs=1m fileoffset=0x100000 size=0", M..1024 * M),
    ] {
        let all = requests(&mut job(&format!("rw=read {options}")), 5000);
        let reached = all[0].offset..all.iter().filter_map(Request::end).max().unwrap();
        assert_eq!(reached, region, "{options}");
    }
    // With filesize, size is the bytes to send.
    assert_eq!(job("rw=read bs=1m filesize=64m size=1g").source.total(), Some(1024));
    assert_eq!(job("rw=read bs=1m size=64m io_size=25%").source.total(), Some(16));
}

#[test]
fn names_and_odd_but_valid_texts() {
    assert_eq!(job("name=shown").name, "shown");
    for text in [
        "[j]\r\nbs = 4k\r\n",
        "  [ j ]  ; comment\n\tbs=4k",
        "[j]\nstonewall=0\nwait_for_previous=1\ntime_based=0",
        "[j]\nrw=randread\nrandom_distribution=zoned_abs=60/20m:40/100m",
        "[j]\nrw=randread\nrandom_distribution=random\nnorandommap=0",
        "[j]\ndescription=a line of words, $5\nfilename=${DEVICE}",
        "[j]\nrw=randrw\nrwmixwrite=0x10",
    ] {
        assert_eq!(read(text).map(|loaded| loaded.jobs.len()), Ok(1), "{text}");
    }
}

#[test]
fn traces_are_replayed_by_clones_in_turn() {
    let dir = std::env::temp_dir().join(format!("nandlab-read-iolog-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    let timed = "fio version 3 iolog\n0 f add\n0 f open\n0 f write 4096 512\n\
                 8000000 f read 0 4096\n9000000 f close\n";
    let plain = "fio version 2 iolog\nf add\nf open\nf read 8192 4096\nf close\n";
    std::fs::write(dir.join("timed.log"), timed).unwrap();
    std::fs::write(dir.join("plain.log"), plain).unwrap();
    std::fs::write(dir.join("waits.log"), plain.replace("f close", "f wait 500 0\nf read 0 512"))
        .unwrap();
    let text = "[t]\nread_iolog=timed.log:plain.log\nnumjobs=2\n\
                [f]\nread_iolog=timed.log\nreplay_time_scale=200\n\
                [n]\nread_iolog=timed.log:waits.log\nreplay_no_stall\nnumjobs=2\niodepth=8\n\
                [w]\nread_iolog=waits.log\niodepth=8\nthinktime=5\n\
                [d]\nread_iolog=timed.log\niodepth=8\n\
                [p]\nread_iolog=timed.log\nthinktime=5\n";
    let mut jobs = parse(text, "job.fio", &dir, &Target::new(CAPACITY, 1)).unwrap().jobs;
    let paces: Vec<Pace> = jobs.iter().map(|job| job.pace.clone()).collect();
    let closed = |depth| Pace::Closed { depth };
    let expected = [Pace::Open, closed(1), Pace::Open, closed(8), closed(8)];
    assert_eq!(paces[..5], expected);
    // A limit of the job makes waits, pauses and times the earliest moments to send requests.
    let paced = |depth| Pace::Paced { depth, drawn: false };
    assert_eq!(paces[5..], [paced(8), paced(8), paced(1)]);
    assert!(jobs[5].think.is_some());
    std::fs::remove_dir_all(&dir).unwrap();
    let last = |job: &mut Job| {
        let next = || job.source.next(Time::ZERO).unwrap();
        std::iter::from_fn(next).last().map(|arrival| (arrival.at, arrival.request.offset))
    };
    let (slow, fast) = (last(&mut jobs[0]).unwrap(), last(&mut jobs[2]).unwrap());
    assert_eq!((slow.1, fast.1), (0, 0));
    assert_eq!(slow.0.ns(), 2 * fast.0.ns());
    assert!(slow.0 > Time::ZERO);
    assert_eq!(last(&mut jobs[1]).map(|(_, offset)| offset), Some(8192));
}

/// Every option of a replay is obeyed, noticed or refused: fio passes over the noticed ones too.
#[test]
fn options_of_replays_are_noticed_or_refused() {
    let dir = std::env::temp_dir().join(format!("nandlab-replays-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    let timed = "fio version 3 iolog\n0 f add\n0 f open\n0 f read 0 512\n9 f read 0 512\n";
    let plain = "fio version 2 iolog\nf add\nf open\nf read 8192 4096\n";
    std::fs::write(dir.join("timed.log"), timed).unwrap();
    std::fs::write(dir.join("plain.log"), plain).unwrap();
    let read = |log: &str, options: &str| {
        let options = options.replace(' ', "\n");
        let text = format!("[global]\nrandrepeat\n[j]\nread_iolog={log}.log\n{options}\n");
        parse(&text, "job.fio", &dir, &Target::new(CAPACITY, 1))
    };
    let passed = "rw=write bs=8k size=1m offset=1g io_size=9k number_ios=1 rate_iops=5 fsync=1 \
                  norandommap rwmixread=9 time_based";
    for log in ["timed", "plain"] {
        let loaded = read(log, passed).unwrap();
        assert_eq!(loaded.notices.len(), 11, "{:?}", loaded.notices);
        let size = loaded.notices.iter().find(|notice| notice.contains("`size`"));
        assert_carries(size.expect("a notice"), &["job.fio:7", "replay"]);
        let pace = if log == "timed" { Pace::Open } else { Pace::Closed { depth: 1 } };
        assert_eq!(
            (loaded.jobs[0].pace.clone(), loaded.jobs[0].source.total().is_some()),
            (pace, true)
        );
    }
    // Both entries of the log, three times.
    let looped = read("timed", "loops=3").unwrap();
    assert_eq!(
        looped.jobs[0].source.total(),
        read("timed", "").unwrap().jobs[0].source.total().map(|n| 3 * n)
    );
    let notices = read("timed", "replay_no_stall replay_time_scale=50 iodepth=2").unwrap().notices;
    let [notice] = &notices[..] else { panic!("{notices:?}") };
    assert_carries(notice, &["job.fio:6", "`replay_time_scale`"]);
    for (log, options, parts) in [
        ("plain", "replay_time_scale=50", &["job.fio:5", "replay_time_scale", "no times"][..]),
        ("plain", "sync=1", &["job.fio:5", "sync", "replay", "read_iolog"]),
        ("plain", "write_hint=long", &["job.fio:5", "write_hint"]),
        ("plain", "dataplacement=fdp", &["job.fio:5", "dataplacement", "replay"]),
        ("plain", "fdp", &["job.fio:5", "fdp", "replay"]),
        ("plain", "end_fsync", &["job.fio:5", "end_fsync"]),
        ("timed", "fsync_on_close", &["job.fio:5", "fsync_on_close"]),
        ("gone", "", &["job.fio:4", "read_iolog", "gone.log", "No such file"]),
    ] {
        assert_carries(read(log, options).map(|_| ()).expect_err(options), parts);
    }
    for (log, options) in [
        (
            "timed",
            "thinktime=0 sync=0 write_hint=none end_fsync=0 runtime=1 startdelay=1 ramp_time=1",
        ),
        ("timed", "replay_no_stall thinktime=9 iodepth=3"),
        ("timed", "thinktime=9 iodepth=3"),
        ("plain", "thinktime=9 iodepth=3"),
    ] {
        let notices = read(log, options).map(|loaded| loaded.notices);
        assert_eq!(notices, Ok(Vec::new()), "{options}");
    }
    std::fs::remove_dir_all(&dir).unwrap();
}

/// Zones at a distance of 4 MiB with 3 MiB of capacity each.
fn zoning(capacity: u64) -> Zoning {
    let (zones, stride, units) = ((capacity >> 22) as u32, 1024, 768);
    let areas = Some(AreaLayout { units: 32, flush_units: 1, most: 4 });
    let (first, most_open, most_active) = (0, 0, 8);
    let layout = ZoneLayout {
        zones,
        first,
        first_block: nand::geometry::Block(0),
        stride,
        capacity: units,
        most_open,
        most_active,
        areas,
    };
    Zoning { layout, unit: 4096 }
}

#[test]
fn example_jobs_load_and_open_with_what_they_show() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/jobs");
    let mut seen = 0;
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.starts_with("# "), "{path:?}");
        for capacity in [64 << 20, 512 << 30] {
            // A drive with zones takes only jobs on zones.
            let zoning = text.contains("zonemode=zbd").then(|| zoning(capacity));
            let target = Target { zoning, ..Target::new(capacity, 1) };
            let mut loaded = load(&path, &target).unwrap();
            assert!(loaded.notices.is_empty(), "{path:?}: {:?}", loaded.notices);
            for job in &mut loaded.jobs {
                assert_eq!(requests(job, 1000).len(), 1000, "{path:?}");
            }
        }
        seen += 1;
    }
    assert!(seen >= 8);
}

proptest! {
    #[test]
    fn no_text_panics(text in any::<String>()) {
        let _ = read(&text);
        let _ = read(&format!("[j]\n{text}"));
    }

    /// Known names with random values, close to valid ones.
    #[test]
    fn no_value_panics(
        name in "rw|bs|ba|bsrange|bssplit|size|io_size|offset|offset_increment|filesize|loops|\
                 runtime|startdelay|random_distribution|rate|percentage_random|number_ios|\
                 randseed|fsync|thinktime|offset_align|numjobs|read_iolog",
        value in "(zipf:|pareto:|normal:|zoned:|zoned_abs:|rand|read:|write)?\
                  [0-9]{0,9}[kmgt%sux]?[-,:/.]{0,2}[0-9]{0,21}[kmgt%]?[:,/]?[0-9]{0,3}",
        more in "(rw=randrw|rw=randread|norandommap|time_based|numjobs=3|bs=4k,8k)?",
    ) {
        if let Ok(mut loaded) = read(&format!("[j]\nruntime=1\n{more}\n{name}={value}\n")) {
            for job in loaded.jobs.iter_mut().take(3) {
                for request in requests(job, 50) {
                    prop_assert!(request.end().is_some_and(|end| end <= CAPACITY));
                }
            }
        }
    }
}
