//! The way of a read: units, pages, dies, decoders, and round again when decoding fails.

use crate::command::{Command, Owner};
use crate::controller::{Parts, Ssd, event, lane};
use crate::ftl::Lpn;
use crate::request::Request;
use crate::scheduler::Class;
use crate::timeline::{SpanKind, Track};
use base::Time;
use nand::geometry::Ppn;

impl Ssd {
    #[inline]
    pub(crate) fn read_units(&mut self, slot: u32, request: &Request) {
        let first = self.unit_at(request.offset) as u32;
        let last = self.unit_at(request.offset + request.length - 1) as u32;
        // One more than there is, so that nothing completes before all is asked for.
        self.slots[slot as usize].pending = 1;
        self.read_range(slot, first, last);
        self.read_part_done(slot);
    }

    /// Asks for units `first` to `last`: from the buffer, from the flash, or nothing where there
    /// is nothing.
    #[inline]
    fn read_range(&mut self, slot: u32, first: u32, last: u32) {
        let mut run: Option<(u32, Ppn, u32)> = None;
        for unit in first..=last {
            let place = match self.buffer.find(Lpn(unit)) {
                Some(held) => {
                    self.counts.buffer_hits += 1;
                    self.slots[slot as usize].hit = true;
                    if let Some(payload) = &mut self.payload {
                        let held = self.buffer.slot(held);
                        payload.read(slot, unit, if held.trimmed { 0 } else { held.version });
                    }
                    None
                }
                None => {
                    let place = self.ftl.lookup(Lpn(unit));
                    if let (None, Some(payload)) = (place, &mut self.payload) {
                        payload.read(slot, unit, 0);
                    }
                    place
                }
            };
            // Neighbours in one page are read together.
            run = match (run, place) {
                (Some((lpn, from, units)), Some(ppn))
                    if ppn.0 == from.0 + units
                        && self.flash.chips.geometry.page_index(ppn)
                            == self.flash.chips.geometry.page_index(from) =>
                {
                    Some((lpn, from, units + 1))
                }
                (before, place) => {
                    if let Some((lpn, from, units)) = before {
                        self.read_flash(Class::Read, Owner::Request(slot), from, lpn, units);
                    }
                    place.map(|ppn| (unit, ppn, 1))
                }
            };
        }
        if let Some((lpn, from, units)) = run {
            self.read_flash(Class::Read, Owner::Request(slot), from, lpn, units);
        }
    }

    #[inline]
    pub(crate) fn read_flash(
        &mut self,
        class: Class,
        owner: Owner,
        ppn: Ppn,
        lpn: u32,
        units: u32,
    ) {
        if let Owner::Request(slot) = owner {
            self.slots[slot as usize].pending += 1;
        }
        let geometry = &self.flash.chips.geometry;
        let die = geometry.die_of(geometry.block_of(ppn));
        let bytes = self.codewords[units as usize] * self.codeword_bytes;
        let command = Command::read(class, owner, die, ppn, lpn, units, bytes);
        self.flash.submit(&mut self.events, command);
    }

    /// The data of a read are in the controller: to the decoders.
    #[inline]
    pub(crate) fn arrived(&mut self, index: u32) {
        let now = self.now();
        let Command { units, rber, attempt, .. } = self.flash.commands[index as usize];
        let words = self.codewords[units as usize];
        let mut end = now;
        let mut last = Time::ZERO;
        let mut corrected = true;
        for _ in 0..words {
            let time = match self.clean_decode {
                Some(time) => time,
                None => {
                    let outcome = self.ecc.decode(rber, &mut self.errors_rng);
                    self.counts.raw_bit_errors += u64::from(outcome.errors);
                    corrected &= outcome.corrected;
                    if attempt == 0 && !outcome.corrected {
                        self.counts.hard_failures += 1;
                    }
                    outcome.time
                }
            };
            let (decoder, start, done) = self.decoders.serve(now, time);
            self.flash.timeline.record(
                Track::Decoder,
                decoder as u32,
                SpanKind::Decode,
                start,
                done,
            );
            if done >= end {
                (end, last) = (done, time);
            }
        }
        self.counts.codewords += u64::from(words);
        let command = &mut self.flash.commands[index as usize];
        command.corrected = corrected;
        command.ecc += last;
        if corrected {
            self.note_found(index);
        }
        if end == now {
            self.decoded(index);
        } else {
            self.events.push_lane(lane::DECODED, end, event::of(event::DECODED, index));
        }
    }

