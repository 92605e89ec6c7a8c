//! Features of a drive that exclude others: the name of each, its key, and how it is seen.

use super::Seen;
use crate::ftl::{FOR_HOOKS, Ftl};
use crate::space::free_blocks::Reuse;
use crate::space::gc::Copyback;
use nand::chip::ChipConfig;
use toml::Value;

/// Declares the features: each with its name, the key that turns it on, and whether a drive is seen
/// to have it.
macro_rules! features {
    ($($feature:ident: $name:literal, $key:literal, $is_on:expr;)*) => {
        /// Feature of a drive, or an action on it, that excludes another one.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Feature {
            $(#[doc = $name] $feature,)*
        }

        impl Feature {
            /// All features of drives, and the actions on them.
            pub const ALL: &[Self] = &[$(Self::$feature),*];

            /// Name in messages and in the docs.
            pub fn name(self) -> &'static str {
                match self { $(Self::$feature => $name,)* }
            }

            /// Key of a drive file, or name of an option, that turns the feature on.
            pub fn key(self) -> &'static str {
                match self { $(Self::$feature => $key,)* }
            }

            /// Whether a drive is seen to have the feature. What needs a part that is not built yet
            /// is not seen; nor is an action.
            pub(super) fn is_on(self, seen: &Seen<'_>) -> bool {
                let is_on: fn(&Seen<'_>) -> bool = match self { $(Self::$feature => $is_on,)* };
                is_on(seen)
            }
        }
    };
}

