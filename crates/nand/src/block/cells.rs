//! Block of real cells: keeps every threshold voltage, and reads it at any reference.
//!
//! Monte Carlo of every cell, after the mechanisms of [`Cell`]. Voltages are single precision and
//! are processed in chunks that stay in the cache. A row (a wordline, or its even or odd bitlines)
//! takes memory when it is first touched, and ages when it is next touched. Bit `i` of a page is
//! bit `i % 8` of byte `i / 8`, and belongs to cell `i`.

use crate::block::bits::{pack, states_of, targets};
use crate::block::draw::Draws;
use crate::block::reads::{Reads, Seen};
use crate::block::wordline::{Height, PageOrder, PageSite, page_sites};
use crate::cell::{Cell, Effort, Stress};
use crate::level::distribution::Law;
use crate::sense::Condition;
use base::units::Hours;
use base::{Error, Result, Time};
use std::sync::Arc;

/// Number of cells processed at once.
const CHUNK: usize = 1024;
/// Largest move by storage, in volts, that is put off until more adds up.
const SETTLE_V: f64 = 1e-4;

/// References and time of a sensing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Sensed {
    /// Number of references that were applied.
    pub references: u32,
    /// Time of the sensing.
    pub time: Time,
}

/// Row of cells that are programmed and sensed together.
#[derive(Debug, Clone, Default)]
struct Row {
    /// Threshold voltages; empty if the row is erased and was not touched since.
    voltages: Vec<f32>,
    /// Passes made since the erase.
    passes: usize,
    /// Programs since the erase, passes and repeated ones.
    programs: u32,
    /// Age of the block, and the reads that the row has seen, at the last program or the erase.
    start_hours: f64,
    start_reads: Seen,
    /// Programs since the erase beyond the passes.
    reprograms: u32,
    /// Stress that the voltages include already.
    settled: Stress,
    /// Mean level of the cells as a share of the highest.
    filled: f64,
    /// Cycles of the row's life in which all its cells held one level, by that level.
    held: [u32; 16],
}

/// Block of cells, row by row.
#[derive(Clone)]
pub struct CellBlock {
    cell: Arc<Cell>,
    sites: Vec<PageSite>,
    page_bytes: usize,
    parities: usize,
    wordlines: u32,
    disturbs_by_layer: bool,
    seed: u64,
    /// Seed of properties of whole rows, as their widths.
    row_seed: u64,
    number: u64,
    pe_cycles: u32,
    /// Wear of a cycle with the rest after it, as a multiple of that without a rest.
    wear_of_rest: f64,
    hours: f64,
    reads: Reads,
    senses: u64,
    rows: Vec<Row>,
    /// Rises of the cells in the last program, and their voltages after it.
    rise: Vec<f32>,
    after: Vec<f32>,
    /// Distributions of the levels for the most recently used number of cycles.
    laws: Option<(u32, Arc<[Law]>)>,
    /// Memory of rows that were erased, for reuse.
    spare: Vec<Vec<f32>>,
}

impl CellBlock {
    /// Creates an erased, fresh block of `pages` pages of `page_bytes` bytes (spare area included),
    /// laid out as `cell` says. Blocks with the same `seed` and `number` have the same cells.
    pub fn new(
        cell: Arc<Cell>,
        pages: u32,
        page_bytes: u32,
        seed: u64,
        number: u64,
    ) -> Result<Self> {
        let order = cell.levels.order;
        let sites = page_sites(order, cell.levels.gray.cell_bits(), pages)?;
        if page_bytes == 0 || page_bytes > 1 << 20 || pages > 1 << 16 {
            return Err(Error::new("cell block", format!("{pages} pages of {page_bytes} bytes"))
                .expected("up to 65536 pages of 1 to 1048576 bytes"));
        }
        let parities = if order == PageOrder::EvenOdd { 2 } else { 1 };
        let wordlines = sites.iter().map(|site| site.wordline + 1).max().unwrap_or(0);
        Ok(Self {
            disturbs_by_layer: cell.disturbs_by_layer(),
            reads: Reads::new(wordlines, cell.neighbour_factor()),
            cell,
            sites,
            page_bytes: page_bytes as usize,
            parities,
            wordlines,
            seed,
            row_seed: seed,
            number,
            pe_cycles: 0,
            wear_of_rest: 1.0,
            hours: 0.0,
            senses: 0,
            rows: vec![Row::default(); wordlines as usize * parities],
            rise: Vec::new(),
            after: Vec::new(),
            laws: None,
            spare: Vec::new(),
        })
    }

