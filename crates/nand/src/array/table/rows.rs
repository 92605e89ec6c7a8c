//! Rows of a table: rates for one wear and age, interpolated once and read without locks.
//!
//! The blocks of a drive have few different cycles, and its data few ages. So the pages of one wear
//! and age are interpolated together, and their row is cached for every drive that shares the
//! table, in any thread. A place of the cache takes one row at a time. Its version is odd while a
//! row is written: a reader that meets two versions computes the row by itself. Results never
//! depend on what other threads have cached.

use super::super::PageState;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};

/// Most cached rows (3 KiB each), placed by a hash of wear and age.
const ROWS: usize = 4096;

/// Entry of a row, for a page type and a point of reads: the logarithm of the mean rate, its spread
/// over pages, and the increase of both up to the next point of reads.
pub type Entry = [f64; 4];

/// Cache of the rows of a table.
pub struct Rows {
    places: Box<[Place]>,
}

/// Place for a row. Threads that read a row do not wait for a thread that writes one.
#[repr(align(64))]
#[derive(Default)]
struct Place {
    version: AtomicU32,
    pe_cycles: AtomicU32,
    hours: AtomicU64,
    entries: OnceLock<Box<[[AtomicU64; 4]]>>,
}

impl Rows {
    /// Creates an empty cache.
    pub fn new() -> Self {
        Self { places: (0..ROWS).map(|_| Place::default()).collect() }
    }

    #[inline]
    fn place(&self, pe_cycles: u32, hours: u64) -> &Place {
        let mixed = u64::from(pe_cycles) ^ hours >> 24;
        &self.places[(mixed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 52) as usize % ROWS]
    }

    /// Entry number `at` of the row of pages in the state of `page`, if it is cached.
    #[inline]
    pub fn get(&self, page: &PageState, at: usize) -> Option<Entry> {
        let hours = page.retention.0.to_bits();
        let place = self.place(page.pe_cycles, hours);
        let version = place.version.load(Ordering::Acquire);
        let entry = place.entries.get()?.get(at)?;
        let is_its = place.pe_cycles.load(Ordering::Relaxed) == page.pe_cycles
            && place.hours.load(Ordering::Relaxed) == hours;
        let entry = [0, 1, 2, 3].map(|i| f64::from_bits(entry[i].load(Ordering::Relaxed)));
        // What was read before this is of the version above, if it is still the version below.
        fence(Ordering::Acquire);
        let is_whole = version & 1 == 0 && place.version.load(Ordering::Relaxed) == version;
        (is_its && is_whole).then_some(entry)
    }

    /// Caches the row of pages with the wear and age of `page`. All rows of a table have one
    /// length.
    pub fn put(&self, page: &PageState, row: &[Entry]) {
        let hours = page.retention.0.to_bits();
        let place = self.place(page.pe_cycles, hours);
        let entries = place
            .entries
            .get_or_init(|| row.iter().map(|_| std::array::from_fn(|_| 0.into())).collect());
        let version = place.version.load(Ordering::Relaxed);
        let is_free = version & 1 == 0;
        let writing = version.wrapping_add(1);
        let (took, other) = (Ordering::Acquire, Ordering::Relaxed);
        if !is_free || place.version.compare_exchange(version, writing, took, other).is_err() {
            // Somebody else is at it.
            return;
        }
        fence(Ordering::Release);
        place.pe_cycles.store(page.pe_cycles, Ordering::Relaxed);
        place.hours.store(hours, Ordering::Relaxed);
        for (kept, entry) in entries.iter().zip(row) {
            for (kept, value) in kept.iter().zip(entry) {
                kept.store(value.to_bits(), Ordering::Relaxed);
            }
        }
        place.version.store(version.wrapping_add(2), Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::units::Hours;

    fn page(pe_cycles: u32, hours: f64) -> PageState {
        PageState { pe_cycles, retention: Hours(hours), ..PageState::default() }
    }

    #[test]
    fn a_row_is_found_where_it_was_put() {
        let rows = Rows::new();
        assert_eq!(rows.get(&page(0, 0.0), 0), None, "nothing was put there");
        rows.put(&page(7, 1.0), &[[1.0; 4], [2.0; 4]]);
        assert_eq!(rows.get(&page(7, 1.0), 1), Some([2.0; 4]));
        assert_eq!(rows.get(&page(7, 1.0), 2), None);
        for other in [page(8, 1.0), page(7, 1.5), page(0, 0.0)] {
            assert_eq!(rows.get(&other, 0), None);
        }
    }

    /// Threads that write the same places never see parts of two rows.
    #[test]
    fn no_row_is_read_in_halves() {
        let rows = Rows::new();
        let found = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4u32)
                .map(|thread| {
                    let rows = &rows;
                    scope.spawn(move || {
                        let mut found = 0;
                        for i in 0..200_000u32 {
                            let pe_cycles = (i ^ thread) % 8 * 65_536;
                            let page = page(pe_cycles, 0.0);
                            if let Some(entry) = rows.get(&page, 96 - 1) {
                                assert_eq!(entry, [f64::from(pe_cycles); 4]);
                                found += 1;
                            } else {
                                rows.put(&page, &[[f64::from(pe_cycles); 4]; 96]);
                            }
                        }
                        found
                    })
                })
                .collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).sum::<u32>()
        });
        assert!(found > 0);
    }
}
