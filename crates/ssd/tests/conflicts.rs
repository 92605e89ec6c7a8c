//! The table of conflicts: each row is refused in its words, and two features without a row go
//! together.

use crate::drive;

use base::params::{self, Table};
use base::rng::turn;
use base::{Error, Result};
use ecc::named_code::NamedCode;
use nand::geometry::Die;
use ssd::Ssd;
use ssd::ageing::Lifetime;
use ssd::config::SsdConfig;
use ssd::conflicts::Feature::{self, *};
use ssd::conflicts::{CONFLICTS, Conflict, Features};
use ssd::conformance::SMALL;
use ssd::conformance::storm::Storm;
use ssd::ftl::Lpn;
use ssd::ftl::own::{Candidate, HookFacts, Logs, OwnFtl};
use ssd::precondition::Precondition;

const CELL: &str = include_str!("../../../params/cells/wang2014_mlc.toml");
const CELL_OF_ONE_BIT: &str = include_str!("../../../params/cells/slc.toml");
const CODE: &str = include_str!("../../../params/codes/bch_512_t40.toml");

const PARITY: &[&str] = &[
    "parity.pages=1",
    "ftl.superblock_dies=4",
    "ftl.gc_reserve_blocks=2",
    "chip.geometry.blocks_per_plane=50",
];
const AROUND: &[&str] = &[
    "parity={pages=1, read_around='busy'}",
    "ftl.superblock_dies=4",
    "ftl.gc_reserve_blocks=2",
    "chip.geometry.blocks_per_plane=50",
];
const WRITTEN: &[&str] = &[PARITY[0], PARITY[1], PARITY[2], PARITY[3], "parity.partial=written"];
const ZONED: &[&str] = &["ftl.name=zoned", "buffer.bytes=1048576"];
const WRITE_ONCE: &[&str] = &[
    "ftl.name=wom",
    "ftl.code=rivest_shamir",
    "chip.page_order=even_odd",
    "chip.geometry.pages_per_block=24",
];
const CACHED_MAP: &[&str] = &["ftl.name=dftl", "ftl.map_cache_bytes=512"];
const FROZEN: &[&str] = &["ftl.name=frozen"];
const WORDS: &[&str] = &[
    "ecc={model='exact', code='bch_512_t40'}",
    "chip.array.name=power_law",
    "chip.geometry.spare_bytes=2048",
];
const REAL_CELLS: &[&str] = &[
    "ecc={model='exact', code='bch_512_t40'}",
    "chip.array.name=cells",
    "chip.geometry.spare_bytes=2048",
];