features! {
    // The drive, its buffer and its upkeep.
    SeveralKinds: "several kinds of chips", "chips",
        |seen| !seen.config.chips.is_empty();
    SingleLevel: "a drive in single-level mode", "drive.single_level",
        |seen| seen.config.drive.single_level;
    RefreshOfReduced: "refresh of reduced levels by age", "refresh.reduced_after_hours",
        |seen| seen.config.refresh.reduced_after_hours > 0.0;
    NoBuffer: "no write buffer", "buffer.bytes",
        |seen| seen.config.buffer.bytes == 0;
    LyingFlushes: "flushes that lie", "buffer.lies_about_flush",
        |seen| seen.config.buffer.lies_about_flush;
    StaleData: "stale data that take room", "buffer.coalesces",
        |seen| !seen.config.buffer.coalesces;
    RefreshByAge: "refresh by age", "refresh.after_hours",
        |seen| seen.config.refresh.after_hours > 0.0;
    RefreshByErrors: "refresh by errors", "refresh.rber",
        |seen| seen.config.refresh.rber > 0.0;
    Parity: "parity over dies", "parity.pages",
        |seen| seen.config.parity.pages > 0;
    ReadAround: "reads around busy dies", "parity.read_around",
        |seen| !seen.config.parity.read_around.is_never();
    WrittenStripes: "partial stripes that are written early", "parity.partial",
        |seen| seen.config.parity.partial.is_written();
    Rotation: "collection of one die at a time", "gc.rotation",
        |seen| !seen.config.gc.common.rotation.is_off();
    Patrol: "patrol reads", "refresh.patrol_hours",
        |seen| seen.config.refresh.patrol_hours > 0.0;
    Temperature: "a temperature of the drive", "age.temperature_c",
        |seen| seen.config.age.temperature_c.is_some();
    Heat: "heat of the drive", "power.thermal",
        |seen| seen.config.power.as_ref().is_some_and(|power| power.thermal.is_some());
    Recovery: "recovery after a power cut", "recovery.name",
        |seen| can_recover(seen);
    NoRecovery: "a drive that does not recover", "recovery.name",
        |seen| !can_recover(seen);
    ShiftedReads: "retries at shifted references", "retry.shifts_v",
        |seen| has_shifts(seen);
    Copyback: "copyback", "gc.copyback",
        |seen| copyback(seen) != Copyback::Off;
    CheckedCopyback: "copyback with a check", "gc.copyback",
        |seen| copyback(seen) == Copyback::Checked;

    Windows: "windows of predictable latency", "windows",
        |seen| !seen.config.schedules().is_empty();
    WindowsOfSets: "windows of sets of dies", "namespace.windows",
        |seen| !seen.config.sets_of_windows().is_empty();
    IdleDelay: "a rest before background collection", "gc.background_after_us",
        |seen| seen.config.gc.common.background_after_us > 0.0;
    SharedDies: "namespaces that share dies", "namespace",
        |seen| seen.config.namespace.iter().any(|namespace| namespace.dies.is_none())
            // The FTL is that of dies, not that of sets beside each other.
            && seen.ftl.is_none_or(|ftl| ftl.facts().sets.is_empty());
    DieSets: "dies of a namespace's own", "namespace.dies",
        |seen| !seen.config.sets().is_empty();
    ReuseOrder: "an order of free blocks", "gc.reuse",
        |seen| seen.config.gc.common.reuse != Reuse::LeastWorn;

    // Chips and codes.
    NoCopyback: "chips without copyback", "chip.features.copyback",
        |seen| any_chip(seen, |chip| !chip.features.copyback);
    NoReducedLevels: "chips without reduced levels", "chip.reduced",
        |seen| any_chip(seen, |chip| chip.reduced.is_none());
    OneBit: "cells of one bit", "chip.cell_bits",
        |seen| any_chip(seen, |chip| chip.cell_bits == 1);
    OneShot: "all pages of a cell in one program", "chip.page_order",
        |seen| pages_per_program(seen) > 1;
    PageByPage: "each page of a cell in a program of its own", "chip.page_order",
        |seen| pages_per_program(seen) == 1;
    NoReferences: "errors without references", "chip.array.name",
        |seen| seen.chips.is_some_and(|chips| chips.ignores_references());
    OneTemperature: "errors at one temperature", "chip.array.name",
        |seen| has_one_temperature(seen);
    CodeStages: "codes by age", "ecc.stages",
        |seen| seen.config.ecc.contains_key("stages");
    IdealDecoder: "a decoder that finds no errors", "ecc.model",
        |seen| is_blind(seen);
    RealCells: "real cells under a decoder", "ecc.model",
        |seen| seen.codes.iter().any(|code| code.model.medium_bits().is_some())
            && seen.chips.is_some_and(|chips| chips.kinds().any(|kind| kind.cell().is_some()));
    WordsByRate: "a decoder that knows rates alone", "ecc.model",
        |seen| seen.codes.first().is_some_and(|code| {
            code.common.named.is_none() || code.model.medium_bits().is_none()
        });

    // Parameters of FTLs.
    HostStreams: "several streams of the host", "ftl.host_streams",
        |seen| number(seen, "host_streams").is_some_and(|streams| streams > 1);
    ReducedStreams: "streams at reduced levels", "ftl.reduced_streams",
        |seen| has_reduced_streams(seen);
    FullLevels: "no streams at reduced levels", "ftl.reduced_streams",
        |seen| !has_reduced_streams(seen);
    ReclaimGroups: "several reclaim groups", "ftl.reclaim_groups",
        |seen| number(seen, "reclaim_groups").is_some_and(|groups| groups > 1);
    HandleQuotas: "quotas of handles", "ftl.handle_quota",
        |seen| has_quotas(seen);
    KeptHandles: "persistently isolated streams", "ftl.isolation",
        |seen| text(seen, "isolation") == Some("persistent");
    FastPages: "fast pages for urgent data", "ftl.fast_pages",
        |seen| flag(seen, "fast_pages") == Some(true);
    SkippedPages: "slow pages left empty", "ftl.skip_slow_pages",
        |seen| flag(seen, "skip_slow_pages") == Some(true);
    Superblocks: "superblocks of several dies", "ftl.superblock_dies",
        |seen| has_superblocks(seen);
    SingleDies: "data without superblocks of several dies", "ftl.superblock_dies",
        |seen| !has_superblocks(seen);
    SharedBlocks: "moved data in the blocks of the host", "ftl.separate_gc_stream",
        |seen| flag(seen, "separate_gc_stream") == Some(false);
    ForesightCache: "a map cache that writes in batches", "ftl.map_cache_policy",
        |seen| text(seen, "map_cache_policy") == Some("tpftl")
            && number(seen, "map_cache_bytes").is_some();
    SingleEntries: "a map written entry by entry", "ftl.map_batch",
        |seen| flag(seen, "map_batch") == Some(false);
    SafePageCode: "a write-once code on safe pages", "ftl.code",
        |seen| text(seen, "code") == Some("rivest_shamir");
    LevelCode: "a write-once code on levels", "ftl.code",
        |seen| text(seen, "code") == Some("wom_v");
    SingleLevelCache: "a cache of blocks in single-level mode", "ftl.name",
        |seen| text(seen, "when_full").is_some();
    Hooks: "hooks of a user", "ftl",
        |seen| seen.config.own_ftl.as_ref().is_some_and(|own| own.is_page);
    MoveStreams: "hooks with several streams of moved data", "ftl",
        |seen| seen.move_streams > 1;

    // What an FTL has not.
    NotHooked: "an FTL without hooks", "ftl.name",
        |seen| seen.config.own_ftl.is_none() && seen.config.ftl.name != FOR_HOOKS;
    NoCodeStages: "an FTL whose blocks keep their code", "ftl.name",
        |seen| seen.config.ftl.name != "page" || seen.config.own_ftl.is_some();
    OneKind: "an FTL for one kind of chips", "ftl.name",
        |seen| lacks(seen, |ftl| ftl.facts().knows_kinds);
    NoReuseOrder: "an FTL that chooses free blocks by its own rule", "ftl.name",
        |seen| lacks(seen, |ftl| ftl.facts().has_reuse);
    NoHoles: "an FTL that places no stale data", "ftl.name",
        |seen| lacks(seen, |ftl| ftl.facts().takes_holes);
    SingleUnits: "programs of one unit", "ftl.unit_bytes",
        |seen| lacks(seen, |ftl| ftl.facts().row_units > 1);
    NoCopies: "an FTL that moves data from plane to plane", "ftl.name",
        |seen| lacks(seen, |ftl| ftl.copy_back().is_some());
    NoRest: "an FTL whose work the host waits for", "ftl.name",
        |seen| lacks(seen, |ftl| ftl.facts().jobs_can_wait);
    NoRelocation: "an FTL that empties no block on demand", "ftl.name",
        |seen| lacks(seen, |ftl| ftl.relocation().is_some());
    NoRebuild: "an FTL that cannot be rebuilt", "ftl.name",
        |seen| lacks(seen, |ftl| ftl.recovery().is_some());
    NoParity: "data without parity", "parity.pages",
        |seen| lacks(seen, |ftl| ftl.parity().is_some());
    NoWithdrawal: "an FTL that empties no die", "ftl.name",
        |seen| lacks(seen, |ftl| ftl.withdrawal().is_some());
    OwnWear: "an FTL that counts cycles itself", "ftl.name",
        |seen| lacks(seen, |ftl| ftl.block_service().is_some());
    CodedPages: "pages with a write-once code", "ftl.name",
        |seen| !lacks(seen, |ftl| ftl.facts().coded_pages.is_some()) && seen.ftl.is_some();
    Zones: "zones", "ftl.name",
        |seen| !lacks(seen, |ftl| ftl.zones().is_some()) && seen.ftl.is_some();

    // Actions.
    Exchange: "exchange of a die", "exchange", |_| false;
    DieFailure: "the failure of a die", "fail_die", |_| false;
    PowerCut: "a power cut", "cut_at", |_| false;
    Life: "a whole life", "life", |_| false;
    Leaps: "an accelerated life", "accelerate", |_| false;
    Served: "a drive that is served over NBD", "serve", |_| false;
    StoredWords: "bytes that are really encoded", "integrity", |_| false;
}

