//! The test bench: a board, test data drawn from a seed, and counts of errors.

use crate::block::wordline::page_type_name;
use crate::board::Board;
use crate::chip::command::{Done, Feature, Identity, PageAddress};
use base::rng::Rng;
use base::stats::wilson;
use base::{Result, Time};

/// Width of the intervals of rates in standard errors, for 95 %.
const INTERVAL_Z: f64 = 1.959_963_985;

/// Value in a row of results.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// Whole number: a count or an index.
    Whole(i64),
    /// Real number, such as a time.
    Real(f64),
    /// Word, such as the name of a page type.
    Word(String),
}

/// Row of results: named values, with units last in the names.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Row(pub Vec<(String, Value)>);

impl Row {
    /// Adds a whole number called `name`.
    #[must_use]
    pub fn whole(mut self, name: &str, value: impl TryInto<i64>) -> Self {
        let value = value.try_into().unwrap_or(i64::MAX);
        self.0.push((name.to_owned(), Value::Whole(value)));
        self
    }

    /// Adds a real number called `name`.
    #[must_use]
    pub fn real(mut self, name: &str, value: f64) -> Self {
        self.0.push((name.to_owned(), Value::Real(value)));
        self
    }

    /// Adds a word called `name`.
    #[must_use]
    pub fn word(mut self, name: &str, value: impl Into<String>) -> Self {
        self.0.push((name.to_owned(), Value::Word(value.into())));
        self
    }

    /// Adds a rate and the ends of its interval, `name_low` and `name_high`. Add hits and trials
    /// under their own names.
    #[must_use]
    pub fn rate(self, name: &str, hits: u64, trials: u64) -> Self {
        let (low, high) = wilson(hits, trials, INTERVAL_Z);
        let rate = if trials == 0 { 0.0 } else { hits as f64 / trials as f64 };
        // Exact at the ends, whatever the rounding.
        let (low, high) = (low.min(rate), high.max(rate));
        let low = if hits == 0 { 0.0 } else { low };
        self.real(name, rate).real(&format!("{name}_low"), low).real(&format!("{name}_high"), high)
    }

    /// Adds the bits, bit errors and RBER of a tally.
    #[must_use]
    pub fn bits(self, tally: &Tally) -> Self {
        self.whole("bits", tally.bits).whole("bit_errors", tally.bit_errors).rate(
            "rber",
            tally.bit_errors,
            tally.bits,
        )
    }

    /// Value called `name`, if there is one.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| value)
    }

    /// Number called `name`, if there is one.
    pub fn number(&self, name: &str) -> Option<f64> {
        match self.get(name)? {
            Value::Whole(value) => Some(*value as f64),
            Value::Real(value) => Some(*value),
            Value::Word(_) => None,
        }
    }
}

/// Counts of bits read and of bit errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tally {
    /// Number of bits read.
    pub bits: u64,
    /// Bits read that differ from the written data.
    pub bit_errors: u64,
}

impl Tally {
    /// Compares a page with the written data.
    pub fn add(&mut self, written: &[u8], read: &[u8]) {
        self.bits += 8 * written.len() as u64;
        self.bit_errors += differing(written, read);
    }
}

/// Rows of `tally`, one for each page type: `row` begins it with the type's name.
pub fn rows_by_page_type(tally: &[Tally], row: impl Fn(&'static str) -> Row) -> Vec<Row> {
    let name = |page_type| page_type_name(page_type, tally.len() as u32);
    (0..).zip(tally).map(|(page_type, tally)| row(name(page_type)).bits(tally)).collect()
}

fn differing(a: &[u8], b: &[u8]) -> u64 {
    a.iter().zip(b).map(|(a, b)| u64::from((a ^ b).count_ones())).sum()
}

/// Counts of cells written to one level and of their errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CellTally {
    /// Cells written to the level.
    pub cells: u64,
    /// Cells with at least one wrong bit.
    pub cell_errors: u64,
}

/// Row of cells that are programmed together: a wordline, or one parity of it.
#[derive(Debug, Clone)]
pub struct CellRow {
    /// Wordline number in the block.
    pub wordline: u32,
    /// Parity of the bitlines, 0 or 1.
    pub parity: u8,
    /// Pages of the row by page type, from the lower one.
    pub pages: Vec<u32>,
}

