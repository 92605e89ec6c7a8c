//! Arbitration of the queues of hosts: classes, weights and bursts.

use super::drive;
use super::host::{Host, Options, connect_data, connect_entry, entry, feed_only, property, ranged};
use ::host::device::disk::Disk;
use ::host::device::nvme::subsystem::Subsystem;
use ssd::precondition::Precondition;
use std::sync::Arc;

/// A drive that takes one command at a time, so that all others wait in their queues.
const ONE: &str = "drive.queue_depth=1";
const WEIGHTED: &str = "host.arbitration=weighted_round_robin";

/// Reads of each queue.
const READS: usize = 12;

const URGENT: u8 = 0;
const HIGH: u8 = 1;
const MEDIUM: u8 = 2;
const LOW: u8 = 3;

/// Admin queue of a controller that has chosen an arbitration.
fn admin(subsystem: &Arc<Subsystem>, disk: &mut Disk, is_weighted: bool) -> (Host, u16) {
    let mut host = Host::greeted(subsystem, disk, Options::default());
    let data = connect_data(&subsystem.identity.nqn, 0xffff);
    let done = host.command(disk, connect_entry(0, 32, 0, 0), &data, 0);
    assert_eq!(done.status, 0);
    let enable = 1 | u64::from(is_weighted) << 11 | 6 << 16 | 4 << 20;
    assert_eq!(host.command(disk, property(0x14, false, Some(enable)), &[], 0).status, 0);
    (host, done.result as u16)
}

/// Queues of these classes with their reads under way, in the order in which the drive completes
/// them: by letters. The clients are numbered from 1.
fn order(sets: &[&str], is_weighted: bool, feature: Option<u32>, classes: &[u8]) -> String {
    let (mut disk, subsystem) = drive(sets, Precondition::None, false);
    let disk = &mut disk;
    let (mut admin, controller) = admin(&subsystem, disk, is_weighted);
    if let Some(value) = feature {
        let set = entry(0x09, 0, &[(10, 1), (11, value)]);
        assert_eq!(admin.command(disk, set, &[], 0).status, 0);
        let get = entry(0x0a, 0, &[(10, 1)]);
        assert_eq!(admin.command(disk, get, &[], 0).result, u64::from(value));
    }
    let mut queues = Vec::new();
    for (at, &class) in classes.iter().enumerate() {
        let mut queue = Host::greeted_as(&subsystem, disk, Options::default(), at + 1);
        let data = connect_data(&subsystem.identity.nqn, controller);
        let connect = connect_entry(at as u16 + 1, 64, class, 0);
        assert_eq!(queue.command(disk, connect, &data, 0).status, 0);
        queues.push(queue);
    }
    // The first read keeps the drive busy until all others wait.
    for queue in &mut queues {
        for block in 0..READS as u64 {
            let (_, bytes) = queue.capsule(ranged(0x02, 8 * block, 8, 0), &[], 4096);
            feed_only(&mut queue.connection, disk, &bytes);
        }
    }
    let mut order = String::new();
    while order.len() < READS * classes.len() {
        disk.step().unwrap();
        while let Some(answered) = disk.answer() {
            order.push(char::from(b'a' + (answered.client - 1) as u8));
            queues[answered.client - 1].connection.answered(answered);
        }
    }
    order
}

#[test]
fn queues_have_their_turns() {
    let sets = [ONE];
    assert_eq!(&order(&sets, false, None, &[0, 0, 0])[..13], "abcabcabcabca");
    // A burst of four, as a power of two.
    assert_eq!(&order(&sets, false, Some(2), &[0, 0])[..13], "aaaabbbbaaaab");
}

#[test]
fn classes_have_their_weights() {
    let sets = [ONE, WEIGHTED, "host.weight_high=3", "host.weight_medium=2"];
    let classes = [LOW, MEDIUM, HIGH, URGENT];
    let order_of = order(&sets, true, None, &classes);
    // After the read that came first: the urgent queue, then rounds of 3, 2 and 1.
    assert_eq!(&order_of[..1 + READS + 12], "addddddddddddcccbbacccbba");
    // A host sets other weights, 0's based: low 1, medium 1, high 4.
    let order_of = order(&sets, true, Some(3 << 24), &classes);
    assert_eq!(&order_of[..1 + READS + 12], "addddddddddddccccbaccccba");
}

#[test]
fn a_host_that_chooses_no_weights_has_queues_of_one_class() {
    let order_of = order(&[ONE, WEIGHTED], false, None, &[LOW, URGENT]);
    assert_eq!(&order_of[..9], "ababababa");
}

#[test]
fn weights_are_refused_where_the_drive_has_none() {
    for (sets, status) in [(&[][..], 0x002), (&[WEIGHTED][..], 0)] {
        let (mut disk, subsystem) = drive(sets, Precondition::None, false);
        let mut host = Host::greeted(&subsystem, &mut disk, Options::default());
        let data = connect_data(&subsystem.identity.nqn, 0xffff);
        assert_eq!(host.command(&mut disk, connect_entry(0, 32, 0, 0), &data, 0).status, 0);
        let capabilities = host.command(&mut disk, property(0, true, None), &[], 0).result;
        assert_eq!(capabilities >> 17 & 1, u64::from(status == 0));
        let enable = property(0x14, false, Some(1 | 1 << 11 | 6 << 16 | 4 << 20));
        assert_eq!(host.command(&mut disk, enable, &[], 0).status, status);
    }
}
