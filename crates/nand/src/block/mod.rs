//! Blocks of real cells: every threshold voltage kept, and the order of pages on wordlines.
//!
//! In: the data of pages, and a [`Cell`](crate::cell::Cell) whose mechanisms move voltages. Out:
//! the data of a read at any reference. `cells` is a whole block, `slice` the cells of one codeword
//! in a page, `wordline` the layout of pages on wordlines. Both kinds of cells spend their time on
//! random deviates (`draw`) and the packing of bits (`bits`). `reads` counts what disturbs them.

mod bits;
pub mod cells;
pub mod draw;
mod reads;
pub mod slice;
pub mod wordline;
