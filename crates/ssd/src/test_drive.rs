//! The smallest drive, for tests of its parts: one die of one plane and one bus.

use crate::config::SsdConfig;
use base::params::{self, Table};

const LEAST: &str = "
    drive = { channels = 1, dies_per_channel = 1, queue_depth = 8 }
    ftl = { name = 'page', overprovisioning = 0.9, unit_bytes = 4096 }
    gc = { name = 'greedy' }
    scheduler = { name = 'out_of_order' }
    retry = { name = 'none' }
    ecc = { model = 'ideal', t_decode_us = 5 }
    [chip]
    cell_bits = 1
    rated_pe_cycles = 3000
    page_order = 'all_bitline'
    array = { name = 'ideal' }
    energy = { vcc_v = 1, icc_read_ma = 1, icc_program_ma = 1, icc_erase_ma = 1 }
    [chip.geometry]
    planes_per_die = 1
    blocks_per_plane = 16
    pages_per_block = 16
    page_bytes = 4096
    [chip.timing]
    t_read_us = 50
    t_program_us = 200
    t_erase_us = 1000
    bus_mt_s = 400
";

/// Parameters of the smallest drive with `sets` laid over them, not yet checked.
pub(crate) fn table(sets: &[&str]) -> Table {
    let mut table = params::parse(LEAST, "test").unwrap();
    for set in sets {
        params::merge(&mut table, params::assignment(set).unwrap());
    }
    table
}

/// Configuration of the smallest drive with `sets` laid over it, checked.
pub(crate) fn config(sets: &[&str]) -> SsdConfig {
    let config: SsdConfig = params::read(&table(sets), "").unwrap();
    config.complete().unwrap()
}
