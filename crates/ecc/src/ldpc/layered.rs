//! Layered min-sum decoding of a quasi-cyclic code in vectors of int8.
//!
//! Hocevar, SiPS 2004; Chen and Fossorier, IEEE Commun. Lett. 6 (2002). A block of z bits is stored
//! in the rotation of its last checks, with its beginning repeated behind its end. So each
//! circulant is read by unaligned loads and written by aligned stores.

use crate::bits;
use crate::ldpc::check_rule::{Checks, Rule};
use crate::ldpc::lanes::{Check, Lanes, Strength};
use crate::ldpc::quasi_cyclic::QuasiCyclic;
use crate::ldpc::syndrome::{Syndrome, rotated};

/// Step of a layer: one circulant.
#[derive(Debug, Clone, Copy)]
struct Step {
    /// Position of the circulant's block among the values, in bytes.
    block: u32,
    /// Rotation of the circulant against the stored block.
    offset: u32,
}

/// Schedule of an iteration: the block rows in order.
#[derive(Debug, Clone)]
pub(crate) struct Schedule {
    /// Steps of each layer, one layer after the other.
    steps: Vec<Step>,
    /// End of each layer among the steps.
    ends: Vec<usize>,
    /// Rotation of each block between iterations.
    home: Vec<usize>,
}

impl Schedule {
    /// Creates the schedule for vectors of `width` lanes.
    fn new(checks: &QuasiCyclic, width: usize) -> Self {
        let z = checks.z();
        let mut home = vec![0; checks.columns()];
        for circulant in checks.rows().iter().flatten() {
            home[usize::from(circulant.column)] = circulant.shift.into();
        }
        let mut rotation = home.clone();
        let (mut steps, mut ends) = (Vec::new(), Vec::new());
        for row in checks.rows() {
            for circulant in row {
                let (column, shift) = (usize::from(circulant.column), circulant.shift.into());
                steps.push(Step {
                    block: (column * stride(z, width)) as u32,
                    offset: ((shift + z - rotation[column]) % z) as u32,
                });
                rotation[column] = shift;
            }
            ends.push(steps.len());
        }
        Self { steps, ends, home }
    }
}

/// Number of lanes of a block: all of it in whole vectors, and its beginning repeated.
fn stride(z: usize, width: usize) -> usize {
    (z + width).next_multiple_of(width)
}

/// Input of a decode: the read of each bit, quantised.
#[derive(Clone, Copy)]
pub(crate) enum Input<'a> {
    /// Hard bits, all with the same magnitude.
    Hard { bits: &'a [u64], magnitude: i8 },
    /// Soft read: a region for each bit, and a value for each region.
    Soft { regions: &'a [u8], values: &'a [i8; 16] },
}

