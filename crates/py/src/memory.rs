//! The allocator: a one-line error when memory runs out, instead of an abort.

use std::alloc::{GlobalAlloc, Layout, System};

/// Exit code of refused input.
const REFUSED: i32 = 2;

/// The system's allocator, whose failures end the process with a message.
///
/// A drive that would not fit is refused before it is built. Other allocations fail here: rows of
/// requests, results, and memory that another process took meanwhile. Rust cannot go on after such
/// a failure, so the process ends as it does where an input is refused.
pub struct Allocator;

#[global_allocator]
static ALLOCATOR: Allocator = Allocator;

#[cold]
fn out_of_memory() -> ! {
    const SAID: &[u8] = b"error: out of memory; hint: use a smaller drive, keep fewer \
        rows, or give more memory (ulimit, container)\n";
    // SAFETY: both functions take plain values, and neither allocates.
    #[allow(unsafe_code)]
    unsafe {
        // The number of bytes has another type on Windows.
        libc::write(2, SAID.as_ptr().cast(), SAID.len() as _);
        libc::_exit(REFUSED)
    }
}

// SAFETY: every call goes to the system allocator unchanged; a null pointer is never returned.
#[allow(unsafe_code)]
unsafe impl GlobalAlloc for Allocator {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let found = unsafe { System.alloc(layout) };
        if found.is_null() { out_of_memory() } else { found }
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        let found = unsafe { System.alloc_zeroed(layout) };
        if found.is_null() { out_of_memory() } else { found }
    }

    #[inline]
    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let found = unsafe { System.realloc(at, layout, size) };
        if found.is_null() { out_of_memory() } else { found }
    }

    #[inline]
    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        unsafe { System.dealloc(at, layout) }
    }
}
