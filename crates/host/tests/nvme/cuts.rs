//! Power cuts: whatever a host was told to be durable is there when it connects again.

use super::host::{Host, Options, entry, feed_only, ranged};
use super::{SMALL, drive};
use ::host::device::disk::Disk;
use ::host::device::nvme::subsystem::Subsystem;
use ssd::precondition::Precondition;
use std::sync::Arc;

/// Pieces of the drive that are written, and their bytes: a mapping unit.
const PIECES: usize = 96;
const PIECE_BYTES: usize = 4096;
const PIECE_BLOCKS: u64 = 8;
const FUA: u32 = 1 << 30;
const DEALLOCATE: u32 = 1 << 25;

/// Piece of the drive: a number in all of its bytes, of eight bytes each.
#[derive(Clone, Default)]
struct Piece {
    /// Number that a power cut must not undo.
    durable: u64,
    /// Numbers written since, each of which may be there after a cut.
    later: Vec<u64>,
}

impl Piece {
    fn latest(&self) -> u64 {
        self.later.last().copied().unwrap_or(self.durable)
    }
}

/// Numbers that look random, the same in each run.
pub struct Draw(pub u64);

impl Draw {
    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963);
        (self.0 >> 33) % bound
    }
}

pub fn data(number: u64) -> Vec<u8> {
    number.to_le_bytes().repeat(PIECE_BYTES / 8)
}

/// Host, its pieces, and the last number written.
struct Life {
    draw: Draw,
    pieces: Vec<Piece>,
    number: u64,
}

impl Life {
    /// Command that writes a piece, or deallocates it: the number is 0 then.
    fn change(&mut self, at: usize) -> (u64, bool, [u8; 64], Vec<u8>) {
        let first = at as u64 * PIECE_BLOCKS;
        if self.draw.below(6) == 0 {
            return (0, false, ranged(0x08, first, PIECE_BLOCKS as u32, DEALLOCATE), Vec::new());
        }
        self.number += 1;
        let is_durable = self.draw.below(4) == 0;
        let flags = if is_durable { FUA } else { 0 };
        let command = ranged(0x01, first, PIECE_BLOCKS as u32, flags);
        (self.number, is_durable, command, data(self.number))
    }

    /// Commands one after another, each of which is answered.
    fn in_turn(&mut self, host: &mut Host, disk: &mut Disk) {
        for _ in 0..self.draw.below(40) {
            if self.draw.below(12) == 0 {
                assert_eq!(host.command(disk, entry(0x00, 1, &[]), &[], 0).status, 0);
                for piece in &mut self.pieces {
                    piece.durable = piece.latest();
                    piece.later.clear();
                }
                continue;
            }
            let at = self.draw.below(PIECES as u64) as usize;
            let (number, is_durable, command, data) = self.change(at);
            assert_eq!(host.command(disk, command, &data, 0).status, 0);
            let piece = &mut self.pieces[at];
            piece.later.push(number);
            if is_durable {
                *piece = Piece { durable: number, later: Vec::new() };
            }
        }
    }

    /// Commands of which the power cut interrupts some.
    fn at_once(&mut self, host: &mut Host, disk: &mut Disk) {
        let first = self.draw.below(PIECES as u64) as usize;
        for at in (first..PIECES).take(self.draw.below(30) as usize) {
            let (number, _, command, data) = self.change(at);
            self.pieces[at].later.push(number);
            let (_, bytes) = host.capsule(command, &data, 0);
            feed_only(&mut host.connection, disk, &bytes);
        }
        for _ in 0..self.draw.below(60) {
            // A drive that has done everything has no next event.
            if disk.under_way() == 0 {
                break;
            }
            disk.step().unwrap();
        }
    }

    /// Reads every piece, and takes what is there for durable from now on.
    fn check(&mut self, host: &mut Host, disk: &mut Disk) {
        for (at, piece) in self.pieces.iter_mut().enumerate() {
            let first = at as u64 * PIECE_BLOCKS;
            let command = ranged(0x02, first, PIECE_BLOCKS as u32, 0);
            let done = host.command(disk, command, &[], PIECE_BYTES);
            assert_eq!(done.status, 0);
            let number = u64::from_le_bytes(done.data[..8].try_into().unwrap());
            assert_eq!(done.data, data(number), "piece {at} is torn");
            let Piece { durable, later } = piece;
            let is_allowed = number == *durable || later.contains(&number);
            assert!(is_allowed, "piece {at}: {number}, durable {durable}, later {later:?}");
            *piece = Piece { durable: number, later: Vec::new() };
        }
    }
}

/// Admin and I/O queue of a new controller.
pub fn connected(subsystem: &Arc<Subsystem>, disk: &mut Disk) -> (Host, Host) {
    let options = Options::default();
    let (admin, controller) = Host::admin(subsystem, disk, options);
    let queue = Host::queue(subsystem, disk, options, controller, 1);
    (admin, queue)
}

/// Cuts the power so many times, and says how many changes it has undone.
fn lives(cuts: usize, recovery: &str) -> usize {
    let sets = [SMALL[0], recovery, "ftl.overprovisioning=0.3"];
    let (mut disk, subsystem) = drive(&sets, Precondition::Fill, false);
    while !disk.session().precondition().unwrap() {}
    let pieces = vec![Piece::default(); PIECES];
    let mut life = Life { draw: Draw(cuts as u64), pieces, number: 0 };
    let mut undone = 0;
    for _ in 0..cuts {
        let (mut admin, mut queue) = connected(&subsystem, &mut disk);
        life.in_turn(&mut queue, &mut disk);
        life.at_once(&mut queue, &mut disk);
        disk.cut().unwrap();
        queue.connection.leave();
        admin.connection.leave();
        disk.restore().unwrap();
        let latest: Vec<u64> = life.pieces.iter().map(Piece::latest).collect();
        let (mut admin, mut queue) = connected(&subsystem, &mut disk);
        life.check(&mut queue, &mut disk);
        undone += life.pieces.iter().zip(latest).filter(|(is, was)| is.durable != *was).count();
        queue.connection.leave();
        admin.connection.leave();
    }
    undone
}

#[test]
fn what_was_flushed_survives_power_cuts() {
    for recovery in
        ["scan_blocks", "scan_pages", "checkpoint"].map(|name| format!("recovery.name={name}"))
    {
        assert!(lives(25, &recovery) > 0, "the cuts undo nothing");
    }
}

#[test]
#[ignore = "a long test: ./lab test --full runs it"]
fn what_was_flushed_survives_a_thousand_power_cuts() {
    assert!(lives(1000, "recovery.name=scan_blocks") > 0);
}