    /// Cell parameters of the block.
    pub fn cell(&self) -> &Arc<Cell> {
        &self.cell
    }

    /// Program/erase cycles so far.
    pub fn pe_cycles(&self) -> u32 {
        self.pe_cycles
    }

    /// Program/erase cycles without a rest that wear as those so far have.
    pub fn worn_cycles(&self) -> u32 {
        (f64::from(self.pe_cycles) * self.wear_of_rest).round() as u32
    }

    /// Lets the block rest after each cycle, so that it wears `wear_of_rest` times as much as
    /// without a rest.
    pub fn rest(&mut self, wear_of_rest: f64) {
        self.wear_of_rest = wear_of_rest;
    }

    /// Reads since the erase at the cell's reference temperature, fast-forwarded ones included.
    pub fn reads(&self) -> u64 {
        self.reads.all()
    }

    /// Number of pages of the block.
    pub fn pages(&self) -> u32 {
        self.sites.len() as u32
    }

    /// Site of a page on the wordlines.
    pub fn site(&self, page: u32) -> Result<PageSite> {
        self.sites.get(page as usize).copied().ok_or_else(|| {
            Error::new("cell block", format!("no page {page}"))
                .expected(format!("0 to {}", self.sites.len() - 1))
        })
    }

    /// Pages that one program writes: one, or all of a wordline with one-shot programming.
    pub fn pages_per_program(&self) -> usize {
        let levels = &self.cell.levels;
        levels.order.pages_per_program(levels.gray.cell_bits()) as usize
    }

    /// Bytes of data that one program takes.
    pub fn program_bytes(&self) -> usize {
        self.page_bytes * self.pages_per_program()
    }

    /// Erases the block: one more cycle. The time depends on the data of the block.
    pub fn erase(&mut self) -> Effort {
        let filled = self.rows.iter().map(|row| row.filled).sum::<f64>() / self.rows.len() as f64;
        let effort = self.cell.erase_effort(self.worn_cycles(), filled);
        self.cycle(1);
        effort
    }

    /// Adds `cycles` program/erase cycles at once, and leaves the block erased.
    pub fn cycle(&mut self, cycles: u32) {
        self.pe_cycles = self.pe_cycles.saturating_add(cycles);
        (self.senses, self.hours) = (0, 0.0);
        self.reads.clear();
        for row in &mut self.rows {
            let mut voltages = std::mem::take(&mut row.voltages);
            voltages.clear();
            *row = Row { voltages, held: row.held, ..Row::default() };
        }
    }

    /// Turns the block into block `number` after `pe_cycles`, erased, with cells drawn from
    /// `cell_seed`. Widths of rows are drawn from the new number and the seed of the block's
    /// creation.
    pub fn redraw(&mut self, number: u64, cell_seed: u64, pe_cycles: u32) {
        (self.number, self.seed, self.pe_cycles) = (number, cell_seed, pe_cycles);
        for row in &mut self.rows {
            row.held = [0; 16];
            if row.voltages.capacity() > 0 {
                self.spare.push(std::mem::take(&mut row.voltages));
            }
        }
        self.cycle(0);
    }

    /// Adds `cycles` cycles in which rows hold one level each, given as (one of the row's pages,
    /// level): the level decides how much its cells wear. The block ends erased, as with
    /// [`CellBlock::cycle`].
    pub fn cycle_holding(&mut self, cycles: u32, held: &[(u32, usize)]) -> Result<()> {
        let levels = self.cell.levels.count();
        for &(page, level) in held {
            self.site(page)?;
            if level >= levels {
                return Err(Error::new("cell block", format!("no level {level}"))
                    .expected(format!("0 to {}", levels - 1)));
            }
        }
        for &(page, level) in held {
            let index = self.row_index(self.site(page)?);
            let count = &mut self.rows[index].held[level];
            *count = count.saturating_add(cycles);
        }
        self.cycle(cycles);
        Ok(())
    }

