//! Predictable latency mode: hosts turn the windows of NVM sets, and are told what these take.

use super::commands::{connected, log, set};
use super::host::{Got, Host, Options, Outcome, entry, number, property, ranged};
use super::{SMALL, drive};
use ::host::device::disk::Disk;
use base::rng::Rng;
use ssd::drive::Window;
use ssd::precondition::Precondition;

/// Two sets of two dies, of which the first has windows of its own.
const SETS: [&str; 4] = [
    "chip.geometry.pages_per_block=16",
    "recovery.name=scan_blocks",
    "namespace=[{dies=2, windows={deterministic_ms=300, non_deterministic_ms=40}}, {dies=2}]",
    "gc.background_free_blocks=8",
];

/// Log of a set.
#[derive(Debug, Clone, Copy)]
struct Told {
    status: u8,
    events: u64,
    /// Reads, writes and time of a whole window, and of what is left.
    most: [u64; 3],
    left: [u64; 3],
    /// Time between windows: after a whole one, and least.
    between: [u64; 2],
}

fn told(host: &mut Host, disk: &mut Disk, retains: bool) -> Told {
    let done = set_log(host, disk, 1, retains);
    assert_eq!(done.status, 0);
    let page = done.data;
    let of = |at: usize| [0, 8, 16].map(|more| number(&page, at + more, 8));
    Told {
        status: page[0],
        events: number(&page, 2, 2),
        most: of(32),
        left: of(128),
        between: [number(&page, 56, 8), number(&page, 64, 8)],
    }
}

fn set_log(host: &mut Host, disk: &mut Disk, set: u16, retains: bool) -> Outcome {
    let mut command = log(0x0a, 512, 0);
    command[46..48].copy_from_slice(&set.to_le_bytes());
    command[41] |= u8::from(retains) << 7;
    host.command(disk, command, &[], 512)
}

/// Numbers of the sets that have events.
fn changed(host: &mut Host, disk: &mut Disk) -> Vec<u64> {
    let page = host.command(disk, log(0x0b, 64, 0), &[], 64).data;
    (0..number(&page, 0, 8) as usize).map(|at| number(&page, 8 + 2 * at, 2)).collect()
}

/// Sets the mode of a set, with events and thresholds. Returns the status.
fn mode(host: &mut Host, disk: &mut Disk, set: u32, is_on: bool, data: &[u8]) -> u16 {
    let command = entry(0x09, 0, &[(10, 0x13), (11, set), (12, is_on.into())]);
    host.command(disk, command, data, 0).status
}

fn thresholds(events: u16, thresholds: [u64; 3]) -> Vec<u8> {
    let mut data = vec![0; 512];
    data[..2].copy_from_slice(&events.to_le_bytes());
    for (at, threshold) in thresholds.into_iter().enumerate() {
        data[32 + 8 * at..][..8].copy_from_slice(&threshold.to_le_bytes());
    }
    data
}

/// Asks for a window of a set: 1 = deterministic. Returns the status.
fn ask(host: &mut Host, disk: &mut Disk, set: u32, window: u32) -> u16 {
    let command = entry(0x09, 0, &[(10, 0x14), (11, set), (12, window)]);
    host.command(disk, command, &[], 0).status
}

fn get(host: &mut Host, disk: &mut Disk, id: u32, set: u32) -> Outcome {
    host.command(disk, entry(0x0a, 0, &[(10, id), (11, set)]), &[], 512)
}

/// Reads and writes of 4 KiB of the first namespace, at random.
struct Load {
    rng: Rng,
    units: u64,
}

impl Load {
    fn new(disk: &mut Disk) -> Self {
        let ssd = &disk.session().run.ssd;
        let units = ssd.bytes_of_sets()[0].end / 4096;
        Self { rng: Rng::stream(1, "windows"), units }
    }

    fn read(&mut self, host: &mut Host, disk: &mut Disk) {
        let block = 8 * self.rng.below(self.units);
        assert_eq!(host.command(disk, ranged(0x02, block, 8, 0), &[], 4096).status, 0);
    }

    fn write(&mut self, host: &mut Host, disk: &mut Disk) {
        let block = 8 * self.rng.below(self.units);
        assert_eq!(host.command(disk, ranged(0x01, block, 8, 0), &[1; 4096], 0).status, 0);
    }

