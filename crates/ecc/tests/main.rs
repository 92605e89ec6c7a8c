//! Integration tests of codes and decoders: one binary, so that the crate is linked once.

mod broken_files;
mod decoders;
mod promises;
mod shipped_codes;

use base::allocations::Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;