    /// Wear of a row, as the number of cycles with random data.
    fn worn(&self, row: &Row) -> u32 {
        let more: f64 = (0..)
            .zip(row.held)
            .filter(|&(_, count)| count > 0)
            .map(|(level, count)| f64::from(count) * (self.cell.wear_of_level(level) - 1.0))
            .sum();
        // A cast of what is below zero is zero.
        ((f64::from(self.pe_cycles) + more) * self.wear_of_rest).round() as u32
    }

    /// Ages the data by `age` at `celsius`, converted to hours at the reference temperature.
    pub fn age(&mut self, age: Hours, celsius: f64) {
        self.age_at_reference(Hours(self.cell.equivalent_hours(age.0.max(0.0), celsius)));
    }

    /// Ages the data by `age` at the cell's reference temperature.
    pub fn age_at_reference(&mut self, age: Hours) {
        let hours = age.0;
        // What is not a number, or negative, is no time.
        if hours > 0.0 {
            self.hours += hours.min(1e12);
        }
    }

    /// Adds `reads` reads of the block, of all its wordlines alike, at the cell's reference
    /// temperature and discards the data.
    pub fn disturb(&mut self, reads: u64) {
        self.reads.count_alike(reads);
    }

    /// Adds `reads` reads of one page at the cell's reference temperature and discards the data.
    pub fn hammer(&mut self, page: u32, reads: u64) -> Result<()> {
        let PageSite { wordline, .. } = self.site(page)?;
        self.reads.count(wordline, reads);
        Ok(())
    }

    /// Disturbs all wordlines of the block alike from now on: the user of the block knows the
    /// dose of the one that it reads. Must precede the first read.
    pub(super) fn disturb_alike(&mut self) {
        self.reads.disturb_alike();
    }

    /// Programs a page (or, one-shot, the wordline that begins with it) with
    /// [`CellBlock::program_bytes`] bytes: with one-shot programming the pages one after another.
    ///
    /// Any page may be programmed at any time, also again: cells only rise. The chip, and not the
    /// block, enforces an order.
    pub fn program(&mut self, page: u32, data: &[u8]) -> Result<Effort> {
        let site = self.site(page)?;
        let one_shot = self.cell.levels.order == PageOrder::OneShot;
        if one_shot && site.page_type != 0 {
            return Err(Error::new("cell block", format!("one-shot program at page {page}"))
                .expected("the first page of a wordline"));
        }
        if data.len() != self.program_bytes() {
            return Err(Error::new("cell block", format!("{} bytes of data", data.len()))
                .expected(format!("{} bytes", self.program_bytes())));
        }
        let pass = if one_shot { 0 } else { usize::from(site.page_type) };
        let index = self.row_index(site);
        self.touch(index);
        self.settle(index, 0.0);
        let mut voltages = std::mem::take(&mut self.rows[index].voltages);
        let (levels, by_pulses) = self.raise(index, site, pass, &mut voltages, data);
        self.rows[index].voltages = voltages;
        self.couple(index, site);
        let row = &mut self.rows[index];
        row.reprograms = if pass < row.passes { row.reprograms + 1 } else { 0 };
        row.passes = row.passes.max(pass + 1);
        row.programs += 1;
        row.start_hours = self.hours;
        row.start_reads = self.reads.seen(site.wordline as usize);
        row.settled = Stress { reprograms: row.settled.reprograms, ..Stress::default() };
        if row.reprograms == 0 {
            row.settled.reprograms = 0;
        }
        let worn = self.worn_cycles();
        let laws = self.laws(worn);
        Ok(by_pulses.unwrap_or_else(|| {
            let job = self.cell.program_job_with(&laws, pass, levels, worn);
            self.cell.program_effort(&job)
        }))
    }