    /// Reads until a deterministic window is open, or none is.
    fn read_until(&mut self, host: &mut Host, disk: &mut Disk, is_open: bool) {
        for _ in 0..20_000 {
            if disk.outlook(0).unwrap().is_open == is_open {
                return;
            }
            self.read(host, disk);
        }
        panic!("no such window");
    }

    /// Lets so much simulated time pass, in ms.
    fn wait(&mut self, host: &mut Host, disk: &mut Disk, ms: f64) {
        let end = disk.now().us() + 1e3 * ms;
        while disk.now().us() < end {
            self.read(host, disk);
        }
    }
}

fn work(disk: &mut Disk) -> u64 {
    let counts = disk.session().run.ssd.counts_of_sets()[0];
    counts.moved_units + counts.reclaimed_blocks
}

/// A host opens a window and writes as much as it was told that one takes: nothing is collected
/// meanwhile, and the mode, the window and the estimates are told as they are.
#[test]
fn a_host_turns_the_windows_of_a_set() {
    let (mut disk, subsystem) = drive(&SETS, Precondition::Steady, false);
    let (mut admin, mut host) = connected(&mut disk, &subsystem, Options::default());
    let mut load = Load::new(&mut disk);
    let controller = admin.command(&mut disk, entry(0x06, 0, &[(10, 1)]), &[], 4096).data;
    assert_eq!(number(&controller, 96, 4) & 1 << 5, 1 << 5);
    assert_eq!(number(&controller, 92, 4) & 1 << 12, 1 << 12);
    let list = admin.command(&mut disk, entry(0x06, 0, &[(10, 4)]), &[], 4096).data;
    assert_eq!(number(&list, 128 + 12, 4), 4096);
    let supported = admin.command(&mut disk, log(0, 1024, 0), &[], 1024).data;
    assert_eq!([0x0a, 0x0b, 0x0c].map(|id| supported[4 * id]), [1, 1, 0]);

    // The drive turns them, until the host does.
    let page = told(&mut admin, &mut disk, false);
    assert_eq!((page.status, page.events, page.most[2], page.between), (0, 0, 300, [40, 0]));
    assert_eq!(page.most[0], u64::MAX);
    assert_eq!(get(&mut admin, &mut disk, 0x13, 1).result, 0);
    load.read_until(&mut host, &mut disk, true);
    let data = thresholds(0xc007, [0, 20, 50]);
    assert_eq!(mode(&mut admin, &mut disk, 1, true, &data), 0);
    let got = get(&mut admin, &mut disk, 0x13, 1);
    assert_eq!((got.result, got.data), (1, data));
    assert_eq!(told(&mut admin, &mut disk, false).status, 2);
    load.wait(&mut host, &mut disk, 400.0);
    assert_eq!(told(&mut admin, &mut disk, false).status, 2);
    assert_eq!(get(&mut admin, &mut disk, 0x14, 1).result, 2);

    assert_eq!(ask(&mut admin, &mut disk, 1, 1), 0);
    assert_eq!(get(&mut admin, &mut disk, 0x14, 1).result, 1);
    load.read_until(&mut host, &mut disk, true);
    let opened = told(&mut admin, &mut disk, false);
    assert_eq!(opened.status, 1);
    assert!(opened.left[1] > 200 && opened.left[1] <= opened.most[1], "{opened:?}");
    let before = work(&mut disk);
    for _ in 0..opened.left[1] {
        load.write(&mut host, &mut disk);
    }
    load.wait(&mut host, &mut disk, 1.0);
    let after = told(&mut admin, &mut disk, true);
    assert_eq!((after.status, work(&mut disk)), (1, before), "{after:?}");
    // A warning of writes alone; it stays for a host that retains the event.
    assert_eq!((after.events, after.left[0]), (1 << 1, u64::MAX));
    assert_eq!(changed(&mut admin, &mut disk), [1]);
    assert_eq!(told(&mut admin, &mut disk, false).events, 1 << 1);
    assert_eq!(told(&mut admin, &mut disk, false).events, 0);
    assert_eq!(changed(&mut admin, &mut disk), [0u64; 0]);

    // Back between windows, collection goes on; given back, the drive turns them again.
    assert_eq!(ask(&mut admin, &mut disk, 1, 2), 0);
    assert_eq!(told(&mut admin, &mut disk, false).status, 2);
    load.wait(&mut host, &mut disk, 30.0);
    assert!(work(&mut disk) > before);
    assert_eq!(mode(&mut admin, &mut disk, 1, false, &[]), 0);
    assert_eq!(told(&mut admin, &mut disk, false).status, 0);
    load.read_until(&mut host, &mut disk, true);
    load.read_until(&mut host, &mut disk, false);
}

