//! The table of conflicts. A drive is refused by its first row that holds, so rows that say more
//! stand above those that follow from them.

use super::Conflict;
use super::Feature::{self, *};

/// Features that exclude each other. Two features without a row go together.
pub const CONFLICTS: &[Conflict] = &[
    // Without any part of the drive.
    row(
        LyingFlushes,
        NoBuffer,
        "without a write buffer a drive keeps what it acknowledges",
        "set buffer.bytes, or buffer.lies_about_flush = false",
    ),
    row(
        SingleLevel,
        OneBit,
        "the cells hold one bit anyway",
        "use drive.single_level = false, or a chip.cell_bits of 2 or more",
    ),
    row(
        FastPages,
        SingleLevel,
        "the pages of one bit a cell are all alike",
        "use ftl.fast_pages = false",
    ),
    row(
        FastPages,
        OneBit,
        "a chip with one page in a cell has no slow ones",
        "use ftl.fast_pages = false, or a chip with more bits a cell",
    ),
    row(
        FastPages,
        OneShot,
        "the pages of a cell are programmed at once, and none of them is faster",
        "use ftl.fast_pages = false, or a chip.page_order that programs page by page",
    ),
    row(
        HostStreams,
        FastPages,
        "the two streams of the drive are those of urgent and of other data",
        "use ftl.host_streams = 1",
    ),
    row(
        ReducedStreams,
        NoReducedLevels,
        "the chip has one set of levels",
        "give the chip such levels (chip.reduced), or use ftl.reduced_streams = []",
    ),
    row(
        ReducedStreams,
        SingleLevel,
        "reduced levels are those of cells with all their bits",
        "use drive.single_level = false, or ftl.reduced_streams = []",
    ),
    row(
        ReducedStreams,
        FastPages,
        "the streams of the drive are those of urgent and of other data",
        "use ftl.fast_pages = false, or ftl.reduced_streams = []",
    ),
    row(
        ReducedStreams,
        SharedBlocks,
        "data that live longer than their block are moved to full levels",
        "use ftl.separate_gc_stream = true, or ftl.reduced_streams = []",
    ),
    row(
        RefreshOfReduced,
        FullLevels,
        "no data are at reduced levels",
        "set ftl.reduced_streams, or use refresh.reduced_after_hours = 0",
    ),
    row(Hooks, NotHooked, "hooks change the decisions of one FTL", "use the FTL that has them"),
    row(
        SkippedPages,
        Superblocks,
        "the stripes of a superblock have no holes",
        "use ftl.skip_slow_pages = false, or ftl.superblock_dies = 1",
    ),
    row(
        SkippedPages,
        Recovery,
        "a scan takes the first empty page of a block for its end",
        "use ftl.skip_slow_pages = false",
    ),
    row(FastPages, Hooks, "the hooks say which stream data go to", "use ftl.fast_pages = false"),
    row(
        SharedBlocks,
        MoveStreams,
        "each stream of moved data has blocks of its own",
        "use ftl.separate_gc_stream = true",
    ),
    row(
        Superblocks,
        MoveStreams,
        "units that wait for their stream keep their blocks, one by one",
        "use ftl.superblock_dies = 1",
    ),
    row(
        SingleEntries,
        ForesightCache,
        "this cache cleans all entries of a page together",
        "use ftl.map_batch = true, or another ftl.map_cache_policy",
    ),
    row(
        OneShot,
        SafePageCode,
        "one command programs all bits of a cell, so that no page is safe",
        "use a chip with one bit a cell or chip.page_order = \"even_odd\", or a code on levels",
    ),
    row(
        LevelCode,
        SingleLevel,
        "the code needs cells of several bits",
        "use drive.single_level = false",
    ),
    row(
        OneBit,
        LevelCode,
        "the code takes fewer bits than a cell has",
        "use a chip.cell_bits of 2 or more, or a code on safe pages",
    ),
    row(
        PageByPage,
        LevelCode,
        "the code programs all bits of a cell at once",
        "use chip.page_order = \"one_shot\", or a code on safe pages",
    ),
    row(
        SingleLevelCache,
        SingleLevel,
        "all blocks are in the mode of the cache",
        "use drive.single_level = false, or an FTL without a cache",
    ),
    row(
        OneBit,
        SingleLevelCache,
        "cells of one bit have no faster mode",
        "use a chip.cell_bits of 2 or more, or an FTL without a cache",
    ),
    row(
        Recovery,
        SeveralKinds,
        "a start-up scans chips of one kind",
        "use chips of one kind, or no recovery",
    ),
    row(
        Copyback,
        SeveralKinds,
        "moved data go to chips of another kind",
        "use gc.copyback = \"off\"",
    ),
    row(
        Copyback,
        NoCopyback,
        "the chip has no such command",
        "set chip.features.copyback = true, or gc.copyback = \"off\"",
    ),
    row(
        Copyback,
        Superblocks,
        "data of a superblock move from die to die",
        "use ftl.superblock_dies = 1, or gc.copyback = \"off\"",
    ),
    row(Copyback, Hooks, "the hooks say where moved data go", "use gc.copyback = \"off\""),
    row(
        DieSets,
        SeveralKinds,
        "the FTL for several kinds moves cold data to dies of another kind",
        "use chips of one kind, or namespaces that share the dies",
    ),
    row(
        CodeStages,
        SeveralKinds,
        "each kind of chips has one code",
        "use one code for each kind of chips",
    ),
    row(
        CodeStages,
        Superblocks,
        "blocks of a superblock change their code together",
        "use ftl.superblock_dies = 1, or one code",
    ),
    row(
        CodeStages,
        Copyback,
        "moved data keep the parity of their old block",
        "use gc.copyback = \"off\", or one code",
    ),
    row(
        CodeStages,
        Recovery,
        "a start-up does not know the code of a block",
        "use recovery.name = \"none\", or one code",
    ),
    row(CodeStages, Exchange, "a new chip begins with the first code", "use one code"),
    row(
        CodeStages,
        NoCodeStages,
        "it does not know that worn blocks hold less",
        "use one code, or ftl.name = \"page\"",
    ),
    row(
        StaleData,
        SeveralKinds,
        "programs of several kinds of chips have no room for stale data",
        "use buffer.coalesces = true",
    ),
    row(
        StaleData,
        FastPages,
        "programs by speed have no room for stale data",
        "use buffer.coalesces = true, or ftl.fast_pages = false",
    ),
    row(
        StaleData,
        Hooks,
        "programs of hooks have no room for stale data",
        "use buffer.coalesces = true",
    ),
    // With the FTL.
    row(
        SeveralKinds,
        OneKind,
        "it takes all dies to be alike",
        "use chips of one kind, or an FTL for several",
    ),
    row(
        ReuseOrder,
        NoReuseOrder,
        "it does not take them in this order",
        "use gc.reuse = \"least_worn\", or an FTL that does",
    ),
    row(
        NoBuffer,
        Zones,
        "the rows of open zones are gathered in the buffer",
        "set buffer.bytes, or use another FTL",
    ),
    row(
        StaleData,
        NoHoles,
        "its programs have no room for stale data",
        "use buffer.coalesces = true, or an FTL whose programs have",
    ),
    row(
        StaleData,
        SingleUnits,
        "a program has no room beside its unit",
        "use buffer.coalesces = true, or a smaller ftl.unit_bytes",
    ),
    row(
        Recovery,
        NoRebuild,
        "its tables are not on flash",
        "use an FTL that is rebuilt from what is there, or no recovery",
    ),
    row(
        RefreshByAge,
        NoRelocation,
        "old data are moved block by block",
        "use refresh.after_hours = 0, or an FTL that moves them",
    ),
    row(
        RefreshByErrors,
        NoRelocation,
        "data with errors are moved block by block",
        "use refresh.rber = 0, or an FTL that moves them",
    ),
    // With chips, codes and retries.
    row(
        Temperature,
        OneTemperature,
        "the law of errors has no activation energy",
        "leave the temperature out, give that of the rates (chip.array.reference_c), set \
         chip.array.activation_ev, or use another array",
    ),
    row(
        Temperature,
        Heat,
        "the drive heats up from that of its surroundings",
        "leave age.temperature_c out, and give power.thermal.ambient_c and power.thermal.start_c",
    ),
    row(
        ShiftedReads,
        NoReferences,
        "a law of rates has no references to move, and each round would find the same errors",
        "use retry.shifts_v = [], or an array with the rates of a chip.cell",
    ),
    row(
        Copyback,
        RealCells,
        "a copy takes over a rate of errors, and no cells",
        "use another ecc.model or chip.array.name, or gc.copyback = \"off\"",
    ),
    row(
        Copyback,
        NoCopies,
        "a copy stays in its plane",
        "use gc.copyback = \"off\", or an FTL that keeps moved data there",
    ),
    row(
        CheckedCopyback,
        IdealDecoder,
        "the check corrects nothing",
        "use another ecc.model, or gc.copyback = \"unchecked\"",
    ),
    row(
        SeveralKinds,
        RealCells,
        "the cells under a decoder are of one kind",
        "use chips of one kind, or an array that needs no cells",
    ),
    row(
        ReducedStreams,
        RealCells,
        "the cells under a decoder have one set of levels",
        "use an array that needs no cells, or ftl.reduced_streams = []",
    ),
    row(
        SingleLevel,
        RealCells,
        "the cells under a decoder hold all their bits",
        "use drive.single_level = false, or an array that needs no cells",
    ),
    row(
        RealCells,
        CodedPages,
        "the cells under a decoder hold data, not words of another code",
        "use another ecc.model, or an FTL without a code of its own",
    ),
    // Actions.
    row(
        Exchange,
        Recovery,
        "the log of the drive and its copies stay on their dies",
        "use a drive without recovery",
    ),
    row(
        Exchange,
        SeveralKinds,
        "the FTL for several kinds empties no die",
        "use chips of one kind",
    ),
    row(
        Exchange,
        Superblocks,
        "a superblock has a block of each of its dies",
        "use ftl.superblock_dies = 1",
    ),
    row(Exchange, Hooks, "the hooks say where moved data go", "use an FTL without hooks"),
    row(
        Exchange,
        NoWithdrawal,
        "its data stay on the die",
        "use an FTL that moves them to other dies",
    ),
    row(PowerCut, NoRecovery, "the drive would not start up again", "use a recovery"),
    row(
        SeveralKinds,
        Life,
        "each kind of chips wears by its own law",
        "use chips of one kind for a life",
    ),
    row(
        Leaps,
        RefreshByAge,
        "refresh writes by the calendar, whatever the host writes",
        "use accelerate = 1, which is exact",
    ),
    row(
        Leaps,
        RefreshOfReduced,
        "refresh writes by the calendar, whatever the host writes",
        "use accelerate = 1, which is exact",
    ),
    row(
        Leaps,
        RefreshByErrors,
        "refresh writes by the errors that it finds, whatever the host writes",
        "use accelerate = 1, which is exact",
    ),
    row(
        Leaps,
        Patrol,
        "patrol reads come by the calendar, whatever the host writes",
        "use accelerate = 1, which is exact",
    ),
    row(
        Leaps,
        OwnWear,
        "cycles that are added in one step would not be in its count",
        "use accelerate = 1, which is exact, or an FTL of the roster",
    ),
    row(
        SharedDies,
        Zones,
        "zones are of one namespace",
        "give the namespace `dies` of its own, or use an FTL that writes anywhere",
    ),
    row(
        Served,
        Zones,
        "clients of a network block device know no zones",
        "serve it with `nandlab nvme`, or use an FTL that writes anywhere",
    ),
    row(
        StoredWords,
        WordsByRate,
        "codewords are to be encoded and decoded",
        "use integrity = \"model\", or a code (ecc.code) with an ecc.model of real words",
    ),
    row(
        StoredWords,
        Copyback,
        "the errors of a copy would not be in the words that are kept",
        "use gc.copyback = \"off\", or integrity = \"model\"",
    ),
    row(
        StoredWords,
        SeveralKinds,
        "the words of a drive are of one code",
        "use chips of one kind, or integrity = \"model\"",
    ),
];

const fn row(one: Feature, other: Feature, why: &'static str, instead: &'static str) -> Conflict {
    Conflict { one, other, why, instead }
}
