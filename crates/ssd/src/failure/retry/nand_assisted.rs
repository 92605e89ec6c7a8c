//! `nand_assisted`: soft reads whose two reads the chip combines before one transfer (Zuolo 2016,
//! Fig. 3 and 5b).
//!
//! The chip reads the page twice and sends the XOR of both. The place where it combines them
//! (`chip.features.combined_read`) decides what the die can do in the meantime.

use super::soft_decision::{SoftParams, checked};
use super::{Build, Reread, Retry};
use base::family::{Member, schema};
use base::params;

pub const MEMBER: Member<Build> = Member {
    name: "nand_assisted",
    summary: "soft reads of two sensings each, combined in the chip and sent in one transfer",
    citation: "zuolo2016",
    schema: schema::<SoftParams>,
    check: checked,
    build: |table| Ok(Box::new(NandAssisted(params::read(table, "retry")?))),
};

struct NandAssisted(SoftParams);

impl Retry for NandAssisted {
    fn after_failure(&self, attempt: u8) -> Option<Reread> {
        (attempt < self.0.max_levels).then(|| Reread::combined(attempt + 1))
    }

    fn soft_levels(&self) -> u8 {
        self.0.max_levels
    }

    fn in_turn(&self) -> bool {
        self.0.in_turn
    }

    fn retire_after(&self) -> u32 {
        self.0.retire_after
    }
}