/// Windows that end by themselves are events, and a host that waits for notices hears of them once.
#[test]
fn ends_of_windows_are_told() {
    let (mut disk, subsystem) = drive(&SETS, Precondition::Steady, false);
    let (mut admin, mut host) = connected(&mut disk, &subsystem, Options::default());
    let mut load = Load::new(&mut disk);
    assert_eq!(admin.command(&mut disk, set(0x0b, 1 << 12), &[], 0).status, 0);
    for _ in 0..4 {
        let (_, bytes) = admin.capsule(entry(0x0c, 0, &[]), &[], 0);
        assert_eq!(admin.send(&mut disk, &bytes).unwrap(), []);
    }
    let events = |admin: &mut Host, disk: &mut Disk| {
        let (_, bytes) = admin.capsule(entry(0x18, 0, &[]), &[], 0);
        let got = admin.send(disk, &bytes).unwrap();
        let done = got.iter().skip(1).map(|one| match one {
            Got::Done { result, .. } => *result,
            other => panic!("{other:?}"),
        });
        done.collect::<Vec<u64>>()
    };
    let notice = 2 | 4 << 8 | 0x0b << 16;
    let none = [0u64; 0];
    // Its time is over: a window that nobody wants to hear of, and one that somebody does.
    for (wanted, expected) in [(0, 0), (1 << 14, 1 << 14)] {
        assert_eq!(mode(&mut admin, &mut disk, 1, true, &thresholds(wanted, [0; 3])), 0);
        assert_eq!(ask(&mut admin, &mut disk, 1, 1), 0);
        load.read_until(&mut host, &mut disk, true);
        assert_eq!(events(&mut admin, &mut disk), none);
        load.read_until(&mut host, &mut disk, false);
        let heard = events(&mut admin, &mut disk);
        assert_eq!(heard, if expected > 0 { vec![notice] } else { vec![] });
        assert_eq!(events(&mut admin, &mut disk), none);
        assert_eq!(changed(&mut admin, &mut disk), if expected > 0 { vec![1] } else { vec![] });
        let page = told(&mut admin, &mut disk, false);
        assert_eq!((page.status, page.events), (2, expected));
    }
    // One that opens too soon takes less, and breaks when more is written.
    assert_eq!(mode(&mut admin, &mut disk, 1, true, &thresholds(1 << 15, [0; 3])), 0);
    load.wait(&mut host, &mut disk, 100.0);
    for round in 0.. {
        assert!(round < 20, "no window breaks");
        assert_eq!(ask(&mut admin, &mut disk, 1, 1), 0);
        // A window may break before it opens.
        let is_on_its_way = |disk: &mut Disk| {
            let outlook = disk.outlook(0).unwrap();
            !outlook.is_open && outlook.aim == Window::Deterministic
        };
        while is_on_its_way(&mut disk) {
            load.read(&mut host, &mut disk);
        }
        let (mut written, opened) = (0, disk.outlook(0).unwrap());
        while disk.outlook(0).unwrap().is_open && written < opened.most.writes - 10 {
            load.write(&mut host, &mut disk);
            written += 1;
        }
        let heard = events(&mut admin, &mut disk);
        if !heard.is_empty() {
            let page = told(&mut admin, &mut disk, true);
            assert_eq!((heard, page.events, page.status), (vec![notice], 1 << 15, 2));
            assert!(!opened.is_open || written >= opened.left.writes, "{written} {opened:?}");
            break;
        }
        assert_eq!(ask(&mut admin, &mut disk, 1, 2), 0);
    }
}

