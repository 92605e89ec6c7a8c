//! A single cell for Python: its levels, its reads, and its optimal references.

use crate::refuse;
use base::{Error, params};
use nand::cell::{self, CellConfig, Stress};
use nand::chip::{Content, ContentConfig};
use nand::sense::{Condition, Worn};
use nand::wordline::PageOrder;
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use std::rc::Rc;
use std::sync::Arc;

/// Column of numbers for Python.
type Column<'py> = Bound<'py, PyArray1<f64>>;

/// State of a cell: P/E cycles, hours at the reference temperature, reads, programs on top.
type State = (u32, f64, u64, u32);

/// Finds the page order called `name`.
fn page_order(name: &str) -> PyResult<PageOrder> {
    serde_json::from_value(name.into()).map_err(|_| {
        let names = ["even_odd", "all_bitline", "one_shot"];
        refuse(Error::unknown("cell", "page_order", name, names))
    })
}

/// A checked cell. Levels count from the erased one, page types from the lower page.
#[pyclass(frozen)]
pub struct Cell {
    cell: Arc<cell::Cell>,
    mechanisms: Vec<String>,
}

impl Cell {
    /// Shared cell, for objects that are built on it.
    pub fn shared(&self) -> Arc<cell::Cell> {
        self.cell.clone()
    }

    fn page(&self, page_type: usize) -> PyResult<usize> {
        let bits = self.cell.levels.gray.cell_bits() as usize;
        if page_type < bits {
            return Ok(page_type);
        }
        let error = Error::new("cell", format!("page_type = {page_type}: out of range"));
        Err(refuse(error.expected(format!("0 to {}", bits - 1))))
    }
}

fn stress((pe_cycles, hours, reads, reprograms): State) -> Stress {
    Stress { pe_cycles, hours, reads, reprograms }
}

#[pymethods]
impl Cell {
    /// Reads the TOML `text` of a cell, which `place` names in errors, with assignments `sets`.
    #[new]
    fn new(
        text: &str,
        place: &str,
        sets: Vec<String>,
        cell_bits: u32,
        order: &str,
    ) -> PyResult<Self> {
        let order = page_order(order)?;
        let within = |mut error: Error| {
            error.place = format!("{place}: {}", error.place);
            refuse(error)
        };
        let mut table = params::parse(text, place).map_err(refuse)?;
        for set in &sets {
            params::merge(&mut table, params::assignment(set).map_err(refuse)?);
        }
        for fact in ["summary", "cite"] {
            table.remove(fact);
        }
        let config: CellConfig = params::read(&table, "cell").map_err(within)?;
        let mechanisms = config.mechanisms.keys().cloned().collect();
        let cell = cell::Cell::new(&config, cell_bits, order).map_err(within)?;
        Ok(Self { cell: Arc::new(cell), mechanisms })
    }