/// Decode to run: its input, iterations and check rules.
#[derive(Clone, Copy)]
pub(crate) struct Attempt<'a> {
    pub input: Input<'a>,
    /// Iterations and check rules of two rounds; the second round continues the first.
    pub rounds: [(u32, Rule<'a>); 2],
}

/// Outcome of a decode: iterations, and whether a codeword was found.
pub(crate) type Outcome = (u32, bool);

/// Decoder and its memory, in vectors of `L`.
pub(crate) struct Layered<L: Lanes> {
    z: usize,
    /// Number of vectors of a block.
    groups: usize,
    schedule: Schedule,
    syndrome: Syndrome,
    /// Values of the bits so far, `stride` lanes for each block.
    values: Vec<L::Vector>,
    /// Values of the bits of one layer, without the last message of their check.
    asked: Vec<L::Vector>,
    /// States of the checks of one layer.
    checks: Vec<Check<L::Vector>>,
    /// Magnitudes that the checks of one layer send.
    strengths: Vec<Strength<L::Vector>>,
    /// Messages by layer, in the order of its steps.
    messages: Vec<L::Message>,
    /// Signs of the values; each block begins on a new word.
    hard: Vec<u64>,
    word: Vec<u64>,
}

impl<L: Lanes> Layered<L> {
    /// Creates a decoder for codes of `checks`, whose circulants are no smaller than a vector.
    pub(crate) fn new(checks: &QuasiCyclic) -> Self {
        let (z, width) = (checks.z(), L::WIDTH);
        assert!(z >= width);
        let groups = z.div_ceil(width);
        let edges: usize = checks.rows().iter().map(Vec::len).sum();
        let degree = checks.rows().iter().map(Vec::len).max().unwrap_or(0);
        #[allow(unsafe_code)]
        // SAFETY: forms are only made where the machine has their instructions.
        let zero = unsafe { L::splat(0) };
        let none = Strength { first: zero, second: zero };
        Self {
            z,
            groups,
            schedule: Schedule::new(checks, width),
            syndrome: Syndrome::new(checks),
            values: vec![zero; checks.columns() * stride(z, width) / width],
            checks: vec![Check { first: zero, second: zero, parity: zero }; groups],
            asked: vec![zero; groups * degree],
            strengths: vec![none; groups * checks.rows().len()],
            messages: vec![L::SILENCE; groups * edges],
            hard: vec![0; checks.columns() * bits::words(z)],
            word: vec![0; bits::words(checks.length())],
        }
    }

    /// Decodes one word, from its input alone.
    ///
    /// # Safety
    /// The machine must have the instructions of `L`.
    #[allow(unsafe_code)]
    #[inline(always)]
    pub(crate) unsafe fn attempt(&mut self, attempt: &Attempt<'_>) -> Outcome {
        // SAFETY: as promised.
        unsafe {
            self.decide(&attempt.input);
            self.syndrome.set(&self.word);
            if self.syndrome.count() == 0 {
                return (0, true);
            }
            self.fill(&attempt.input);
            let mut done = 0;
            for (iterations, rule) in &attempt.rounds {
                for _ in 0..*iterations {
                    match *rule {
                        Rule::Shares(rule) if done == 0 => self.iterate::<true, _>(rule),
                        Rule::Shares(rule) => self.iterate::<false, _>(rule),
                        Rule::Doubts(rule) if done == 0 => self.iterate::<true, _>(rule),
                        Rule::Doubts(rule) => self.iterate::<false, _>(rule),
                    }
                    done += 1;
                    if self.judge() {
                        return (done, true);
                    }
                }
            }
            (done, false)
        }
    }

    /// Computes the hard decisions of the input.
    #[allow(unsafe_code)]
    #[inline(always)]
    unsafe fn decide(&mut self, input: &Input<'_>) {
        match *input {
            Input::Hard { bits, .. } => self.word.copy_from_slice(bits),
            Input::Soft { regions, values } => {
                let whole = regions.len() / L::WIDTH * L::WIDTH;
                self.word.fill(0);
                for at in (0..whole).step_by(L::WIDTH) {
                    // SAFETY: `at` + WIDTH regions are there.
                    let signs =
                        unsafe { L::signs(L::look_up(values.as_ptr(), regions[at..].as_ptr())) };
                    self.word[at / 64] |= signs << (at % 64);
                }
                for (at, &region) in regions.iter().enumerate().skip(whole) {
                    let negative = values[usize::from(region & 15)] < 0;
                    self.word[at / 64] |= u64::from(negative) << (at % 64);
                }
            }
        }
    }

    /// Stores the input in the rotations at the start of the schedule.
    #[allow(unsafe_code)]
    #[inline(always)]
    unsafe fn fill(&mut self, input: &Input<'_>) {
        let (z, words) = (self.z, bits::words(self.z));
        let stride = stride(z, L::WIDTH);
        for (column, &home) in self.schedule.home.iter().enumerate() {
            let hard = &mut self.hard[column * words..][..words];
            for (index, hard) in hard.iter_mut().enumerate() {
                *hard = rotated(&self.word, column * z, z, home, index);
            }
            // SAFETY: the block has `stride` lanes, whole vectors of z and one more.
            unsafe {
                let block = self.values.as_mut_ptr().cast::<i8>().add(column * stride);
                for group in (0..self.groups).rev() {
                    let at = group * L::WIDTH;
                    let values = match *input {
                        Input::Hard { magnitude, .. } => {
                            L::signed(hard[at / 64] >> (at % 64), magnitude)
                        }
                        Input::Soft { regions, values } => {
                            let regions = &regions[column * z..][..z];
                            let from = (home + at) % z;
                            if from + L::WIDTH <= z {
                                L::look_up(values.as_ptr(), regions[from..].as_ptr())
                            } else {
                                let mut around = [0; 64];
                                let (first, rest) = around[..L::WIDTH].split_at_mut(z - from);
                                first.copy_from_slice(&regions[from..]);
                                rest.copy_from_slice(&regions[..rest.len()]);
                                L::look_up(values.as_ptr(), around.as_ptr())
                            }
                        }
                    };
                    L::store(block.add(at), values);
                    if group == 0 {
                        L::store(block.add(z), values);
                    }
                }
            }
        }
    }

    /// Runs every layer once.
    #[allow(unsafe_code)]
    #[inline(always)]
    unsafe fn iterate<const FIRST: bool, R: Checks<L>>(&mut self, rule: R) {
        let mut begin = 0;
        for layer in 0..self.schedule.ends.len() {
            let end = self.schedule.ends[layer];
            // SAFETY: as promised.
            unsafe {
                match self.groups % L::UNROLL {
                    0 if L::UNROLL == 4 => self.layer::<FIRST, 4, R>(rule, layer, begin, end),
                    0 if L::UNROLL == 2 => self.layer::<FIRST, 2, R>(rule, layer, begin, end),
                    2 if L::UNROLL == 4 => self.layer::<FIRST, 2, R>(rule, layer, begin, end),
                    _ => self.layer::<FIRST, 1, R>(rule, layer, begin, end),
                }
            }
            begin = end;
        }
    }

    /// Runs all checks of a layer, N vectors of checks at a time.
    #[allow(unsafe_code)]
    #[inline(always)]
    unsafe fn layer<const FIRST: bool, const N: usize, R: Checks<L>>(
        &mut self,
        rule: R,
        layer: usize,
        begin: usize,
        end: usize,
    ) {
        let (z, width, groups) = (self.z, L::WIDTH, self.groups);
        let steps = &self.schedule.steps[begin..end];
        let degree = steps.len();
        // SAFETY: blocks of `stride` lanes hold what is read from an offset below z and written
        // at a multiple of WIDTH below z; `asked` holds the largest degree, `messages` every step.
        unsafe {
            let values = self.values.as_mut_ptr().cast::<i8>();
            let asked = self.asked.as_mut_ptr();
            let messages = self.messages.as_mut_ptr().add(begin * groups);
            let strengths = self.strengths.as_mut_ptr().add(layer * groups);
            let checks = self.checks.as_mut_ptr();
            let hand = rule.hand();
            for group in (0..groups).step_by(N) {
                let (asked, messages) = (asked.add(group * degree), messages.add(group * degree));
                let strengths = &mut *strengths.add(group).cast::<[Strength<L::Vector>; N]>();
                let new =
                    Check { first: L::splat(127), second: L::splat(127), parity: L::splat(0) };
                let (mut seen, mut sums) = ([new; N], [rule.nothing(); N]);
                for (i, step) in steps.iter().enumerate() {
                    let block = values.add(step.block as usize);
                    for n in 0..N {
                        let at = step.offset as usize + (group + n) * width;
                        let at = if at >= z { at - z } else { at };
                        let mut value = L::load(block.add(at));
                        if !FIRST {
                            value = L::without(value, &strengths[n], *messages.add(i * N + n));
                        }
                        *asked.add(i * N + n) = value;
                        rule.observe(&hand, &mut seen[n], &mut sums[n], value);
                    }
                }
                for n in 0..N {
                    strengths[n] = rule.strength(&hand, &seen[n], sums[n]);
                    *checks.add(group + n) = seen[n];
                }
            }
            for group in (0..groups).step_by(N).rev() {
                let (asked, messages) = (asked.add(group * degree), messages.add(group * degree));
                let strengths = *strengths.add(group).cast::<[Strength<L::Vector>; N]>();
                let checks = *checks.add(group).cast::<[Check<L::Vector>; N]>();
                for (i, step) in steps.iter().enumerate() {
                    let block = values.add(step.block as usize);
                    for n in (0..N).rev() {
                        let value = *asked.add(i * N + n);
                        let (sum, message) = L::answer(&checks[n], &strengths[n], value);
                        *messages.add(i * N + n) = message;
                        L::store(block.add((group + n) * width), sum);
                        if group + n == 0 {
                            L::store(block.add(z), sum);
                        }
                    }
                }
            }
        }
    }

    /// Updates the syndrome by the bits that changed. Returns whether all checks are satisfied.
    #[allow(unsafe_code)]
    #[inline(always)]
    unsafe fn judge(&mut self) -> bool {
        let (z, words, stride) = (self.z, bits::words(self.z), stride(self.z, L::WIDTH));
        let mut block = self.values.as_ptr().cast::<i8>();
        let columns = self.schedule.home.iter().zip(self.hard.chunks_exact_mut(words));
        for (column, (&home, hard)) in columns.enumerate() {
            for (begin, hard) in (0..).step_by(64).zip(hard) {
                let mut signs = 0;
                for at in (0..64).step_by(L::WIDTH).take_while(|at| begin + at < z) {
                    // SAFETY: the block has whole vectors of z lanes.
                    signs |= unsafe { L::signs(L::load(block.add(begin + at))) } << at;
                }
                signs &= !0 >> (64 - 64.min(z - begin));
                let mut changed = signs ^ *hard;
                *hard = signs;
                while changed != 0 {
                    let position = begin + changed.trailing_zeros() as usize + home;
                    let position = if position >= z { position - z } else { position };
                    self.syndrome.flip(column, position);
                    bits::flip(&mut self.word, column * z + position);
                    changed &= changed - 1;
                }
            }
            // SAFETY: there are `stride` lanes for each column.
            block = unsafe { block.add(stride) };
        }
        self.syndrome.count() == 0
    }
}

/// Decoder and its memory, for any vectors.
pub(crate) trait Form: Send {
    /// Decodes one word into `word`.
    fn attempt(&mut self, attempt: &Attempt<'_>, word: &mut [u64]) -> Outcome;
}

impl<L: Lanes> Form for Layered<L> {
    #[allow(unsafe_code)]
    fn attempt(&mut self, attempt: &Attempt<'_>, word: &mut [u64]) -> Outcome {
        // SAFETY: forms are only made where the machine has their instructions.
        let outcome = unsafe { L::attempt(self, attempt) };
        word.copy_from_slice(&self.word);
        outcome
    }
}