    /// Reads a page into `out` (a page's bytes), its references shifted by `shifts_v`, from the
    /// lowest; references without a value stay. Counts as a read of the block.
    pub fn sense(&mut self, page: u32, shifts_v: &[f32], out: &mut [u8]) -> Result<Sensed> {
        if out.len() != self.page_bytes {
            return Err(Error::new("cell block", format!("room for {} bytes", out.len()))
                .expected(format!("{} bytes", self.page_bytes)));
        }
        let references = self.references(page, shifts_v, &[0.0])?;
        self.sensed(page, |chunk, voltages| {
            let bytes = &mut out[chunk * CHUNK / 8..];
            for (group, byte) in voltages.chunks(8).zip(bytes) {
                let mut flips = [1u8; 8];
                for &reference in &references {
                    for (flip, &v) in flips.iter_mut().zip(group) {
                        *flip ^= u8::from(v >= reference);
                    }
                }
                *byte = pack(flips);
            }
        })?;
        Ok(self.took(references.len()))
    }

    /// Reads a page at each of `offsets_v` (rising) around every reference. Returns for each cell
    /// of the page the number of references below it: 0 is the lowest region, and there are
    /// references x offsets + 1 of them. Counts as one read for each offset; the noise is that of
    /// one sensing.
    pub fn sense_soft(
        &mut self,
        page: u32,
        shifts_v: &[f32],
        offsets_v: &[f32],
        out: &mut [u8],
    ) -> Result<Sensed> {
        if out.len() != self.page_bytes * 8 {
            return Err(Error::new("cell block", format!("room for {} cells", out.len()))
                .expected(format!("{} cells", self.page_bytes * 8)));
        }
        let references = self.references(page, shifts_v, offsets_v)?;
        let PageSite { wordline, .. } = self.site(page)?;
        self.reads.count(wordline, offsets_v.len().saturating_sub(1) as u64);
        self.sensed(page, |chunk, voltages| {
            let regions = &mut out[chunk * CHUNK..][..voltages.len()];
            regions.fill(0);
            for &reference in &references {
                for (region, &v) in regions.iter_mut().zip(voltages) {
                    *region += u8::from(v >= reference);
                }
            }
        })?;
        Ok(self.took(references.len()))
    }

    /// Threshold voltages of the row in which a page lies, at present, without sensing noise: the
    /// result of a sweep of the references. Does not count as a read.
    pub fn voltages(&mut self, page: u32) -> Result<&[f32]> {
        let index = self.row_index(self.site(page)?);
        self.touch(index);
        self.settle(index, 0.0);
        Ok(&self.rows[index].voltages)
    }

    /// Stress of the row of a page since it was programmed.
    pub fn stress(&self, page: u32) -> Result<Stress> {
        Ok(self.stress_of(self.row_index(self.site(page)?)))
    }

    fn row_index(&self, site: PageSite) -> usize {
        site.wordline as usize * self.parities + usize::from(site.parity)
    }

    fn stress_of(&self, index: usize) -> Stress {
        let row = &self.rows[index];
        let mut reads = self.reads.since(row.start_reads, index / self.parities);
        if self.disturbs_by_layer {
            let wordline = (index / self.parities) as u32;
            let height = Height { wordline, wordlines: self.wordlines };
            reads = (reads as f64 * self.cell.disturb_of_layer(height)).round() as u64;
        }
        Stress {
            pe_cycles: self.worn(row),
            hours: self.hours - row.start_hours,
            reads,
            reprograms: row.reprograms,
        }
    }

    /// Random stream of a row in the present cycle of the block. It depends on the number of
    /// cycles, and not on whether they were skipped.
    fn draws(&self, index: usize, what: &str) -> Draws {
        let name = format!("cells/{}/{}/{index}/{what}", self.number, self.pe_cycles);
        Draws::stream(self.seed, &name)
    }

    /// Random stream of the permanent properties of the cells of a row.
    fn owned(&self, index: usize, what: &str) -> Draws {
        Draws::stream(self.seed, &format!("cells/{}/own/{index}/{what}", self.number))
    }

