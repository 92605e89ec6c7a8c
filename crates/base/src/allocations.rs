//! Counting allocator, for tests and benches of hot paths that must not allocate, or that must not
//! allocate large blocks.
//!
//! Use it with `#[global_allocator] static ALLOCATOR: Counting = Counting;`.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    static COUNT: Cell<u64> = const { Cell::new(0) };
    static LARGEST: Cell<usize> = const { Cell::new(0) };
}

/// The system's allocator, counting for each thread.
pub struct Counting;

/// Allocations of this thread so far; 0 where [`Counting`] is not the allocator.
pub fn count() -> u64 {
    COUNT.get()
}

/// Size in bytes of the largest allocation of this thread since [`forget_largest`].
pub fn largest() -> usize {
    LARGEST.get()
}

/// Restarts the search for the largest allocation.
pub fn forget_largest() {
    LARGEST.set(0);
}

// SAFETY: every call goes to the system allocator unchanged.
#[allow(unsafe_code)]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        COUNT.set(COUNT.get() + 1);
        LARGEST.set(LARGEST.get().max(layout.size()));
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        unsafe { System.dealloc(at, layout) }
    }
}
