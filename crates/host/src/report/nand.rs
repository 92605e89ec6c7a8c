//! Key `nand`: flash operations, energy and wear.

use super::ByCaller;
use crate::session::Session;
use nand::energy::EnergyUse;
use nand::wordline::{PageOrder, page_type_name};
use schemars::JsonSchema;
use serde::Serialize;
use ssd::conflicts::Feature;
use ssd::drive::CodeCounts;
use ssd::drive::activity::Activity;
use ssd::failure::refresh::PatrolCounts;
use ssd::flash::{FlashCounts, KindCounts};
use ssd::ftl::contract::Wear;
use std::collections::BTreeMap;

/// Flash operations of a run, the report's `nand`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Nand {
    /// Counts of flash operations.
    #[serde(flatten)]
    pub counts: FlashCounts,
    /// Blocks that were taken to be rewritten by refresh; see `refresh`.
    pub refreshed_blocks: u64,
    /// Counts of patrol reads.
    #[serde(flatten)]
    pub patrol: PatrolCounts,
    /// Energy of all flash.
    pub energy_uj: f64,
    /// Energy of all flash by operation.
    pub energy: EnergyUse,
    /// Highest power of flash and decoders over 10 ms or a little more; `null` for a run that is
    /// shorter.
    #[serde(skip_serializing_if = "ByCaller::is_left_out")]
    pub peak_power_w: ByCaller<Option<f64>>,
    /// Program/erase cycles of the good blocks at the end.
    pub pe_cycles: Wear,
    /// Pages programmed at reduced levels (`ftl.reduced_streams`); they are among `programs`.
    /// `null` of a drive without such streams.
    pub reduced_programs: Option<u64>,
    /// Pages programmed at reduced levels, as a share of `programs`; `null` without either.
    pub reduced_share: Option<f64>,
    /// Mean time of a program command by page type (`page`; `lower`, `middle`, `upper`, `top`;
    /// `wordline` where programmed in one shot; `single_level` of blocks in that mode; with
    /// `reduced_` before them of blocks at reduced levels); multi-plane commands count once; with
    /// several kinds of chips that of the first.
    pub program_us: BTreeMap<&'static str, f64>,
    /// Work of each kind of chips by its name (`chip`, and the names of `chips`), of a drive with
    /// several kinds; else `null`.
    pub kinds: Option<BTreeMap<String, Kind>>,
}

/// Work of the dies of one kind of chips.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Kind {
    /// Bytes of flash of the kind.
    pub flash_bytes: u64,
    /// Counts of the kind.
    #[serde(flatten)]
    pub counts: KindCounts,
    /// Energy of the kind's dies.
    pub energy_uj: f64,
    /// Energy of the kind's dies by operation.
    pub energy: EnergyUse,
    /// Program/erase cycles of the kind's good blocks at the end.
    pub pe_cycles: Wear,
    /// Mean time of a program command by page type.
    pub program_us: BTreeMap<&'static str, f64>,
    /// Codewords of the kind.
    pub ecc: CodeCounts,
}

impl Session {
    pub(super) fn nand(&self, activity: &Activity) -> Nand {
        let (counts, refresh) = (&activity.counted.flash, activity.counted.controller.refresh);
        let energy = activity.all_energy();
        let is_reduced = self.run.ssd.features().has(Feature::ReducedStreams);
        let reduced_programs = is_reduced.then_some(counts.reduced_programs);
        let share = |pages| pages as f64 / counts.programs as f64;
        Nand {
            counts: counts.clone(),
            refreshed_blocks: refresh.blocks.all(),
            patrol: refresh.patrol,
            energy_uj: energy.total_uj(),
            energy,
            peak_power_w: ByCaller::LEFT_OUT,
            pe_cycles: self.run.ssd.wear(),
            reduced_programs,
            reduced_share: reduced_programs.filter(|_| counts.programs > 0).map(share),
            program_us: self.program_us(counts, 0),
            kinds: self.kinds(activity),
        }
    }

    /// Mean program times of one kind of chips, by type of page.
    fn program_us(&self, counts: &FlashCounts, number: usize) -> BTreeMap<&'static str, f64> {
        let (_, chip) = self.loaded.config.kinds()[number];
        let (bits, one_shot) = (chip.cell_bits, chip.page_order == PageOrder::OneShot);
        let times = counts.of_kind[number].program_time.iter().enumerate();
        let made = times.filter(|&(_, &(commands, _))| commands > 0);
        made.map(|(i, &(commands, time))| {
            // One-shot programs have wordlines only.
            let types = bits as usize;
            let name = match (bits, i) {
                (_, i) if i == types => "single_level",
                (1, 0) => "page",
                (1, _) => "reduced_page",
                (_, i) if one_shot => {
                    if i < types {
                        "wordline"
                    } else {
                        "reduced_wordline"
                    }
                }
                (_, i) if i > types => match page_type_name((i - types - 1) as u8, bits) {
                    "lower" => "reduced_lower",
                    "middle" => "reduced_middle",
                    "upper" => "reduced_upper",
                    _ => "reduced_top",
                },
                (_, i) => page_type_name(i as u8, bits),
            };
            (name, time.us() / commands as f64)
        })
        .collect()
    }

    /// Work of each kind of chips; `None` for a drive with one kind.
    fn kinds(&self, activity: &Activity) -> Option<BTreeMap<String, Kind>> {
        let (config, ssd) = (&self.loaded.config, &self.run.ssd);
        if config.chips.is_empty() {
            return None;
        }
        let names = std::iter::once("chip").chain(config.chips.keys().map(String::as_str));
        let bytes = config.flash_bytes_of_kinds();
        let of_kind = |(number, name): (usize, &str)| {
            let (flash, energy) = (&activity.counted.flash, activity.energy[number]);
            let kind = Kind {
                flash_bytes: bytes[number],
                counts: flash.of_kind[number].clone(),
                energy_uj: energy.total_uj(),
                energy,
                pe_cycles: ssd.wear_of_kind(number),
                program_us: self.program_us(flash, number),
                ecc: activity.codes[number],
            };
            (name.to_owned(), kind)
        };
        Some(names.enumerate().map(of_kind).collect())
    }
}