/// Statuses of wrong commands, of a set whose windows are not its own, and of other drives.
#[test]
fn wrong_windows_have_their_status() {
    let (mut disk, subsystem) = drive(&SETS, Precondition::None, false);
    let (mut admin, _) = connected(&mut disk, &subsystem, Options::default());
    let data = thresholds(0, [0; 3]);
    for set in [0, 2, 3, 0xffff] {
        assert_eq!(mode(&mut admin, &mut disk, set, true, &data), 0x002, "{set}");
        assert_eq!(ask(&mut admin, &mut disk, set, 1), 0x002, "{set}");
        assert_eq!(get(&mut admin, &mut disk, 0x13, set).status, 0x002);
        assert_eq!(get(&mut admin, &mut disk, 0x14, set).status, 0x002);
        assert_eq!(set_log(&mut admin, &mut disk, set as u16, false).status, 0x002);
    }
    // No host has enabled the mode.
    assert_eq!(ask(&mut admin, &mut disk, 1, 1), 0x00c);
    assert_eq!(get(&mut admin, &mut disk, 0x14, 1).status, 0x00c);
    for window in [0, 3, 7] {
        assert_eq!(ask(&mut admin, &mut disk, 1, window), 0x002);
    }
    assert_eq!(mode(&mut admin, &mut disk, 1, true, &data[..256]), 0x00f);
    let short = entry(0x0a, 0, &[(10, 0x13), (11, 1)]);
    assert_eq!(admin.command(&mut disk, short, &[], 128).status, 0x00f);
    for id in [0x13, 0x14] {
        let kept = entry(0x09, 0, &[(10, id | 1 << 31), (11, 1), (12, 1)]);
        assert_eq!(admin.command(&mut disk, kept, &data, 0).status, 0x10d);
        let default = entry(0x0a, 0, &[(10, id | 1 << 8), (11, 1)]);
        assert_eq!(admin.command(&mut disk, default, &[], 512).status, 0x002);
    }
    assert!(!disk.outlook(0).unwrap().is_hosted);
    let whole = "windows={deterministic_ms=5, non_deterministic_ms=5}";
    let other = "namespace=[{dies=2}, {dies=2}]";
    for sets in [&[whole][..], &[other], &[other, whole]] {
        let sets = [&SMALL[..], sets].concat();
        let (mut disk, subsystem) = drive(&sets, Precondition::None, false);
        let (mut admin, _) = connected(&mut disk, &subsystem, Options::default());
        let page = admin.command(&mut disk, entry(0x06, 0, &[(10, 1)]), &[], 4096).data;
        assert_eq!((number(&page, 96, 4) & 1 << 5, number(&page, 92, 4) & 1 << 12), (0, 0));
        assert_eq!(mode(&mut admin, &mut disk, 1, true, &data), 0x002);
        assert_eq!(ask(&mut admin, &mut disk, 1, 1), 0x002);
        assert_eq!(set_log(&mut admin, &mut disk, 1, false).status, 0x109);
    }
}

/// The mode is the set's: it outlasts the reset of a controller, the deletion of the namespace, and
/// a power cut, which ends the window.
#[test]
fn the_mode_outlasts_its_host() {
    let (mut disk, subsystem) = drive(&SETS, Precondition::Fill, false);
    let (mut admin, mut host) = connected(&mut disk, &subsystem, Options::default());
    let mut load = Load::new(&mut disk);
    let data = thresholds(0xc000, [1, 2, 3]);
    assert_eq!(mode(&mut admin, &mut disk, 1, true, &data), 0);
    assert_eq!(ask(&mut admin, &mut disk, 1, 1), 0);
    load.read_until(&mut host, &mut disk, true);
    assert_eq!(admin.command(&mut disk, property(0x14, false, Some(0)), &[], 0).status, 0);
    drop((admin, host));
    let (mut admin, mut host) = connected(&mut disk, &subsystem, Options::default());
    let got = get(&mut admin, &mut disk, 0x13, 1);
    assert_eq!((got.result, got.data), (1, data.clone()));
    assert_eq!(get(&mut admin, &mut disk, 0x14, 1).result, 1);
    load.read(&mut host, &mut disk);
    disk.cut().unwrap();
    assert_eq!(mode(&mut admin, &mut disk, 1, false, &data), 0x005);
    disk.restore().unwrap();
    drop((admin, host));
    let (mut admin, mut host) = connected(&mut disk, &subsystem, Options::default());
    let page = told(&mut admin, &mut disk, false);
    assert_eq!((page.status, page.events), (2, 0));
    assert_eq!(get(&mut admin, &mut disk, 0x14, 1).result, 2);
    assert_eq!(ask(&mut admin, &mut disk, 1, 1), 0);
    load.read_until(&mut host, &mut disk, true);
    // The namespace goes, and the set with its windows stays.
    assert_eq!(admin.command(&mut disk, entry(0x0d, 1, &[(10, 1)]), &[], 0).status, 0);
    let got = get(&mut admin, &mut disk, 0x13, 1);
    assert_eq!((got.result, got.data), (1, data));
    assert_eq!(ask(&mut admin, &mut disk, 1, 2), 0);
    assert_eq!(told(&mut admin, &mut disk, false).status, 2);
}
