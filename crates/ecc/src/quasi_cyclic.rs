//! Quasi-cyclic parity checks: a matrix of circulants, each a shifted identity or nothing.
//!
//! Fossorier, IEEE Trans. Inf. Theory 50 (2004). Check r of block row R and bit c of block column C
//! meet where an entry (R, C, s) has c = (r + s) mod z.

/// One shifted identity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Circulant {
    /// Block column.
    pub column: u16,
    /// Check r meets bit (r + shift) mod z of the block.
    pub shift: u16,
}

/// The parity checks of a quasi-cyclic code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuasiCyclic {
    /// Size of a circulant.
    z: usize,
    /// Block columns.
    columns: usize,
    /// The circulants of each block row, by rising column.
    rows: Vec<Vec<Circulant>>,
}

impl QuasiCyclic {
    /// From the circulants of each block row. Callers promise z > 0, columns and shifts in range,
    /// columns rising.
    pub fn new(z: usize, columns: usize, rows: Vec<Vec<Circulant>>) -> Self {
        for row in &rows {
            assert!(row.windows(2).all(|pair| pair[0].column < pair[1].column));
            assert!(row.iter().all(|c| usize::from(c.column) < columns));
            assert!(row.iter().all(|c| usize::from(c.shift) < z));
        }
        Self { z, columns, rows }
    }

    /// Size of a circulant.
    pub fn z(&self) -> usize {
        self.z
    }

    /// Block columns; the code has z times as many bits.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// The circulants of each block row.
    pub fn rows(&self) -> &[Vec<Circulant>] {
        &self.rows
    }

    /// Bits of a codeword.
    pub fn length(&self) -> usize {
        self.z * self.columns
    }
}