/// Assignments that give the small drive a feature, on top of others.
fn sets(feature: Feature) -> &'static [&'static str] {
    match feature {
        SeveralKinds => &[
            "ftl.name=frozen",
            "chips.tlc={dies_per_channel=1, chip={cell_bits=3, rated_pe_cycles=500, \
             page_order=\"one_shot\", array={name=\"ideal\"}, \
             geometry={planes_per_die=2, blocks_per_plane=17, pages_per_block=27, \
             page_bytes=8192, spare_bytes=2048}, \
             timing={t_read_us=90.0, t_program_us=4000.0, t_erase_us=5000.0, bus_mt_s=400.0}, \
             energy={vcc_v=3.3, icc_read_ma=25.0, icc_program_ma=25.0, icc_erase_ma=25.0}}}",
        ],
        SingleLevel => &["drive.single_level=true"],
        RefreshOfReduced => &["refresh.reduced_after_hours=1", "ftl.reduced_streams=[0]"],
        NoBuffer => &["buffer.bytes=0"],
        LyingFlushes => &["buffer.lies_about_flush=true"],
        StaleData => &["buffer.coalesces=false"],
        RefreshByAge => &["refresh.after_hours=1"],
        RefreshByErrors => &["refresh.rber=0.01"],
        Patrol => &["refresh.patrol_hours=1"],
        Temperature => &["age.temperature_c=55"],
        Heat => &["power.thermal={capacity_j_per_k=20, resistance_k_per_w=5, ambient_c=25}"],
        Recovery => &["recovery.name=scan_pages", "chip.geometry.blocks_per_plane=26"],
        NoRecovery => &["recovery.name=none"],
        ShiftedReads => &["retry={name='read_retry', max_levels=0}"],
        Copyback => {
            &["gc.copyback=unchecked", "chip.features.copyback=true", "ftl.unit_bytes=8192"]
        }
        CodeStages => &[
            "ecc={model='threshold', t=40, parity_bytes=400}",
            "ecc.stages=[{from_cycles=3, t=80, parity_bytes=900}]",
            "chip.geometry.spare_bytes=1024",
            "ftl.gc_reserve_blocks=2",
            "gc.start_free_blocks=4",
        ],
        Windows => &["windows={deterministic_ms=5, non_deterministic_ms=5}"],
        WindowsOfSets => &[
            "namespace=[{dies=2, windows={deterministic_ms=5, non_deterministic_ms=5}}, {share=1}]",
        ],
        IdleDelay => &["gc.background_free_blocks=4", "gc.background_after_us=100"],
        SharedDies => &["namespace=[{share=0.5}, {bytes=65536, block_bytes=4096}]"],
        DieSets => &["namespace=[{dies=2}, {share=1.0}]"],
        ReuseOrder => &["gc.reuse=lifo"],
        CheckedCopyback => &["gc.copyback=checked", "chip.features.copyback=true"],
        NoCopyback => &["chip.features.copyback=false"],
        OneBit => &["chip.cell_bits=1", "chip.timing={t_read_us=40, t_program_us=400}"],
        OneShot => &[
            "chip.page_order=one_shot",
            "chip.geometry.pages_per_block=36",
            "chip.timing.t_program_us=1100",
        ],
        PageByPage => &["chip.page_order=all_bitline"],
        NoReferences | OneTemperature | IdealDecoder => &["chip.array.name=power_law"],
        StoredWords => WORDS,
        RealCells => REAL_CELLS,
        WordsByRate => &["ecc.model=ideal"],
        HostStreams => &["ftl.host_streams=2"],
        ReducedStreams => &["ftl.reduced_streams=[0]"],
        FullLevels => &["ftl.reduced_streams=[]"],
        HandleQuotas => {
            &["ftl.host_streams=2", "ftl.isolation=persistent", "ftl.handle_quota=[0.5, 0.5]"]
        }
        ReclaimGroups => &["ftl.reclaim_groups=2"],
        KeptHandles => &["ftl.isolation=persistent"],
        FastPages => &["ftl.fast_pages=true"],
        SkippedPages => &["ftl.fast_pages=true", "ftl.skip_slow_pages=true"],
        Superblocks => &["ftl.superblock_dies=2"],
        SingleDies => &["ftl.superblock_dies=1"],
        Parity => PARITY,
        ReadAround => AROUND,
        WrittenStripes => WRITTEN,
        Rotation => &["gc.rotation=all", "ftl.superblock_dies=2"],
        SharedBlocks => &["ftl.separate_gc_stream=false"],
        ForesightCache => {
            &["ftl.name=dftl", "ftl.map_cache_bytes=512", "ftl.map_cache_policy=tpftl"]
        }
        SingleEntries => &["ftl.name=dftl", "ftl.map_cache_bytes=512", "ftl.map_batch=false"],
        LevelCode => &[
            "ftl.name=wom",
            "ftl.code=wom_v",
            "ftl.bits_per_cell=1",
            "chip.page_order=one_shot",
            "chip.geometry.pages_per_block=36",
            "chip.timing.t_program_us=1100",
        ],
        SafePageCode | CodedPages => WRITE_ONCE,
        SingleLevelCache => &["ftl.name=slc_cache"],
        NotHooked | NoCopies | NoWithdrawal | NoCodeStages => CACHED_MAP,
        OneKind => &["ftl.name=page"],
        NoParity => &["ftl.name=page", "parity.pages=0"],
        NoHoles | NoRebuild | NoReuseOrder => FROZEN,
        NoRelocation | NoRest | Zones => ZONED,
        SingleUnits => &["ftl.unit_bytes=8192", "chip.features.multi_plane_program=false"],
        NoReducedLevels | Hooks | MoveStreams | OwnWear | Exchange | DieFailure | PowerCut
        | Life | Leaps | Served => &[],
    }
}

