//! Structures on the wire: each field at the offset of the specification.

use super::host::{Host, Options, connect_data, connect_entry, entry, number, property};
use super::{SMALL, drive};
use ssd::precondition::Precondition;

/// Field of a page: offset, bytes, value.
type Field = (usize, usize, u64);

fn compare(page: &[u8], fields: &[Field]) {
    for &(at, length, value) in fields {
        assert_eq!(number(page, at, length), value, "{length} bytes at {at}");
    }
}

fn identify(structure: u32) -> [u8; 64] {
    entry(0x06, 1, &[(10, structure)])
}

#[test]
fn pages_of_identify_have_their_fields() {
    let (mut disk, subsystem) = drive(&SMALL, Precondition::None, false);
    let (mut host, id) = Host::admin(&subsystem, &mut disk, Options::default());
    let blocks = subsystem.identity.blocks;
    let mut page = |structure| {
        let outcome = host.command(&mut disk, identify(structure), &[], 4096);
        assert_eq!((outcome.status, outcome.data.len()), (0, 4096), "{structure:#x}");
        outcome.data
    };
    let controller = page(1);
    compare(
        &controller,
        &[
            (76, 1, 2),                  // CMIC
            (77, 1, 8),                  // MDTS: 1 MiB
            (78, 2, id.into()),          // CNTLID
            (80, 4, 0x2_0000),           // VER
            (96, 4, 1),                  // CTRATT
            (111, 1, 1),                 // CNTRLTYPE: I/O
            (92, 4, 1 << 8),             // OAES: namespace notices
            (256, 2, 0xa),               // OACS: Format, namespaces
            (258, 1, 3),                 // ACL
            (259, 1, 3),                 // AERL
            (260, 1, 3),                 // FRMW
            (261, 1, 6),                 // LPA
            (262, 1, 63),                // ELPE
            (263, 1, 0),                 // NPSS
            (280, 8, 512 * blocks),      // TNVMCAP
            (296, 8, 0),                 // UNVMCAP
            (320, 2, 1),                 // KAS
            (328, 4, 0x6000_0003),       // SANICAP: crypto and block erase
            (512, 1, 0x66),              // SQES
            (513, 1, 0x44),              // CQES
            (514, 2, 128),               // MAXCMD
            (516, 4, 32),                // NN
            (520, 2, 0x1cf),             // ONCS
            (524, 1, 4),                 // FNA: crypto erase
            (525, 1, 7),                 // VWC
            (534, 2, 1),                 // OCFS: format 0
            (536, 4, 0x30_0001),         // SGLS
            (540, 4, 32),                // MNAN
            (1792, 4, (64 + 8192) / 16), // IOCCSZ
            (1796, 4, 1),                // IORCSZ
            (1800, 2, 0),                // ICDOFF
            (1803, 1, 1),                // MSDBD
        ],
    );
    assert_eq!(&controller[24..37], b"nandlab drive");
    let nqn = subsystem.identity.nqn.as_bytes();
    assert_eq!(&controller[768..768 + nqn.len()], nqn);
    let namespace = page(0);
    compare(
        &namespace,
        &[
            (0, 8, blocks),        // NSZE
            (8, 8, blocks),        // NCAP
            (16, 8, blocks),       // NUSE
            (24, 1, 0x10),         // NSFEAT
            (25, 1, 1),            // NLBAF
            (26, 1, 0),            // FLBAS
            (30, 1, 1),            // NMIC
            (33, 1, 9),            // DLFEAT
            (48, 8, 512 * blocks), // NVMCAP
            (64, 2, 7),            // NPWG: units of 4 KiB
            (68, 2, 7),            // NPDG
            (74, 2, 2048),         // MSSRL
            (76, 4, 2048),         // MCL
            (80, 1, 127),          // MSRC
            (99, 1, 0),            // NSATTR
            (128, 4, 9 << 16),     // LBAF0: 512 bytes, no metadata
            (132, 4, 12 << 16),    // LBAF1: 4,096 bytes, no metadata
        ],
    );
    assert_eq!(namespace[104..120], subsystem.identity.uuid);
    let descriptors = page(3);
    compare(&descriptors, &[(0, 2, 0x1002), (20, 2, 0x1003), (40, 2, 0x0104), (44, 4, 0)]);
    assert_eq!(descriptors[24..40], subsystem.identity.uuid);
    compare(&page(6), &[(0, 1, 8), (3, 1, 0), (4, 4, 0), (8, 8, 0)]);
    compare(&page(8), &[(0, 1, 8), (1, 1, 1), (8, 1, 0), (14, 1, 1)]);
    compare(&page(0x1c), &[(0, 8, 1), (8, 8, 0)]);
    assert!(page(5).iter().all(|&byte| byte == 0));
    // The lists of namespaces begin above the one that is named.
    let mut list = |structure, above| {
        let asked = entry(0x06, above, &[(10, structure)]);
        let outcome = host.command(&mut disk, asked, &[], 4096);
        (outcome.status, outcome.data.first_chunk::<8>().map(|bytes| number(bytes, 0, 8)))
    };
    for structure in [2, 7] {
        assert_eq!(list(structure, 0), (0, Some(1)));
        assert_eq!(list(structure, 1), (0, Some(0)));
        assert_eq!(list(structure, 0xffff_fffe), (0x0b, None));
    }
    // Formats are the same for all namespaces.
    assert_eq!(list(0, 0xffff_ffff), (0, Some(0)));
}

