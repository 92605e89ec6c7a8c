//! Integration tests of the shipped cells: one binary, so that the crate is linked once.

mod cell_presets;