    /// Keeps what a read of the host has found, as it left the die: while a decoder is at it,
    /// its place may be erased and written again.
    #[inline]
    fn note_found(&mut self, index: u32) {
        if let Some(payload) = &mut self.payload
            && let Command { owner: Owner::Request(slot), lpn, ppn, units, .. } =
                self.flash.commands[index as usize]
        {
            for i in 0..units {
                payload.read_stored(slot, lpn + i, Ppn(ppn.0 + i));
            }
        }
    }

    #[inline]
    pub(crate) fn decoded(&mut self, index: u32) {
        let command = self.flash.commands[index as usize];
        if !command.corrected && self.read_again(index, command) {
            return;
        }
        self.flash.commands.remove(index as usize);
        match command.owner {
            Owner::Request(slot) => {
                let now = self.now();
                let request = &mut self.slots[slot as usize];
                request.failed |= !command.corrected;
                // The last command to finish is the one that the request waited for.
                let Command { queued, array: flash, bus, ecc, .. } = command;
                let queue = now.since(queued).since(flash + bus + ecc);
                request.parts = Parts { queue, flash, bus, ecc };
                self.read_part_done(slot);
            }
            Owner::Fill(held) => self.filled(held),
            Owner::Collect => self.collect_read_done(command.die),
            Owner::Moves(_) | Owner::Slots(_) => unreachable!("programs are not decoded"),
        }
    }

    /// After a failed decode: round again as the policy says. False when the page is given up.
    pub(crate) fn read_again(&mut self, index: u32, command: Command) -> bool {
        let Some(reread) = self.retry.after_failure(command.attempt) else {
            self.counts.uncorrectable += 1;
            self.note_found(index);
            return false;
        };
        let attempt = usize::from(command.attempt).min(self.counts.soft_reads.len() - 1);
        self.counts.soft_reads[attempt] += 1;
        // Data of the host may have moved on meanwhile, and their block may be gone.
        let (first, units) = (command.lpn, command.units);
        let mut places = (0..units).map(|i| (Lpn(first + i), Ppn(command.ppn.0 + i)));
        let mut moved = || places.any(|(lpn, ppn)| self.ftl.lookup(lpn) != Some(ppn));
        match command.owner {
            Owner::Request(slot) if moved() => {
                self.flash.commands.remove(index as usize);
                self.read_range(slot, first, first + units - 1);
                self.read_part_done(slot);
                return true;
            }
            Owner::Fill(held) if moved() => {
                self.flash.commands.remove(index as usize);
                match self.ftl.lookup(Lpn(first)) {
                    Some(ppn) => self.read_flash(Class::Read, command.owner, ppn, first, 1),
                    None => self.filled(held),
                }
                return true;
            }
            _ => {}
        }
        let again = &mut self.flash.commands[index as usize];
        again.attempt += 1;
        (again.senses, again.transfers) = (reread.senses, reread.transfers);
        self.flash.again(&mut self.events, index);
        true
    }

    /// One of the things that a read waits for is there; the last one sends the data to the host.
    #[inline]
    pub(crate) fn read_part_done(&mut self, slot: u32) {
        let request = &mut self.slots[slot as usize];
        request.pending -= 1;
        if request.pending > 0 {
            return;
        }
        let (length, hit) = (request.request.length, request.hit);
        let crossing = self.link_time(length);
        let (_, _, end) = self.link_out.serve(self.events.now(), crossing);
        let done = end + self.link_latency + if hit { self.buffer_latency } else { Time::ZERO };
        self.events.push_lane(lane::READ_DONE, done, event::of(event::READ_DONE, slot));
    }
}

#[cfg(test)]
mod tests {
    use crate::config::SsdConfig;
    use crate::request::{Op, Request};
    use crate::retry::{Reread, Retry};
    use crate::{Completion, Ssd, Step};
    use base::{Time, params};