/// All rows of cells of a block.
pub fn cell_rows(identity: &Identity) -> Vec<CellRow> {
    let mut rows: Vec<CellRow> = Vec::new();
    for (page, site) in (0..).zip(identity.sites.iter()) {
        let same = |row: &&mut CellRow| row.wordline == site.wordline && row.parity == site.parity;
        match rows.iter_mut().find(same) {
            Some(row) => row.pages.push(page),
            None => rows.push(CellRow {
                wordline: site.wordline,
                parity: site.parity,
                pages: vec![page],
            }),
        }
    }
    rows.sort_by_key(|row| (row.wordline, row.parity));
    rows
}

/// Test bench: a board and the seed of its data.
pub struct Bench<'a> {
    /// Board with the chip under test.
    pub board: &'a mut dyn Board,
    /// Seed of the test data.
    pub seed: u64,
}

impl Bench<'_> {
    /// Identity of the chip under test.
    pub fn identity(&self) -> Identity {
        self.board.identity().clone()
    }

    /// Page of random bits, drawn from the seed and `name`.
    pub fn random_page(&self, name: &str) -> Vec<u8> {
        let mut rng = Rng::stream(self.seed, &format!("bench/{name}"));
        let bytes = self.board.identity().page_bytes as usize;
        let mut page = Vec::with_capacity(bytes + 8);
        while page.len() < bytes {
            page.extend(rng.bits().to_le_bytes());
        }
        page.truncate(bytes);
        page
    }

    /// Pages, by page type, that bring all cells of a row to `level`.
    pub fn level_pages(&self, level: usize) -> Vec<Vec<u8>> {
        let identity = self.board.identity();
        let bytes = identity.page_bytes as usize;
        let bit = |page_type| identity.gray.bit(page_type, level);
        (0..identity.gray.cell_bits() as usize)
            .map(|page_type| vec![if bit(page_type) == 1 { 0xff } else { 0 }; bytes])
            .collect()
    }

    /// Bits of a level as papers write them: the page that is programmed first stands first.
    pub fn level_name(&self, level: usize) -> String {
        let gray = self.board.identity().gray;
        let bits = (0..gray.cell_bits() as usize).map(|p| gray.bit(p, level).to_string());
        bits.collect()
    }

    /// Allows the bench to program pages in any order.
    pub fn any_order(&mut self) -> Result<()> {
        self.board.set_feature(&Feature::AnyOrder(true)).map(|_| ())
    }

    /// Programs all pages of a block in order with the data that `data` gives for each. Returns the
    /// result for each page or, with one-shot programming, for the first page of each wordline.
    pub fn fill(
        &mut self,
        block: u32,
        data: &mut dyn FnMut(&Self, u32) -> Vec<u8>,
    ) -> Result<Vec<(u32, Done)>> {
        self.fill_wordlines(block, &|_| true, data)
    }

    /// Programs the pages of wordlines for which `is_wanted` is true, in order. Results as
    /// [`fill`](Self::fill).
    pub fn fill_wordlines(
        &mut self,
        block: u32,
        is_wanted: &dyn Fn(u32) -> bool,
        data: &mut dyn FnMut(&Self, u32) -> Vec<u8>,
    ) -> Result<Vec<(u32, Done)>> {
        let (sites, step) = {
            let identity = self.board.identity();
            (identity.sites.clone(), identity.pages_per_program())
        };
        let mut all = Vec::new();
        for (page, _) in (0..)
            .zip(sites.iter())
            .step_by(step as usize)
            .filter(|(_, site)| is_wanted(site.wordline))
        {
            let mut bytes = Vec::new();
            for part in page..page + step {
                bytes.extend(data(self, part));
            }
            all.push((page, self.board.program(&[PageAddress { block, page }], &bytes)?));
        }
        Ok(all)
    }

    /// Programs all pages of a block with random data drawn for `name` and the page.
    pub fn fill_random(&mut self, block: u32, name: &str) -> Result<()> {
        self.fill(block, &mut |bench, page| bench.random_page(&format!("{name}/{page}")))?;
        Ok(())
    }

    /// Reads all pages of a block that `fill_random` has filled. Adds their bit errors to the tally
    /// of each page type.
    pub fn check_random(&mut self, block: u32, name: &str, tally: &mut [Tally]) -> Result<()> {
        for (page, site) in (0..).zip(self.identity().sites.iter()) {
            let (read, _) = self.read(block, page)?;
            tally[usize::from(site.page_type)]
                .add(&self.random_page(&format!("{name}/{page}")), &read);
        }
        Ok(())
    }

    /// Reads a page and returns its data and the result.
    pub fn read(&mut self, block: u32, page: u32) -> Result<(Vec<u8>, Done)> {
        let mut out = vec![0; self.board.identity().page_bytes as usize];
        let done = self.board.read(&[PageAddress { block, page }], &mut out)?;
        Ok((out, done))
    }

    /// Counts cells of a row, and cell errors, by the level that was written. `written` and `read`
    /// are its pages by page type.
    pub fn count_cells(&self, written: &[Vec<u8>], read: &[Vec<u8>]) -> Vec<CellTally> {
        let gray = self.board.identity().gray;
        let levels = gray.level_of_word();
        let mut tally = vec![CellTally::default(); gray.levels()];
        for byte in 0..written.first().map_or(0, Vec::len) {
            let wrong =
                written.iter().zip(read).fold(0, |wrong, (w, r)| wrong | (w[byte] ^ r[byte]));
            for bit in 0..8 {
                let word =
                    (0..written.len()).fold(0, |word, p| word | (written[p][byte] >> bit & 1) << p);
                let cells = &mut tally[usize::from(levels[usize::from(word)])];
                cells.cells += 1;
                cells.cell_errors += u64::from(wrong >> bit & 1);
            }
        }
        tally
    }
}

