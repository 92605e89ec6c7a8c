//! Answers that wait until stripes are whole, where parity is written early: a host that hears of a
//! flush, or of data on flash, may lose the power and a die.

use crate::drive::Ssd;
use crate::drive::wakes::Wake;

/// An answer to a request whose data are on flash.
#[derive(Debug, Clone, Copy)]
pub(in crate::drive) enum Answer {
    /// A flush is complete.
    Flush(u32),
    /// A unit that a request waited for is durable.
    Unit(u32),
}

/// Answers that wait for stripes with their data to be whole.
#[derive(Debug, Default)]
pub(in crate::drive) struct Unwhole {
    /// Stripes are made whole before an answer.
    is_on: bool,
    /// Answers that wait for the stripes that were asked for.
    asked: Vec<Answer>,
    /// Answers that came meanwhile.
    next: Vec<Answer>,
}

impl Unwhole {
    /// Creates an account of answers, which wait if stripes are to be whole before them.
    pub fn new(is_on: bool) -> Self {
        Self { is_on, ..Self::default() }
    }

    /// Whether stripes are made whole before an answer.
    #[inline]
    pub fn is_on(&self) -> bool {
        self.is_on
    }

    /// Whether any answer waits.
    #[inline]
    pub fn waits(&self) -> bool {
        !self.asked.is_empty()
    }

    /// Forgets all answers: the power is gone.
    pub fn forget(&mut self) {
        self.asked.clear();
        self.next.clear();
    }
}

impl Ssd {
    /// Answers at once, or when the stripes of all data on flash are whole.
    #[inline]
    pub(in crate::drive) fn answer_once_whole(&mut self, answer: Answer) {
        if !self.writer.unwhole.is_on {
            self.answer(answer);
            return;
        }
        self.writer.unwhole.next.push(answer);
        self.answer_waiting();
    }

    /// Answers what waits for stripes that are whole by now.
    #[cold]
    pub(in crate::drive) fn answer_waiting(&mut self) {
        loop {
            if !self.writer.unwhole.waits() {
                self.writer.unwhole.asked = std::mem::take(&mut self.writer.unwhole.next);
                if !self.writer.unwhole.waits() {
                    return;
                }
                if let Some(parity) = self.ftl.parity_mut() {
                    parity.ask_whole();
                }
                self.wakes.wake(Wake::Jobs);
            }
            if self.ftl.parity().is_some_and(|parity| !parity.is_whole()) {
                return;
            }
            for answer in std::mem::take(&mut self.writer.unwhole.asked) {
                self.answer(answer);
            }
        }
    }

    fn answer(&mut self, answer: Answer) {
        match answer {
            Answer::Flush(slot) => self.acknowledge(slot, self.now()),
            Answer::Unit(slot) => self.write_part_done(slot),
        }
    }
}