    /// Name of the Gray map.
    fn gray(&self) -> &'static str {
        self.cell.levels.gray.name
    }

    /// Names of the mechanisms that are on.
    fn mechanisms(&self) -> Vec<String> {
        self.mechanisms.clone()
    }

    /// Bits of each level: bit `p` is that of page type `p`.
    fn words(&self) -> Vec<u32> {
        let levels = &self.cell.levels;
        (0..levels.count()).map(|level| levels.gray.word(level).into()).collect()
    }

    /// Read references in V, rising: number `r` lies between the levels `r` and `r + 1`.
    fn read_v(&self) -> Vec<f64> {
        self.cell.levels.read_v.clone()
    }

    /// Read references of a page type in V, rising.
    fn references_v(&self, page_type: usize) -> PyResult<Vec<f64>> {
        Ok(self.cell.references_v(self.page(page_type)?).to_vec())
    }

    /// Hours at the reference temperature that age a cell like `hours` at `celsius`.
    fn equivalent_hours(&self, hours: f64, celsius: f64) -> f64 {
        self.cell.equivalent_hours(hours, celsius)
    }

    /// Reads at the reference temperature that disturb a cell like `reads` at `celsius`.
    fn equivalent_reads(&self, reads: f64, celsius: f64) -> f64 {
        self.cell.equivalent_reads(reads, celsius)
    }

    /// Wear of a cycle with a rest of `hours` at the reference temperature after it, as a multiple
    /// of that without a rest.
    fn wear_of_rest(&self, hours: f64) -> f64 {
        self.cell.wear_of_rest(hours)
    }

    /// Whether the cell recovers from wear in a rest between cycles.
    fn recovers(&self) -> bool {
        self.cell.recovers()
    }

    /// Mean and standard deviation of each level in V.
    fn moments_v(&self, py: Python<'_>, state: State) -> Vec<(f64, f64)> {
        let (cell, stress) = (self.cell.clone(), stress(state));
        py.detach(move || {
            (0..cell.levels.count()).map(|level| cell.moments_v(level, &stress)).collect()
        })
    }

    /// Shares of a level's cells above and below each voltage.
    fn sides<'py>(
        &self,
        py: Python<'py>,
        state: State,
        voltages_v: PyReadonlyArray1<'py, f64>,
    ) -> (Column<'py>, Column<'py>) {
        let (cell, stress) = (self.cell.clone(), stress(state));
        let voltages: Vec<f64> = voltages_v.as_array().iter().copied().collect();
        // Rows by level: Python sees one array of levels x voltages.
        let (above, below) = py.detach(move || {
            let condition = Condition::new(&cell, &stress);
            let (levels, count) = (cell.levels.count(), voltages.len());
            let mut above = vec![0.0; levels * count];
            let mut below = above.clone();
            for (i, &v) in voltages.iter().enumerate() {
                for (level, sides) in condition.sides(v).into_iter().enumerate() {
                    above[level * count + i] = sides.above;
                    below[level * count + i] = sides.below;
                }
            }
            (above, below)
        });
        (above.into_pyarray(py), below.into_pyarray(py))
    }

    /// Bit error rate of a page type in each state.
    fn rber<'py>(
        &self,
        py: Python<'py>,
        page_type: usize,
        shifts_v: Vec<f64>,
        states: Vec<State>,
    ) -> PyResult<Column<'py>> {
        let page_type = self.page(page_type)?;
        let cell = self.cell.clone();
        let rates: Vec<f64> = py.detach(move || {
            let rber = |state| cell.rber(page_type, &shifts_v, &stress(state));
            states.into_iter().map(rber).collect()
        });
        Ok(rates.into_pyarray(py))
    }

    /// Bit error rates of all page types in each state, read with the references moved by each
    /// shift of a retry table, of which the lowest reference moves by the share `lowest`: an array
    /// of states x shifts x page types, row by row.
    fn rber_by_shift<'py>(
        &self,
        py: Python<'py>,
        states: Vec<State>,
        shifts_v: Vec<f32>,
        lowest: f32,
    ) -> Column<'py> {
        let cell = self.cell.clone();
        let rates = py.detach(move || {
            let gray = cell.levels.gray;
            let bits = gray.cell_bits() as usize;
            let mut rates = Vec::with_capacity(states.len() * shifts_v.len() * bits);
            // Levels of one wear serve data of all ages.
            let mut worn: Option<(u32, Rc<Worn>)> = None;
            for state in states {
                let stress = stress(state);
                let levels = match &worn {
                    Some((pe_cycles, levels)) if *pe_cycles == stress.pe_cycles => levels.clone(),
                    _ => Worn::new(&cell, &cell.laws(&stress), &stress),
                };
                let condition = Condition::of_worn(&cell, &levels, &stress);
                worn = Some((stress.pe_cycles, levels));
                for &shift_v in &shifts_v {
                    for page_type in 0..bits {
                        let own = gray.shifts_v(page_type, shift_v, lowest).map(f64::from);
                        let moved = &own[..cell.references_v(page_type).len()];
                        rates.push(condition.rber(page_type, moved).min(0.5));
                    }
                }
            }
            rates
        });
        rates.into_pyarray(py)
    }

    /// Standard deviation, over pages, of the logarithm of a page type's bit error rate.
    fn page_spread(&self, page_type: usize, shifts_v: Vec<f64>, state: State) -> PyResult<f64> {
        let page_type = self.page(page_type)?;
        Ok(self.cell.page_spread(page_type, &shifts_v, &stress(state)))
    }

    /// Shifts of the references of a page type at which its error rate is lowest, in V.
    fn best_shifts_v(&self, page_type: usize, state: State) -> PyResult<Vec<f64>> {
        let page_type = self.page(page_type)?;
        Ok(Condition::new(&self.cell, &stress(state)).best_shifts_v(page_type))
    }

    /// Offsets around each reference of a page type, `count` of them, that keep the most
    /// information.
    fn best_offsets_v(
        &self,
        py: Python<'_>,
        page_type: usize,
        shifts_v: Vec<f64>,
        count: usize,
        state: State,
    ) -> PyResult<Vec<f64>> {
        let page_type = self.page(page_type)?;
        let (cell, stress) = (self.cell.clone(), stress(state));
        Ok(py.detach(move || {
            Condition::new(&cell, &stress).best_offsets_v(page_type, &shifts_v, count)
        }))
    }

    /// Soft read of a page type. Returns shares of zeros and ones, and the log-likelihood ratio, of
    /// each region from the lowest; and the mutual information of bit and region, in bits.
    #[allow(clippy::type_complexity)]
    fn soft(
        &self,
        page_type: usize,
        shifts_v: Vec<f64>,
        offsets_v: Vec<f64>,
        state: State,
    ) -> PyResult<(Vec<[f64; 2]>, Vec<f64>, f64)> {
        let page_type = self.page(page_type)?;
        let condition = Condition::new(&self.cell, &stress(state));
        let soft = condition.soft(page_type, &shifts_v, &offsets_v);
        let (llr, information) = (soft.llr(), soft.information());
        Ok((soft.shares, llr, information))
    }

    /// Operation times in us after `pe_cycles` cycles: reads and programs by page type, and an
    /// erase.
    fn times_us(&self, pe_cycles: u32) -> (Vec<f64>, Vec<f64>, f64) {
        let times = self.cell.times(pe_cycles);
        (times.read_us, times.program_us, times.erase_us)
    }

    /// Times of cells with this content: programs by page type and an erase of fresh cells; and the
    /// wear of a cycle relative to random data. A kind is its share and its shares of levels.
    fn content(
        &self,
        kinds: Vec<(f64, Vec<f64>)>,
        page_bytes: u32,
    ) -> PyResult<(Vec<f64>, f64, f64)> {
        let kind = |(share, level_shares)| ContentConfig { share, level_shares };
        let kinds: Vec<ContentConfig> = kinds.into_iter().map(kind).collect();
        let content = Content::new(&kinds, page_bytes, &self.cell).map_err(refuse)?;
        let times = content.times(&self.cell, 0);
        Ok((times.program_us, times.erase_us, content.wear(&self.cell)))
    }
}
