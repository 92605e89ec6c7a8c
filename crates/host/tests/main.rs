//! Integration tests of drives under their hosts: one binary, so that the crate is linked once.

mod blame;
mod closed_forms;
mod dram;
mod drawn_drives;
mod drives;
mod error_correction;
mod extremes;
mod found;
mod lifetime;
mod lockstep;
mod nbd_sessions;
mod nvm_sets;
mod nvme;
mod pace;
mod placement;
mod power;
mod real_cells;
mod real_traces;
mod replays;
mod replicates;
mod running;
mod settling;
mod tenants;
mod zones;

use base::allocations::Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;
