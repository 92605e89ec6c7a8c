//! Events of the drive: their kinds, and the lanes of the event queue that they go through.

use crate::flash::FlashEvents;

/// Kinds of events; the low bits of a payload say which one of that kind.
pub(crate) mod event {
    pub const SHIFT: u32 = 27;
    pub const MASK: u32 = (1 << SHIFT) - 1;
    pub const READY: u32 = 0;
    pub const DATA_IN: u32 = 1;
    pub const ARRAY: u32 = 2;
    pub const TRANSFER: u32 = 3;
    pub const DECODED: u32 = 4;
    pub const COMPLETE: u32 = 5;
    pub const ENCODED: u32 = 6;
    pub const WAKE: u32 = 7;
    pub const READY_AGAIN: u32 = 8;
    pub const REST: u32 = 9;
    pub const EXCHANGE: u32 = 10;
    pub const CACHED: u32 = 11;
    pub const COMPUTED: u32 = 12;
    pub const REBUILD: u32 = 13;
    pub const HOST_MEMORY: u32 = 14;
    pub const LOOKED_UP: u32 = 15;
    pub const BUFFERED: u32 = 16;

    pub const fn of(kind: u32, index: u32) -> u32 {
        kind << SHIFT | index
    }
}

/// Event lanes: of the stages that are first come first served, and of array reads, transfers and
/// programs, whose ends mostly come in the order of their starts.
pub(crate) mod lane {
    pub const HOST_IN: usize = 0;
    pub const DECODED: usize = 1;
    pub const READ_DONE: usize = 2;
    pub const WRITE_DONE: usize = 3;
    pub const ARRAY: usize = 4;
    pub const PROGRAM: usize = 5;
    pub const TO_DIE: usize = 6;
    pub const FROM_DIE: usize = 7;
    pub const DRAM: usize = 8;
}

/// Event kinds that the flash asks for.
pub(crate) const FLASH_EVENTS: FlashEvents = FlashEvents {
    array: event::of(event::ARRAY, 0),
    array_lane: lane::ARRAY,
    program_lane: lane::PROGRAM,
    transfer: event::of(event::TRANSFER, 0),
    to_die_lane: lane::TO_DIE,
    from_die_lane: lane::FROM_DIE,
};
