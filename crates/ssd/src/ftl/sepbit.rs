//! `sepbit`: units kept apart by when they are likely to be overwritten (Wang et al., FAST'22).
//!
//! A write that replaces a unit which has lived for less than `l` units of host writes goes to the
//! first class, others to the second: what lived shortly tends to do so again. Collection moves
//! units of the first class to a third, and others by the time since the host wrote them to one of
//! three more, with borders at 4 `l` and 16 `l`. `l` is the mean life of the last blocks of the
//! first class that were collected, from their first program to their erase.

use super::contract::{Build, Hint, Key, Lpn, MOST_STREAMS, Program, Ram, Stream};
use super::page::{Own, PageFtl, PageParams};
use super::paged::{self, Choices, Flat, Layout};
use base::archive::{Archive, State};
use base::family::{Member, check, schema};
use base::memory::table;
use base::{Error, Result, params};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub const MEMBER: Member<Build> = Member {
    name: "sepbit",
    summary: "page-level mapping: units kept apart by their inferred time of overwriting",
    citation: "wang2022",
    schema: schema::<Params>,
    check: check::<Params>,
    build: |context, given| {
        let params: Params = params::read(given, "ftl")?;
        let Params { window_blocks, static_wear_delta, superblock_dies } = params;
        if window_blocks == 0 {
            return Err(Error::new("ftl.window_blocks", "0 blocks").expected("at least 1"));
        }
        let host_streams = CLASSES_OF_WRITES as u8;
        let page = PageParams::default();
        let data = PageParams { host_streams, static_wear_delta, superblock_dies, ..page };
        let own = Own { move_streams: MOVE_STREAMS, ..Own::NOTHING };
        paged::build(context, &data, own, Sepbit::new(window_blocks), |_, _| Flat)
    },
};

/// Classes of units that the host writes.
const CLASSES_OF_WRITES: u32 = 2;
/// Ages, in `l`, that part the classes of moved units.
const BORDERS: [f64; 2] = [4.0, 16.0];

/// Frontiers of moved data: units of the first class, and one more class than there are borders.
const MOVE_STREAMS: u32 = BORDERS.len() as u32 + 2;
/// Clock of a unit that was never written, or of blocks that were not opened for the first class.
const NEVER: u64 = u64::MAX;

/// Parameters of `sepbit`: window of the threshold, wear levelling, and superblocks.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(extend("x-move-streams" = MOVE_STREAMS))]
struct Params {
    /// Collected blocks, or superblocks, of the first class whose mean life is the threshold.
    window_blocks: u32,
    /// Static wear levelling, as with `page`; 0 switches it off.
    static_wear_delta: u32,
    /// Dies of a superblock, as with `page`; 1 is none, 0 is all dies.
    superblock_dies: u32,
}

impl Default for Params {
    fn default() -> Self {
        let PageParams { static_wear_delta, superblock_dies, .. } = PageParams::default();
        Self { window_blocks: 16, static_wear_delta, superblock_dies }
    }
}

/// Choices of `sepbit`. Its clock counts units that enter the write buffer.
#[derive(Clone)]
struct Sepbit {
    window_blocks: u32,
    clock: u64,
    /// Mean life of a block of the first class; endless until some were collected.
    mean_life: f64,
    /// Lives of blocks since the mean was last computed: their number and their sum.
    lives: (u32, u64),
    /// By unit: clock when the host wrote it.
    written_at: Vec<u64>,
    /// By unit: it is of the first class.
    is_short: Vec<bool>,
    /// By number of a block or superblock: clock when it was opened, if for the first class.
    opened_at: Vec<u64>,
}

impl Sepbit {
    fn new(window_blocks: u32) -> Self {
        Self {
            window_blocks,
            clock: 0,
            mean_life: f64::INFINITY,
            lives: (0, 0),
            written_at: Vec::new(),
            is_short: Vec::new(),
            opened_at: Vec::new(),
        }
    }
}

impl State for Sepbit {
    fn exchange(&mut self, archive: &mut Archive<'_>) -> Result<()> {
        let Self { window_blocks: _, clock, mean_life, lives, written_at, is_short, opened_at } =
            self;
        archive.value(clock)?;
        archive.value(mean_life)?;
        archive.value(lives)?;
        archive.table(written_at)?;
        archive.value(is_short)?;
        archive.table(opened_at)
    }
}

impl Choices for Sepbit {
    fn twin(&self, _: &mut PageFtl) -> Self {
        self.clone()
    }

    fn begin<L: Layout>(&mut self, data: &mut L) -> Result<()> {
        let page = data.page();
        self.written_at = table(page.logical_units as usize, NEVER);
        self.is_short = vec![false; page.logical_units as usize];
        self.opened_at = table(page.geometry.blocks() as usize, NEVER);
        Ok(())
    }

    fn keys(&self) -> Option<u32> {
        Some(CLASSES_OF_WRITES)
    }

    /// Hints of the host are not used.
    fn handles(&self) -> Option<u32> {
        Some(1)
    }

    fn key_of(&mut self, Lpn(lpn): Lpn, _: Hint) -> Option<Key> {
        let written_at = std::mem::replace(&mut self.written_at[lpn as usize], self.clock);
        let life = self.clock.checked_sub(written_at);
        self.clock += 1;
        let is_short = life.is_some_and(|life| (life as f64) < self.mean_life);
        self.is_short[lpn as usize] = is_short;
        Some(Key(u32::from(!is_short)))
    }

    fn stream_of(&mut self, Lpn(lpn): Lpn) -> u32 {
        if std::mem::take(&mut self.is_short[lpn as usize]) {
            return 0;
        }
        let written_at = self.written_at[lpn as usize];
        // What was there before a power cut is as old as can be told.
        let age = self.clock.checked_sub(written_at).unwrap_or(self.clock) as f64;
        1 + BORDERS.iter().filter(|&&border| age >= border * self.mean_life).count() as u32
    }

    fn programmed<L: Layout>(&mut self, data: &L, program: &Program, _: bool) {
        if program.page > 0 || program.stream != Stream::host(0) {
            return;
        }
        for number in program.blocks().iter().filter_map(|&block| data.number_of(block)) {
            let opened_at = &mut self.opened_at[number as usize];
            // The first block of a superblock opens it.
            if *opened_at == NEVER {
                *opened_at = self.clock;
            }
        }
    }

    fn trimmed(&mut self, Lpn(lpn): Lpn) {
        self.written_at[lpn as usize] = NEVER;
    }

    fn erased(&mut self, number: u32) {
        let opened_at = std::mem::replace(&mut self.opened_at[number as usize], NEVER);
        let Some(life) = self.clock.checked_sub(opened_at) else { return };
        let (count, sum) = &mut self.lives;
        (*count, *sum) = (*count + 1, *sum + life);
        if *count == self.window_blocks {
            self.mean_life = *sum as f64 / f64::from(*count);
            self.lives = (0, 0);
        }
    }

    fn ram(&self) -> Option<Ram> {
        let units = size_of_val(&*self.written_at) + size_of_val(&*self.is_short);
        let bytes = units + size_of_val(&*self.opened_at);
        Some(Ram { name: "lives", bytes: bytes as u64 })
    }
}

const _: () = assert!(BORDERS.len() as u32 + 2 <= MOST_STREAMS);
