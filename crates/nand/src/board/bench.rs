//! The test bench: a board, test data drawn from a seed, and counts of errors.

use crate::block::wordline::page_type_name;
use crate::board::Board;
use crate::chip::command::{Done, Feature, Identity, PageAddress};
use base::rng::Rng;
use base::stats::wilson;
use base::{Result, Time};

/// Standard errors of the intervals of rates: 95 %.
const INTERVAL_Z: f64 = 1.959_963_985;

/// A value of a row.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// A whole number: counts and indices.
    Whole(i64),
    /// A number.
    Real(f64),
    /// A name.
    Word(String),
}

/// A row of results: named values, units last in the names.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Row(pub Vec<(String, Value)>);

impl Row {
    /// Adds a whole number.
    #[must_use]
    pub fn whole(mut self, name: &str, value: impl TryInto<i64>) -> Self {
        let value = value.try_into().unwrap_or(i64::MAX);
        self.0.push((name.to_owned(), Value::Whole(value)));
        self
    }

    /// Adds a number.
    #[must_use]
    pub fn real(mut self, name: &str, value: f64) -> Self {
        self.0.push((name.to_owned(), Value::Real(value)));
        self
    }

    /// Adds a name.
    #[must_use]
    pub fn word(mut self, name: &str, value: impl Into<String>) -> Self {
        self.0.push((name.to_owned(), Value::Word(value.into())));
        self
    }

    /// Adds a rate with its interval; trials and hits stand beside it under their own names.
    #[must_use]
    pub fn rate(self, name: &str, hits: u64, trials: u64) -> Self {
        let (low, high) = wilson(hits, trials, INTERVAL_Z);
        let rate = if trials == 0 { 0.0 } else { hits as f64 / trials as f64 };
        // Exact at the ends, whatever the rounding.
        let (low, high) = (low.min(rate), high.max(rate));
        let low = if hits == 0 { 0.0 } else { low };
        self.real(name, rate).real(&format!("{name}_low"), low).real(&format!("{name}_high"), high)
    }

    /// Adds counts of bits.
    #[must_use]
    pub fn bits(self, tally: &Tally) -> Self {
        self.whole("bits", tally.bits).whole("bit_errors", tally.bit_errors).rate(
            "rber",
            tally.bit_errors,
            tally.bits,
        )
    }

    /// The value called `name`.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| value)
    }

    /// The number called `name`.
    pub fn number(&self, name: &str) -> Option<f64> {
        match self.get(name)? {
            Value::Whole(value) => Some(*value as f64),
            Value::Real(value) => Some(*value),
            Value::Word(_) => None,
        }
    }
}

/// Bits read and wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tally {
    /// Bits read.
    pub bits: u64,
    /// Those that differ from the written ones.
    pub bit_errors: u64,
}

impl Tally {
    /// Compares a page with the written data.
    pub fn add(&mut self, written: &[u8], read: &[u8]) {
        self.bits += 8 * written.len() as u64;
        self.bit_errors += differing(written, read);
    }
}

/// A row for each page type, as `row` begins it for the type's name, with what is wrong in it.
pub fn rows_by_page_type(tally: &[Tally], row: impl Fn(&'static str) -> Row) -> Vec<Row> {
    let name = |page_type| page_type_name(page_type, tally.len() as u32);
    (0..).zip(tally).map(|(page_type, tally)| row(name(page_type)).bits(tally)).collect()
}

fn differing(a: &[u8], b: &[u8]) -> u64 {
    a.iter().zip(b).map(|(a, b)| u64::from((a ^ b).count_ones())).sum()
}

/// Cells of one level read and wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CellTally {
    /// Cells written to the level.
    pub cells: u64,
    /// Those of which any bit is wrong.
    pub cell_errors: u64,
}

/// A row of cells that are programmed together, and its pages from the lower one.
#[derive(Debug, Clone)]
pub struct CellRow {
    /// Wordline.
    pub wordline: u32,
    /// Parity of the bitlines.
    pub parity: u8,
    /// Pages by page type.
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

/// A board at work.
pub struct Bench<'a> {
    /// The board.
    pub board: &'a mut dyn Board,
    /// Seed of the data.
    pub seed: u64,
}

impl Bench<'_> {
    /// What the chip is.
    pub fn identity(&self) -> Identity {
        self.board.identity().clone()
    }

    /// A page of random bits that belongs to a name.
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

    /// The pages, by page type, of a row whose cells all go to `level`.
    pub fn level_pages(&self, level: usize) -> Vec<Vec<u8>> {
        let identity = self.board.identity();
        let bytes = identity.page_bytes as usize;
        let bit = |page_type| identity.gray.bit(page_type, level);
        (0..identity.gray.cell_bits() as usize)
            .map(|page_type| vec![if bit(page_type) == 1 { 0xff } else { 0 }; bytes])
            .collect()
    }

    /// The bits of a level as papers write them: the page that is programmed first stands first.
    pub fn level_name(&self, level: usize) -> String {
        let gray = self.board.identity().gray;
        let bits = (0..gray.cell_bits() as usize).map(|p| gray.bit(p, level).to_string());
        bits.collect()
    }

    /// Lets the bench program in any order.
    pub fn any_order(&mut self) -> Result<()> {
        self.board.set_feature(&Feature::AnyOrder(true)).map(|_| ())
    }

    /// Programs all pages of a block in their order with what `data` gives for each: what each
    /// page took; one-shot, the first page of each wordline stands for all.
    pub fn fill(
        &mut self,
        block: u32,
        data: &mut dyn FnMut(&Self, u32) -> Vec<u8>,
    ) -> Result<Vec<(u32, Done)>> {
        self.fill_wordlines(block, &|_| true, data)
    }

    /// The same of the pages of some wordlines only.
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

    /// Programs all pages of a block with the random data that belong to `name` and the page.
    pub fn fill_random(&mut self, block: u32, name: &str) -> Result<()> {
        self.fill(block, &mut |bench, page| bench.random_page(&format!("{name}/{page}")))?;
        Ok(())
    }

    /// Reads all pages of a block that `fill_random` has filled: adds what is wrong to the tally
    /// of each page type.
    pub fn check_random(&mut self, block: u32, name: &str, tally: &mut [Tally]) -> Result<()> {
        for (page, site) in (0..).zip(self.identity().sites.iter()) {
            let (read, _) = self.read(block, page)?;
            tally[usize::from(site.page_type)]
                .add(&self.random_page(&format!("{name}/{page}")), &read);
        }
        Ok(())
    }

    /// Reads a page.
    pub fn read(&mut self, block: u32, page: u32) -> Result<(Vec<u8>, Done)> {
        let mut out = vec![0; self.board.identity().page_bytes as usize];
        let done = self.board.read(&[PageAddress { block, page }], &mut out)?;
        Ok((out, done))
    }

    /// Cells of a row by the level they were written to, and how many of those are wrong; both
    /// as pages by page type.
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

/// Mean of times in microseconds; zero of none.
pub fn mean_us(times: &[Time]) -> f64 {
    let sum: f64 = times.iter().map(|time| time.us()).sum();
    if times.is_empty() { 0.0 } else { sum / times.len() as f64 }
}

/// `points` cycle counts from `first` to `last`, equally far apart, or by a factor.
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