/// Hooks that decide nothing, with streams of moved data.
#[derive(Clone)]
struct Idle {
    move_streams: u32,
}

impl ssd::ftl::own::Hooks for Idle {
    fn facts(&self) -> HookFacts {
        HookFacts {
            streams: 2,
            move_streams: self.move_streams,
            has_stream: true,
            is_told: false,
            has_victim: false,
            has_collect: false,
        }
    }

    fn stream(&mut self, unit: Lpn, _: u8) -> Result<u32> {
        Ok(unit.0 % 2)
    }

    fn victim(&mut self, _: u32, candidates: &[Candidate]) -> Result<u32> {
        Ok(candidates[0].block)
    }

    fn collect(&mut self, _: u32, free_blocks: u32, _: bool) -> Result<bool> {
        Ok(free_blocks < 3)
    }

    fn twin(&self) -> Result<Box<dyn ssd::ftl::own::Hooks>> {
        Ok(Box::new(self.clone()))
    }
}

/// FTL of a user that has one of these features.
fn own_ftl(features: &[Feature]) -> Option<OwnFtl> {
    let hooks = |move_streams| {
        OwnFtl::hooks("Idle", Table::new(), move || Ok(Box::new(Idle { move_streams })))
    };
    let whole = || OwnFtl::whole("Logs", Table::new(), || Ok(Box::new(Logs::default())));
    features.iter().find_map(|feature| match feature {
        Feature::Hooks => Some(hooks(1)),
        MoveStreams => Some(hooks(2)),
        OwnWear => Some(whole()),
        _ => None,
    })
}

/// Builds the small drive with these features, if it can have them.
fn built(features: &[Feature]) -> Result<Ssd> {
    built_with(features, &[])
}

/// Builds the small drive with these features, and `more` laid over it.
fn built_with(features: &[Feature], more: &[&str]) -> Result<Ssd> {
    let mut table = params::parse(SMALL, "small")?;
    // Spare for FTLs with many frontiers.
    params::merge(&mut table, params::assignment("ftl.overprovisioning=2.5")?);
    for set in features.iter().flat_map(|&feature| sets(feature)).chain(more) {
        params::merge(&mut table, params::assignment(set)?);
    }
    let is_reduced = [ReducedStreams, RefreshOfReduced].iter().any(|of| features.contains(of));
    if is_reduced && !features.contains(&NoReducedLevels) {
        let levels = "chip.reduced={t_program_us=200, rber_factor=2}";
        params::merge(&mut table, params::assignment(levels)?);
    }
    if features.contains(&RealCells) {
        let is_slc = features.contains(&OneBit);
        let mut cell = params::parse(if is_slc { CELL_OF_ONE_BIT } else { CELL }, "cell")?;
        cell.retain(|key, _| key != "summary" && key != "cite");
        let chip = table.get_mut("chip").and_then(|chip| chip.as_table_mut()).unwrap();
        chip.insert("cell".into(), cell.into());
    }
    let mut config: SsdConfig = params::read(&table, "")?;
    if config.ecc.contains_key("code") {
        config.code = Some(NamedCode::read(CODE, "code", None)?);
    }
    let mut config = config.complete()?;
    if let Some(own) = own_ftl(features) {
        config = config.with_own_ftl(own)?;
    }
    Ssd::new(&config, 1 << 30)
}

/// Asks a drive for an action.
fn act(ssd: &mut Ssd, action: Feature) -> Result<()> {
    match action {
        Exchange => ssd.check_exchange(Die(0)),
        DieFailure => ssd.check_fail_die(Die(0)),
        PowerCut => ssd.cut().map(drop),
        Life | Leaps => {
            drive::prepare(ssd, Precondition::Fill);
            Lifetime::new(ssd, if action == Leaps { 2.0 } else { 1.0 }, 1).map(drop)
        }
        StoredWords => ssd.code_of_words().map(drop),
        action => ssd.check_asked(action),
    }
}

const ACTIONS: [Feature; 7] = [Exchange, DieFailure, PowerCut, Life, Leaps, Served, StoredWords];

