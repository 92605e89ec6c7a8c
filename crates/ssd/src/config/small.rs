//! A small drive, which conformance runs and on which questions about members are answered.

use super::SsdConfig;
use base::Result;
use base::params;

/// Two channels of two dies, two planes each; odd sizes on purpose.
pub const SMALL: &str = r#"
seed = 1
[drive]
channels = 2
dies_per_channel = 2
queue_depth = 32
[controller]
command_us = 0.5
[host]
link_mb_s = 3200.0
link_latency_us = 0.25
[chip]
cell_bits = 2
rated_pe_cycles = 3000
page_order = "all_bitline"
array = { name = "ideal" }
[chip.geometry]
planes_per_die = 2
blocks_per_plane = 23
pages_per_block = 18
page_bytes = 8192
[chip.timing]
t_read_us = [40.0, 60.0]
t_program_us = [400.0, 1100.0]
t_erase_us = 3000.0
bus_mt_s = 400.0
t_command_us = 0.2
t_transfer_us = 0.1
[chip.energy]
vcc_v = 3.3
icc_read_ma = 25.0
icc_program_ma = 25.0
icc_erase_ma = 25.0
[ftl]
name = "page"
overprovisioning = 0.6
[gc]
name = "greedy"
[scheduler]
name = "out_of_order"
[retry]
name = "none"
[ecc]
model = "ideal"
t_decode_us = 3.0
[buffer]
bytes = 262144
latency_us = 1.0
"#;

/// The small drive with assignments laid over it.
pub fn small_config<S: AsRef<str>>(sets: &[S]) -> Result<SsdConfig> {
    let mut table = params::parse(SMALL, "small")?;
    for set in sets {
        params::merge(&mut table, params::assignment(set.as_ref())?);
    }
    params::read::<SsdConfig>(&table, "")?.complete()
}