fn has_superblocks(seen: &Seen<'_>) -> bool {
    match number(seen, "superblock_dies") {
        // All dies of a reclaim group.
        Some(0) => {
            let dies = seen.config.drive.channels * seen.config.drive.dies_per_channel;
            i64::from(dies) / number(seen, "reclaim_groups").unwrap_or(1).max(1) > 1
        }
        dies => dies.is_some_and(|dies| dies > 1),
    }
}

fn can_recover(seen: &Seen<'_>) -> bool {
    seen.config.recovery_policy().is_ok_and(|recovery| recovery.can_recover())
}

fn has_shifts(seen: &Seen<'_>) -> bool {
    let Some(retry) = seen.retry else { return false };
    let mut rounds = (0..=u8::MAX).map_while(|attempt| retry.after_failure(attempt));
    rounds.any(|round| round.level == 0 && round.shift_v != 0.0)
}

fn copyback(seen: &Seen<'_>) -> Copyback {
    seen.config.gc.common.copyback
}

fn any_chip(seen: &Seen<'_>, is_such: impl Fn(&ChipConfig) -> bool) -> bool {
    seen.config.kinds().into_iter().any(|(_, chip)| is_such(chip))
}

/// Pages of a cell that one program takes, in the first kind of chips.
fn pages_per_program(seen: &Seen<'_>) -> u32 {
    let chip = &seen.config.chip;
    match seen.config.drive.single_level {
        true => 1,
        false => chip.page_order.pages_per_program(chip.cell_bits),
    }
}

/// Whether the chips have no errors for the temperature that is given, or for any other than that
/// of their rates.
fn has_one_temperature(seen: &Seen<'_>) -> bool {
    let celsius = seen.config.age.temperature_c.unwrap_or(f64::NAN);
    seen.chips.is_some_and(|chips| !chips.can_be_at(celsius))
}

fn is_blind(seen: &Seen<'_>) -> bool {
    seen.chips.is_some_and(|chips| chips.errs())
        && seen.codes.first().is_some_and(|code| code.model.is_ideal())
}

/// Whether the FTL is built and has not what is asked for.
fn lacks(seen: &Seen<'_>, has: impl Fn(&dyn Ftl) -> bool) -> bool {
    seen.ftl.is_some_and(|ftl| !has(ftl))
}

fn has_reduced_streams(seen: &Seen<'_>) -> bool {
    let streams = seen.config.ftl.params.get("reduced_streams");
    streams.and_then(Value::as_array).is_some_and(|streams| !streams.is_empty())
}

fn has_quotas(seen: &Seen<'_>) -> bool {
    let quotas = seen.config.ftl.params.get("handle_quota");
    quotas.and_then(Value::as_array).is_some_and(|quotas| !quotas.is_empty())
}

fn number(seen: &Seen<'_>, key: &str) -> Option<i64> {
    seen.config.ftl.params.get(key).and_then(Value::as_integer)
}

fn flag(seen: &Seen<'_>, key: &str) -> Option<bool> {
    seen.config.ftl.params.get(key).and_then(Value::as_bool)
}

fn text<'a>(seen: &Seen<'a>, key: &str) -> Option<&'a str> {
    seen.config.ftl.params.get(key).and_then(Value::as_str)
}
