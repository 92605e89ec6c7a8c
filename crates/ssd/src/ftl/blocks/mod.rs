//! Virtual blocks: physical blocks of several planes that are mapped, written and erased as one.
//!
//! FTLs with a coarse map are built of them. `layout` places a logical block's units on the planes
//! of a virtual block; `pool` has the physical blocks, free and in use, worn and doomed; `places`
//! maps units that may be anywhere in a virtual block; `demand` counts who waits for a virtual
//! block, and `task` is the work of a job. `found` finds virtual blocks again after a power cut.

pub mod demand;
pub mod found;
pub mod layout;
pub mod places;
pub mod pool;
pub mod task;