    /// Distributions of the levels after `pe_cycles` cycles, cached for the last number.
    fn laws(&mut self, pe_cycles: u32) -> Arc<[Law]> {
        match &self.laws {
            Some((known, laws)) if *known == pe_cycles => laws.clone(),
            _ => {
                let stress = Stress { pe_cycles, ..Stress::default() };
                let laws: Arc<[Law]> = self.cell.laws(&stress).into();
                self.laws = Some((pe_cycles, laws.clone()));
                laws
            }
        }
    }

    /// Factor on the widths of the levels of a row.
    fn width(&self, site: PageSite, index: usize) -> f64 {
        let mut deviate = [0.0];
        let name = format!("cells/{}/own/{index}/width", self.number);
        Draws::stream(self.row_seed, &name).normal(&mut deviate);
        let ln = self.cell.width_ln(site.wordline, self.wordlines, f64::from(deviate[0]));
        libm::exp(ln)
    }

    /// Draws the erased cells of a row, if it has no voltages yet.
    fn touch(&mut self, index: usize) {
        if !self.rows[index].voltages.is_empty() {
            return;
        }
        let laws = self.laws(self.worn(&self.rows[index]));
        let law = &laws[0];
        let site = PageSite {
            wordline: (index / self.parities) as u32,
            parity: (index % self.parities) as u8,
            page_type: 0,
        };
        let sigma = (law.sigma_v * self.width(site, index)) as f32;
        let mut draws = self.draws(index, "erased");
        let mut voltages = std::mem::take(&mut self.rows[index].voltages);
        if voltages.capacity() == 0 {
            voltages = self.spare.pop().unwrap_or_default();
        }
        voltages.resize(self.page_bytes * 8, 0.0);
        for chunk in voltages.chunks_mut(CHUNK) {
            draws.normal(chunk);
            self.cell.reshape.apply(chunk);
            for v in chunk {
                *v = law.mean_v as f32 + sigma * *v;
            }
        }
        self.rows[index].voltages = voltages;
    }

    /// Brings a row's voltages up to date, if storage has moved any by more than `tolerance_v`.
    fn settle(&mut self, index: usize, tolerance_v: f64) {
        let from = self.rows[index].settled;
        let to = self.stress_of(index);
        let from = Stress { pe_cycles: to.pe_cycles, ..from };
        if self.cell.move_bound_v(&from, &to) <= tolerance_v {
            return;
        }
        let mut own = self.owned(index, "storage");
        let mut part = [0.0; CHUNK];
        let cell = &self.cell;
        let row = &mut self.rows[index];
        for chunk in row.voltages.chunks_mut(CHUNK) {
            own.normal(&mut part[..chunk.len()]);
            cell.move_cells(chunk, &part[..chunk.len()], &from, &to);
        }
        row.settled = to;
    }