fn refused(one: Feature, other: Feature) -> Option<Error> {
    // Assignments of the later one hold: of one of the two orders both features are left.
    let mut ssd = match (built(&[one, other]), built(&[other, one])) {
        (Err(error), _) | (_, Err(error)) => return Some(error),
        (Ok(ssd), _) => ssd,
    };
    let action = [one, other].into_iter().find(|of| ACTIONS.contains(of))?;
    act(&mut ssd, action).err()
}

/// The row whose words a refusal has.
fn row_of(error: &Error) -> Option<&'static Conflict> {
    CONFLICTS.iter().find(|row| {
        error.place == row.one.key()
            && error.problem.contains(row.one.name())
            && error.problem.contains(row.other.name())
            && error.problem.ends_with(row.why)
            && error.hint.starts_with(row.instead)
    })
}

#[test]
fn each_row_is_refused_in_its_words() {
    for row in CONFLICTS {
        let Some(error) = refused(row.one, row.other) else {
            panic!("{row:?} is not refused");
        };
        let Some(found) = row_of(&error) else { panic!("{row:?}: {error}") };
        assert_eq!((found.one, found.other), (row.one, row.other), "{error}");
    }
}

#[test]
fn two_features_have_one_row() {
    for (i, row) in CONFLICTS.iter().enumerate() {
        let is_same = |other: &&Conflict| {
            [(row.one, row.other), (row.other, row.one)].contains(&(other.one, other.other))
        };
        assert_eq!(CONFLICTS[i + 1..].iter().find(is_same).map(|row| row.why), None);
    }
}

#[test]
fn each_feature_has_a_row() {
    for &feature in Feature::ALL {
        let is_there = CONFLICTS.iter().any(|row| [row.one, row.other].contains(&feature));
        assert!(is_there, "{feature:?} excludes nothing");
    }
}

/// Members that would do are named: those whose FTL has what the other feature needs.
#[test]
fn a_refusal_names_the_members_that_would_do() {
    let hint = |one, other| refused(one, other).unwrap().hint.clone();
    let of_recovery = hint(PowerCut, NoRecovery);
    assert!(
        of_recovery.ends_with("(scan_pages, scan_blocks, checkpoint, journal)"),
        "{of_recovery}"
    );
    let of_kinds = hint(SeveralKinds, OneKind);
    assert!(of_kinds.ends_with("(frozen)"), "{of_kinds}");
    let of_refresh = hint(RefreshByAge, NoRelocation);
    assert!(of_refresh.contains("(page, dftl") && !of_refresh.contains("zoned"), "{of_refresh}");
}

/// Features that somebody turns on. Others are what a member or a preset has not; they exclude a
/// feature in their rows alone.
const CHOSEN: &[Feature] = &[
    SeveralKinds,
    SingleLevel,
    NoBuffer,
    LyingFlushes,
    StaleData,
    RefreshByAge,
    RefreshOfReduced,
    RefreshByErrors,
    Patrol,
    Temperature,
    Heat,
    Recovery,
    ShiftedReads,
    Copyback,
    CheckedCopyback,
    SharedDies,
    ReuseOrder,
    OneBit,
    OneShot,
    NoReferences,
    OneTemperature,
    CodeStages,
    IdealDecoder,
    RealCells,
    Parity,
    ReadAround,
    WrittenStripes,
    Rotation,
    HostStreams,
    ReducedStreams,
    FastPages,
    SkippedPages,
    Superblocks,
    SharedBlocks,
    ForesightCache,
    SingleEntries,
    SafePageCode,
    LevelCode,
    SingleLevelCache,
    Feature::Hooks,
    MoveStreams,
    OwnWear,
    Zones,
];

/// Features that are values of one thing, so that no drive is asked for both.
const ALTERNATIVES: &[(Feature, Feature)] = &[
    // Cells of one bit are programmed page by page.
    (SingleLevel, OneShot),
    (OneBit, OneShot),
    // Laws of errors.
    (NoReferences, RealCells),
    (OneTemperature, RealCells),
    // Decoders.
    (IdealDecoder, RealCells),
    (CodeStages, IdealDecoder),
    (CodeStages, RealCells),
    // Hooks state the streams of the host.
    (HostStreams, Feature::Hooks),
    (HostStreams, MoveStreams),
    (SafePageCode, LevelCode),
];