/// Mean of times in microseconds; 0 without times.
pub fn mean_us(times: &[Time]) -> f64 {
    let sum: f64 = times.iter().map(|time| time.us()).sum();
    if times.is_empty() { 0.0 } else { sum / times.len() as f64 }
}

/// Cycle counts from `first` to `last`, `points` of them, with equal differences or equal ratios.
pub fn grid(first: u32, last: u32, points: u32, by_factor: bool) -> Vec<u32> {
    let (first, last) = (first.min(last), last);
    let mut all: Vec<u32> = (0..points.max(1))
        .map(|i| {
            let part = f64::from(i) / f64::from((points - 1).max(1));
            if points <= 1 {
                last
            } else if by_factor {
                let low = f64::from(first.max(1));
                (low * libm::pow(f64::from(last.max(1)) / low, part)).round() as u32
            } else {
                first + (f64::from(last - first) * part).round() as u32
            }
        })
        .collect();
    all.dedup();
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::board::VirtualBoard;
    use crate::board::raw_chip::tests::config;

    #[test]
    fn grids_reach_both_ends() {
        assert_eq!(grid(0, 100, 5, false), [0, 25, 50, 75, 100]);
        assert_eq!(grid(1, 1000, 4, true), [1, 10, 100, 1000]);
        assert_eq!(grid(0, 3, 9, false), [0, 1, 2, 3]);
        assert_eq!(grid(7, 7, 1, false), [7]);
    }

    #[test]
    fn cells_are_counted_by_level() {
        let mut board = VirtualBoard::new(&config(), 1).unwrap();
        let mut bench = Bench { board: &mut board, seed: 1 };
        bench.any_order().unwrap();
        let row = cell_rows(&bench.identity())[2].clone();
        for (level, name) in ["11", "10", "00", "01"].into_iter().enumerate() {
            assert_eq!(bench.level_name(level), name);
            let data = bench.level_pages(level);
            bench.board.erase(&[0]).unwrap();
            let page_type = |page: u32| row.pages.iter().position(|&other| other == page);
            let is_of_row = |wordline| wordline == row.wordline;
            bench
                .fill_wordlines(0, &is_of_row, &mut |_, page| {
                    page_type(page).map_or_else(|| vec![0xff; data[0].len()], |i| data[i].clone())
                })
                .unwrap();
            let mut read: Vec<Vec<u8>> =
                row.pages.iter().map(|&page| bench.read(0, page).unwrap().0).collect();
            assert_eq!(bench.count_cells(&data, &read)[level].cell_errors, 0);
            for page in &mut read {
                page[7] ^= 0x11;
            }
            let tally = bench.count_cells(&data, &read)[level];
            assert_eq!((tally.cells, tally.cell_errors), (1024, 2), "both bits of two cells");
        }
    }
}