    /// As many rounds as it is long, each as it says.
    struct Rounds(&'static [(u8, u8)]);

    impl Retry for Rounds {
        fn after_failure(&self, attempt: u8) -> Option<Reread> {
            let &(senses, transfers) = self.0.get(usize::from(attempt))?;
            Some(Reread { senses, transfers })
        }
    }

    /// A drive whose every read fails to decode, holding one unit.
    fn hopeless(rounds: &'static [(u8, u8)], cache_read: bool) -> Ssd {
        let text = "
            drive = { channels = 1, dies_per_channel = 1, queue_depth = 8 }
            ftl = { name = 'page', overprovisioning = 0.9 }
            gc = { name = 'greedy' }
            scheduler = { name = 'out_of_order' }
            retry = { name = 'none' }
            ecc = { model = 'threshold', t = 0, t_decode_us = 5 }
            [chip]
            cell_bits = 1
            rated_pe_cycles = 1
            page_order = 'all_bitline'
            array = { name = 'power_law', epsilon = 0.01 }
            energy = { vcc_v = 1, icc_read_ma = 1, icc_program_ma = 1, icc_erase_ma = 1 }
            [chip.geometry]
            planes_per_die = 1
            blocks_per_plane = 16
            pages_per_block = 8
            page_bytes = 4096
            [chip.timing]
            t_read_us = 50
            t_program_us = 200
            t_erase_us = 1000
            bus_mt_s = 400
            t_command_us = 0.5
        ";
        let mut table = params::parse(text, "test").unwrap();
        let set = format!("chip.features.cache_read={cache_read}");
        params::merge(&mut table, params::assignment(&set).unwrap());
        let config: SsdConfig = params::read(&table, "").unwrap();
        let mut ssd = Ssd::new(&config.complete().unwrap(), 1 << 30).unwrap();
        ssd.retry = Box::new(Rounds(rounds));
        ssd.start(0);
        ssd.submit(Request::new(Op::Write, 0, 4096), 0, Time::ZERO);
        finish(&mut ssd);
        ssd
    }

    fn finish(ssd: &mut Ssd) -> Completion {
        let Step::Completed(done) = ssd.step() else { panic!("lost") };
        assert!(matches!(ssd.step(), Step::Idle));
        done
    }

    fn read(ssd: &mut Ssd) -> (Completion, Time) {
        let start = ssd.now();
        ssd.submit(Request::new(Op::Read, 0, 4096), 1, start);
        let Step::Completed(done) = ssd.step() else { panic!("lost") };
        let latency = ssd.now().since(start);
        assert!(matches!(ssd.step(), Step::Idle));
        (done, latency)
    }

    /// Every round costs what it says: command and array for each sense, bus for each transfer,
    /// one decode for the round; with one register or two.
    #[test]
    fn a_failed_read_goes_round_as_asked() {
        let (command, array, bus, decode) = (500, 50_000, 10_240, 5_000);
        for cache_read in [false, true] {
            for (rounds, senses, transfers, commands) in [
                (&[][..], 1, 1, 1),
                (&[(1, 2)][..], 3, 3, 3),
                (&[(2, 1)][..], 3, 2, 2),
                (&[(1, 2), (2, 1)][..], 5, 4, 4),
            ] {
                let mut ssd = hopeless(rounds, cache_read);
                let (done, latency) = read(&mut ssd);
                assert!(done.failed);
                let attempts = 1 + rounds.len() as u64;
                let expected =
                    commands * command + senses * array + transfers * bus + attempts * decode;
                assert_eq!(latency, Time(expected), "{rounds:?} cache read {cache_read}");
                assert_eq!(done.parts.flash, Time(senses * array));
                assert_eq!(done.parts.bus, Time(transfers * bus));
                assert_eq!(done.parts.ecc, Time(attempts * decode));
                // What is left are the command cycles.
                assert_eq!(done.parts.queue, Time(commands * command));
                let counts = ssd.counts();
                assert_eq!(counts.hard_failures, 1);
                assert_eq!(counts.uncorrectable, 1);
                assert_eq!(counts.soft_reads.iter().sum::<u64>(), rounds.len() as u64);
                ssd.fault().unwrap();
            }
        }
    }
}