/// Whether two features belong to two FTLs: each names one, or one has parameters that the other's
/// has not.
fn are_of_two_ftls(one: Feature, other: Feature, result: &Result<Ssd>) -> bool {
    let named = |feature| match feature {
        OwnWear => Some("Logs"),
        Feature::Hooks | MoveStreams => Some("page"),
        feature => sets(feature).iter().find_map(|set| set.strip_prefix("ftl.name=")),
    };
    let is_of_ftl = |feature: Feature| sets(feature).iter().any(|set| set.starts_with("ftl."));
    match (named(one), named(other)) {
        (Some(one), Some(other)) => one != other,
        (Some("Logs"), None) => is_of_ftl(other),
        (None, Some("Logs")) => is_of_ftl(one),
        (None, None) => false,
        _ => result.as_ref().is_err_and(|error| {
            error.place.starts_with("ftl.") && error.problem.starts_with("unknown key")
        }),
    }
}

/// Refuses a pair that neither goes together nor is refused by a row for what each of the two
/// brings along. Of the drives that can be built, one in some runs.
fn check_pair(one: (Feature, &Features), other: (Feature, &Features)) -> Result<u32> {
    let ((one, of_one), (other, of_other)) = (one, other);
    let is_pair = |&(a, b): &(Feature, Feature)| [(one, other), (other, one)].contains(&(a, b));
    if CONFLICTS.iter().any(|row| is_pair(&(row.one, row.other)))
        || ALTERNATIVES.iter().any(is_pair)
    {
        return Ok(0);
    }
    let result = built(&[one, other]);
    if are_of_two_ftls(one, other, &result) {
        return Ok(0);
    }
    match result {
        Ok(ssd) => {
            assert!([one, other].iter().all(|&feature| ssd.features().has(shown(feature))));
            Storm::new(ssd, 1).run(turn::few_or_all(60, 1000))?;
            Ok(1)
        }
        Err(error) => {
            let brings =
                |a, b| (of_one.has(a) && of_other.has(b)) || (of_one.has(b) && of_other.has(a));
            let is_row = row_of(&error).is_some_and(|row| brings(row.one, row.other));
            if is_row { Ok(0) } else { Err(error) }
        }
    }
}

/// Feature by which a drive that is built shows this one: streams of hooks are seen before.
fn shown(feature: Feature) -> Feature {
    if feature == MoveStreams { Feature::Hooks } else { feature }
}

#[test]
fn two_features_without_a_row_go_together() {
    let alone: Vec<(Feature, Features)> = CHOSEN
        .iter()
        .map(|&feature| {
            let ssd = built(&[feature]).unwrap_or_else(|error| panic!("{feature:?}: {error}"));
            assert!(ssd.features().has(shown(feature)), "{feature:?}: {:?}", ssd.features());
            (feature, ssd.features().clone())
        })
        .collect();
    let mut together = 0;
    for (i, (one, of_one)) in alone.iter().enumerate() {
        for (other, of_other) in &alone[i + 1..] {
            together += check_pair((*one, of_one), (*other, of_other))
                .unwrap_or_else(|error| panic!("{one:?} and {other:?}: {error}"));
        }
    }
    // Most pairs do.
    assert!(together > 300, "{together}");
}

/// Errors of copies are rates: words that are really decoded without cells have them.
#[test]
fn copies_carry_their_errors_to_real_words() {
    let errors = |features: &[Feature]| {
        let busy = ["chip.geometry.planes_per_die=1", "ftl.overprovisioning=0.9"];
        let mut ssd = built_with(features, &[WORDS, &busy].concat()).unwrap();
        drive::prepare(&mut ssd, Precondition::Steady);
        let mut storm = Storm::new(ssd, 1);
        storm.run(1500).unwrap();
        let (counts, flash) = (storm.ssd.counts(), storm.ssd.flash_counts());
        (counts.codes.raw_bit_errors as f64 / counts.codes.codewords as f64, flash.copybacks)
    };
    let (once, none) = errors(&[]);
    let (copied, copies) = errors(&[Copyback]);
    assert!(none == 0 && copies > 300, "{copies}");
    assert!(copied > 1.1 * once && copied < 4.0 * once, "{copied} after {once}");
}