    /// Programs the cells of a row to the levels of `data`. Returns the states in use, and the
    /// effort where pulses were simulated.
    fn raise(
        &mut self,
        index: usize,
        site: PageSite,
        pass: usize,
        voltages: &mut [f32],
        data: &[u8],
    ) -> (u32, Option<Effort>) {
        let laws = self.laws(self.worn(&self.rows[index]));
        let cell = &self.cell;
        let passes = &cell.levels.passes;
        let (made, last) = (&passes[pass], pass + 1 == passes.len());
        let before_v: Vec<f32> = match pass.checked_sub(1) {
            Some(earlier) => passes[earlier].between_v.iter().map(|&v| v as f32).collect(),
            None => Vec::new(),
        };
        let width = self.width(site, index);
        let mut job = cell.program_job_with(&laws, pass, u32::MAX, self.worn_cycles());
        job.sigma_v = job.sigma_v.map(|sigma| sigma * width);
        // Cells that stay erased aim far below: programming only raises.
        let (mut mean, mut sigma) = ([-100.0f32; 16], [0.0f32; 16]);
        for state in (0..16).filter(|state| job.levels >> state & 1 == 1) {
            (mean[state], sigma[state]) = (job.mean_v[state] as f32, job.sigma_v[state] as f32);
        }
        let target: Vec<[u8; 16]> = made
            .target
            .iter()
            .map(|row| std::array::from_fn(|bits| row.get(bits).copied().unwrap_or(0)))
            .collect();
        let programs = self.rows[index].programs;
        let mut draws = self.draws(index, &format!("program/{programs}"));
        let mut scatter = self.draws(index, &format!("scatter/{programs}"));
        let mut own = self.owned(index, "speed");
        let by_pulses = cell.by_pulses();
        let (mut used, mut sum, mut effort) = (0u32, 0u64, None::<Effort>);
        self.rise.resize(voltages.len(), 0.0);
        let mut states = [0u8; CHUNK];
        let (mut aim, mut noise) = ([0.0f32; CHUNK], [0.0f32; CHUNK]);
        for (c, chunk) in voltages.chunks_mut(CHUNK).enumerate() {
            let n = chunk.len();
            states_of(chunk, &before_v, &mut states[..n]);
            let pages: Vec<&[u8]> =
                data.chunks(self.page_bytes).map(|page| &page[c * CHUNK / 8..]).collect();
            targets(&mut states[..n], &target, &pages);
            for s in 0..made.states.len() {
                if used >> s & 1 == 0 && states[..n].contains(&(s as u8)) {
                    used |= 1 << s;
                }
            }
            sum += states[..n].iter().map(|&s| u64::from(s)).sum::<u64>();
            draws.normal(&mut noise[..n]);
            cell.reshape.apply(&mut noise[..n]);
            let rise = &mut self.rise[c * CHUNK..][..n];
            rise.copy_from_slice(chunk);
            if by_pulses {
                let mut speed = [0.0f32; CHUNK];
                own.normal(&mut speed[..n]);
                let (states, noise) = (&states[..n], &noise[..n]);
                let took = cell.program_by_pulses(chunk, states, noise, &speed[..n], &job);
                effort = took.map(|took| took.beside(effort.unwrap_or_default()));
            } else {
                for i in 0..n {
                    let state = usize::from(states[i] & 15);
                    aim[i] = mean[state] + sigma[state] * noise[i];
                }
                if last {
                    for mechanism in cell.mechanisms() {
                        mechanism.scatter(&mut aim[..n], &mut scatter);
                    }
                }
                for (v, aim) in chunk.iter_mut().zip(&aim) {
                    *v = v.max(*aim);
                }
            }
            for (rise, v) in rise.iter_mut().zip(chunk.iter()) {
                *rise = *v - *rise;
            }
        }
        let top = (made.states.len() - 1).max(1) as f64;
        let count = voltages.len() as f64;
        self.rows[index].filled = sum as f64 / count / top;
        (used, effort)
    }

    /// Raises the neighbours of a row that has just been programmed, by coupling.
    fn couple(&mut self, index: usize, site: PageSite) {
        let coupling = self.cell.coupling();
        let (along, beside) = (coupling.bitline as f32, coupling.wordline as f32);
        if along != 0.0 && site.wordline > 0 {
            self.touch(index - self.parities);
            let below = &mut self.rows[index - self.parities].voltages;
            for (v, rise) in below.iter_mut().zip(&self.rise) {
                *v += along * rise;
            }
        }
        if beside == 0.0 {
            return;
        }
        if self.parities == 2 {
            // Even cell i lies between odd cells i - 1 and i.
            let (other, first) = if site.parity == 1 { (index - 1, 0) } else { (index + 1, 1) };
            // Erased cells gather what comes before they are programmed, too.
            self.touch(other);
            let (other, rise) = (&mut self.rows[other].voltages, &self.rise);
            for (v, rise) in other.iter_mut().zip(rise) {
                *v += beside * rise;
            }
            if first == 0 {
                for (v, rise) in other.iter_mut().skip(1).zip(rise) {
                    *v += beside * rise;
                }
            } else {
                for (v, rise) in other.iter_mut().zip(&rise[1..]) {
                    *v += beside * rise;
                }
            }
            return;
        }
        // Programmed together: what a neighbour still rises after this cell was verified.
        let rise = &self.rise;
        let row = &mut self.rows[index].voltages;
        self.after.clear();
        self.after.extend_from_slice(row);
        let after = &self.after;
        let kick = |rise: f32, neighbour: f32, me: f32| rise.min(neighbour - me).max(0.0);
        // From the left, then from the right: each a plain walk over neighbours.
        for ((v, me), (rise, left)) in row.iter_mut().zip(after).skip(1).zip(rise.iter().zip(after))
        {
            *v += beside * kick(*rise, *left, *me);
        }
        for ((v, me), (rise, right)) in
            row.iter_mut().zip(after).zip(rise.iter().zip(after).skip(1))
        {
            *v += beside * kick(*rise, *right, *me);
        }
    }

