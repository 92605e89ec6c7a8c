//! Memory for tables larger than the cache: huge pages and prefetched lines.

/// Prefetches the cache line of `slice[index]`. An index out of range has no effect.
#[inline(always)]
#[allow(unsafe_code)]
pub fn prefetch<T>(slice: &[T], index: usize) {
    #[cfg(target_arch = "x86_64")]
    if let Some(item) = slice.get(index) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: the address is that of a live element, and a prefetch has no visible effect.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(item).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (slice, index);
}

/// Creates a table of `len` copies of `value`, on large pages where the system has them: a random
/// access then costs a cache miss without a page walk.
pub fn table<T: Clone>(len: usize, value: T) -> Vec<T> {
    let mut table = Vec::with_capacity(len);
    advise_large_pages(&mut table);
    table.resize(len, value);
    table
}

/// Asks for large pages in the (untouched) capacity, wherever a whole page fits.
#[cfg(target_os = "linux")]
#[allow(unsafe_code)]
fn advise_large_pages<T>(table: &mut Vec<T>) {
    const LARGE: usize = 2 << 20;
    let start = table.as_mut_ptr().addr().next_multiple_of(LARGE);
    let end = (table.as_ptr().addr() + table.capacity() * size_of::<T>()) / LARGE * LARGE;
    if end > start {
        let first = table.as_mut_ptr().map_addr(|_| start);
        // SAFETY: the range lies inside the allocation, and the advice changes no content. That
        // it may be refused is of no consequence.
        unsafe { libc::madvise(first.cast(), end - start, libc::MADV_HUGEPAGE) };
    }
}

#[cfg(not(target_os = "linux"))]
fn advise_large_pages<T>(_: &mut Vec<T>) {}
