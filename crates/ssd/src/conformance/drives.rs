//! Small drives for storms, in the shapes that FTLs must work in.

/// Assignments of small drives that differ: shapes of programs, policies of the buffer and of
/// collection, bad blocks, failures.
pub(super) const SHAPES: [&[&str]; 6] = [
    &["ftl.overprovisioning=0.9"],
    &["ftl.overprovisioning=0.9", "chip.features.multi_plane_program=false", "buffer.bytes=0"],
    &[
        "ftl.overprovisioning=0.9",
        "chip.page_order=one_shot",
        "chip.geometry.pages_per_block=36",
        "scheduler.name=in_order",
    ],
    &["ftl.overprovisioning=1.5", "chip.geometry.bad_block_fraction=0.05", "ftl.unit_bytes=512"],
    &["ftl.overprovisioning=0.9", "gc.background_free_blocks=6", "ftl.gc_reserve_blocks=2"],
    &["ftl.overprovisioning=1.5", "chip.fault.program_failure_chance=0.0005", "gc.paced=false"],
];