    /// References of a page in the state of its wordline, shifted, each at every offset.
    fn references(&self, page: u32, shifts_v: &[f32], offsets_v: &[f32]) -> Result<Vec<f32>> {
        let site = self.site(page)?;
        let row = &self.rows[self.row_index(site)];
        let passes = &self.cell.levels.passes;
        let page_type = usize::from(site.page_type);
        let now = &passes[row.passes.clamp(1, passes.len()) - 1].page_v[page_type];
        let base = if now.is_empty() { self.cell.references_v(page_type) } else { now };
        let mut all = Vec::with_capacity(base.len() * offsets_v.len());
        for (i, &v) in base.iter().enumerate() {
            let shifted = v as f32 + shifts_v.get(i).copied().unwrap_or(0.0);
            all.extend(offsets_v.iter().map(|offset| shifted + offset));
        }
        if all.iter().any(|v| !v.is_finite()) || all.is_empty() || all.len() > 255 {
            return Err(Error::new("cell block", format!("references {all:?}"))
                .expected("1 to 255 finite voltages"));
        }
        Ok(all)
    }

    /// Passes the voltages of a page's row, chunk by chunk, with the noise of one sensing to
    /// `each`.
    fn sensed(&mut self, page: u32, mut each: impl FnMut(usize, &[f32])) -> Result<()> {
        let index = self.row_index(self.site(page)?);
        self.touch(index);
        self.settle(index, SETTLE_V);
        self.reads.count((index / self.parities) as u32, 1);
        self.senses += 1;
        let stress = self.stress_of(index);
        let mut strings = self.cell.string().map(|_| self.strings(index, &stress));
        let mut streams: Vec<(Draws, Draws)> = (0..self.cell.mechanisms().len())
            .map(|m| {
                let now = self.draws(index, &format!("sense/{}/{m}", self.senses));
                (self.owned(index, &format!("sense/{m}")), now)
            })
            .collect();
        let (mut part, mut luck) = ([0.0f32; CHUNK], [0.0f32; CHUNK]);
        for (c, chunk) in self.rows[index].voltages.chunks(CHUNK).enumerate() {
            let part = &mut part[..chunk.len()];
            part.copy_from_slice(chunk);
            for (mechanism, (own, now)) in self.cell.mechanisms().iter().zip(&mut streams) {
                mechanism.read_noise(part, &stress, own, now);
            }
            if let Some((blocked, draws)) = &mut strings {
                let luck = &mut luck[..part.len()];
                draws.uniform(luck);
                for (v, luck) in part.iter_mut().zip(luck) {
                    if luck < blocked {
                        *v = f32::INFINITY;
                    }
                }
            }
            each(c, part);
        }
        Ok(())
    }

    /// Share of the strings of a row that are blocked under its stress, and the draws that tell
    /// which: one for each bitline, as a blocked string blocks all of its wordlines.
    fn strings(&self, index: usize, stress: &Stress) -> (f32, Draws) {
        let blocked = Condition::new(&self.cell, stress).blocked() as f32;
        let name = format!("cells/{}/strings/{}", self.number, index % self.parities);
        (blocked, Draws::stream(self.seed, &name))
    }

    fn took(&self, references: usize) -> Sensed {
        Sensed { references: references as u32, time: self.cell.sense_time(references) }
    }
}

#[cfg(test)]
mod tests;