#[test]
fn properties_have_their_fields() {
    let (mut disk, subsystem) = drive(&SMALL, Precondition::None, false);
    let (mut host, _) = Host::admin(&subsystem, &mut disk, Options::default());
    let mut get = |offset, is_long| {
        let outcome = host.command(&mut disk, property(offset, is_long, None), &[], 0);
        (outcome.status, outcome.result)
    };
    // 128 entries, contiguous, 5 s, NVM command set.
    assert_eq!(get(0, true), (0, 127 | 1 << 16 | 10 << 24 | 1 << 37));
    assert_eq!(get(8, false), (0, 0x2_0000));
    assert_eq!(get(0x14, false), (0, 0x46_0001));
    assert_eq!(get(0x1c, false), (0, 1));
    for (offset, is_long) in [(0, false), (0x14, true), (0x24, false), (0x2000, false)] {
        assert_eq!(get(offset, is_long), (2, 0), "{offset:#x}");
    }
}

#[test]
fn a_discovery_controller_tells_the_address() {
    let (mut disk, subsystem) = drive(&SMALL, Precondition::None, false);
    let mut host = Host::greeted(&subsystem, &mut disk, Options::default());
    let data = connect_data("nqn.2014-08.org.nvmexpress.discovery", 0xffff);
    assert_eq!(host.command(&mut disk, connect_entry(0, 32, 0, 0), &data, 0).status, 0);
    let enable = property(0x14, false, Some(0x46_0001));
    assert_eq!(host.command(&mut disk, enable, &[], 0).status, 0);
    let controller = host.command(&mut disk, identify(1), &[], 4096).data;
    compare(&controller, &[(111, 1, 2), (516, 4, 0), (520, 2, 0)]);
    // Two pages of 1,024 bytes: a header, and the entry of the drive.
    let asked = entry(0x02, 0, &[(10, 0x70 | 511 << 16)]);
    let page = host.command(&mut disk, asked, &[], 2048).data;
    compare(&page, &[(0, 8, 1), (8, 8, 1), (16, 2, 0)]);
    let record = &page[1024..];
    compare(
        record,
        &[(0, 1, 3), (1, 1, 1), (2, 1, 2), (3, 1, 4), (4, 2, 1), (6, 2, 0xffff), (8, 2, 32)],
    );
    assert_eq!(&record[32..37], b"4420 ");
    let nqn = subsystem.identity.nqn.as_bytes();
    assert_eq!(&record[256..256 + nqn.len()], nqn);
    assert_eq!(&record[512..522], b"127.0.0.1 ");
    // It has no drive to read or to format.
    for refused in [entry(0x06, 1, &[]), entry(0x0a, 0, &[(10, 7)])] {
        assert_eq!(host.command(&mut disk, refused, &[], 4096).status, 2);
    }
    let smart = entry(0x02, 0, &[(10, 2 | 127 << 16)]);
    assert_eq!(host.command(&mut disk, smart, &[], 512).status, 0x109);
}

#[test]
fn power_states_are_those_of_the_drive() {
    let states = [
        "power.states.light.power_mw=50",
        "power.states.light.idle_ms=100",
        "power.states.light.entry_us=800.5",
        "power.states.light.exit_us=1500",
        "power.states.deep.power_mw=8000",
        "power.states.deep.idle_ms=2000",
    ];
    let (mut disk, subsystem) = drive(&states, Precondition::None, false);
    let (mut admin, _) = Host::admin(&subsystem, &mut disk, Options::default());
    let page = admin.command(&mut disk, identify(1), &[], 4096).data;
    // Two states beside the awake one, entered by themselves.
    assert_eq!((page[263], page[265]), (2, 1));
    let state = |number: usize| &page[2048 + 32 * number..2080 + 32 * number];
    // Units of 0.1 mW, and no commands in the state.
    assert_eq!((number(state(1), 0, 2), state(1)[3]), (500, 3));
    assert_eq!((number(state(1), 4, 4), number(state(1), 8, 4)), (801, 1500));
    // Units of 10 mW.
    assert_eq!((number(state(2), 0, 2), state(2)[3]), (800, 2));
    let get = entry(0x0a, 0, &[(10, 0x0c)]);
    let done = admin.command(&mut disk, get, &[], 256);
    assert_eq!((done.status, done.result), (0, 1));
    let expected = [1 << 3 | 100 << 8, 2 << 3 | 1900 << 8, 0];
    assert_eq!([0, 8, 16].map(|at| number(&done.data, at, 8)), expected);
    let set = entry(0x09, 0, &[(10, 0x0c), (11, 1)]);
    assert_eq!(admin.command(&mut disk, set, &[0; 256], 0).status, 0x10e);
    // A drive without states has no such feature.
    let (mut disk, subsystem) = drive(&[], Precondition::None, false);
    let (mut admin, _) = Host::admin(&subsystem, &mut disk, Options::default());
    assert_eq!(admin.command(&mut disk, get, &[], 256).status, 2);
}
