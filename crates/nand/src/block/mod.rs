//! Blocks of real cells: every threshold voltage kept, and the order of pages on wordlines.
//!
//! In: the data of pages, and a [`Cell`](crate::cell::Cell) whose mechanisms move voltages. Out:
//! what a read at any reference gives back. `cells` is a whole block, `slice` as many cells of one
//! page as a codeword needs, `wordline` which page lies where. Random deviates (`draw`) and the
//! packing of bits (`bits`) are what both spend their time on.

mod bits;
pub mod cells;
pub mod draw;
pub mod slice;
pub mod wordline;
