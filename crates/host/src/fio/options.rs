//! The options of a fio job: those with an effect, and how their values are read.
//!
//! Names, defaults and meaning are those of fio's HOWTO ("Job file parameters"). Each option that
//! shapes requests is one entry of [`ROSTER`]; fio's other options are in [`crate::fio::ignored`].

use crate::fio::block_size::{self, BlockSize};
use crate::fio::ignored::{IGNORED, REFUSED};
use crate::fio::placement;
use crate::fio::steady_state::{Criterion, steady_state};
use crate::fio::value::{Amount, amount, by_direction, bytes, flag, time, whole};
use crate::workload::Chosen;
use base::{Error, Result, Time};
use ssd::config::Priority;
use ssd::request::Op;

/// Directions of fio's `rw`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pattern {
    /// Requests of one direction.
    Only(Op),
    /// Reads and writes, mixed.
    Mixed,
    /// Pairs at one place: a trim, then a write.
    TrimWrite,
}

/// The options of one job, as given or by default: each field is the option of its name.
#[derive(Debug, Clone)]
pub struct Options {
    pub name: Option<String>,
    pub filename: Option<String>,
    pub pattern: Pattern,
    pub random: bool,
    /// Number after the colon of `rw`: requests of a burst, or bytes of a hole.
    pub rw_number: Option<u64>,
    pub identical: bool,
    pub bs: [Option<u64>; 3],
    pub bsrange: [Option<String>; 3],
    pub bssplit: [Option<BlockSize>; 3],
    pub bs_unaligned: bool,
    pub blockalign: [Option<u64>; 3],
    pub size: Option<Amount>,
    pub io_size: Option<Amount>,
    pub filesize: Option<u64>,
    pub offset: Amount,
    pub offset_align: Option<u64>,
    pub offset_increment: Amount,
    pub number_ios: Option<u64>,
    pub loops: u64,
    pub iodepth: u32,
    pub numjobs: u32,
    pub runtime: Option<Time>,
    pub time_based: bool,
    pub ramp_time: Time,
    pub startdelay: (Time, Time),
    pub read_percent: u64,
    pub distribution: [Option<Chosen>; 3],
    pub randseed: Option<u64>,
    pub norandommap: bool,
    pub percentage_random: [Option<u64>; 3],
    pub rate: [Option<u64>; 3],
    pub rate_iops: [Option<u64>; 3],
    pub poisson: bool,
    pub thinktime: Time,
    pub thinktime_blocks: u32,
    pub fsync: u64,
    pub fdatasync: u64,
    pub end_fsync: bool,
    pub fsync_on_close: bool,
    pub sync: bool,
    pub write_hint: u8,
    /// Whether writes name placement handles: `dataplacement=fdp`.
    pub fdp: bool,
    /// Handles of the job's writes; empty = all handles of the drive.
    pub plids: Vec<u8>,
    pub random_plids: bool,
    pub prio: Option<u8>,
    pub prioclass: Option<u8>,
    pub stonewall: bool,
    pub read_iolog: Option<String>,
    pub replay_no_stall: bool,
    pub replay_time_scale: u64,
    pub is_zoned: bool,
    pub zone_bytes: Option<u64>,
    pub zone_capacity: Option<u64>,
    pub max_open_zones: u32,
    pub job_max_open_zones: u32,
    pub zone_reset_threshold: f64,
    pub zone_reset_frequency: f64,
    /// Whether the rest of a zone that is shorter than a block is written; otherwise the zone is
    /// finished.
    pub write_zone_remainder: bool,
    /// Whether writes are appends, an option of nandlab; the next three turn trims into zone
    /// finishes, opens or closes.
    pub appends: bool,
    pub finishes: bool,
    pub opens: bool,
    pub closes: bool,
    /// Percent of the writes that overwrite data in random write areas, an option of nandlab.
    pub rewrites: u64,
    pub steady_state: Option<Criterion>,
    pub ss_dur: Time,
    pub ss_ramp: Time,
    pub ss_interval: Time,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            name: None,
            filename: None,
            pattern: Pattern::Only(Op::Read),
            random: false,
            rw_number: None,
            identical: false,
            bs: [None; 3],
            bsrange: [const { None }; 3],
            bssplit: [const { None }; 3],
            bs_unaligned: false,
            blockalign: [None; 3],
            size: None,
            io_size: None,
            filesize: None,
            offset: Amount::Bytes(0),
            offset_align: None,
            offset_increment: Amount::Bytes(0),
            number_ios: None,
            loops: 1,
            iodepth: 1,
            numjobs: 1,
            runtime: None,
            time_based: false,
            ramp_time: Time::ZERO,
            startdelay: (Time::ZERO, Time::ZERO),
            read_percent: 50,
            distribution: [const { None }; 3],
            randseed: None,
            norandommap: false,
            percentage_random: [None; 3],
            rate: [None; 3],
            rate_iops: [None; 3],
            poisson: false,
            thinktime: Time::ZERO,
            thinktime_blocks: 1,
            fsync: 0,
            fdatasync: 0,
            end_fsync: false,
            fsync_on_close: false,
            sync: false,
            write_hint: 0,
            fdp: false,
            plids: Vec::new(),
            random_plids: false,
            prio: None,
            prioclass: None,
            stonewall: false,
            read_iolog: None,
            replay_no_stall: false,
            replay_time_scale: 100,
            is_zoned: false,
            zone_bytes: None,
            zone_capacity: None,
            max_open_zones: 0,
            job_max_open_zones: 0,
            zone_reset_threshold: 0.0,
            zone_reset_frequency: 0.0,
            write_zone_remainder: false,
            appends: false,
            finishes: false,
            opens: false,
            closes: false,
            rewrites: 0,
            steady_state: None,
            ss_dur: Time::ZERO,
            ss_ramp: Time::ZERO,
            ss_interval: SECOND,
        }
    }
}

/// Effect of an option in a job that replays a trace.
///
/// fio's HOWTO does not tell. An option is passed over in fio where `do_io` and `get_io_u` of its
/// sources do not look at it in a replay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InReplay {
    /// The option has its usual effect.
    Obeyed,
    /// The option is noticed and has no effect: it shapes or counts synthetic requests, and the log
    /// gives these. fio passes over it in silence.
    PassedOver,
    /// fio obeys the option and a replay here does not: it is refused where it asks for anything.
    Refused,
}
use InReplay::{Obeyed, PassedOver, Refused};

/// An option with an effect: names, use in a replay, reader.
pub struct Known {
    /// fio's name, then its aliases.
    pub names: &'static [&'static str],
    pub in_replay: InReplay,
    /// Whether the option may stand without a value.
    flag: bool,
    /// Reads the value into its field.
    set: Set,
}

type Set = fn(&mut Options, &str) -> Result<()>;

const fn value(in_replay: InReplay, names: &'static [&'static str], set: Set) -> Known {
    Known { names, in_replay, flag: false, set }
}

const fn yes(in_replay: InReplay, names: &'static [&'static str], set: Set) -> Known {
    Known { names, in_replay, flag: true, set }
}

/// Sets the field of an option, or the directions of it that were given.
macro_rules! set {
    ($field:ident, $read:expr) => {
        |options, text| {
            options.$field = $read(text)?;
            Ok(())
        }
    };
    ([$field:ident], $read:expr) => {
        |options, text| {
            let given = by_direction(text, $read)?;
            for (old, new) in options.$field.iter_mut().zip(given) {
                *old = new.or(old.take());
            }
            Ok(())
        }
    };
}

const SECOND: Time = Time(1_000_000_000);
const MILLISECOND: Time = Time(1_000_000);
const MICROSECOND: Time = Time(1000);
const MOST_JOBS: u64 = 4096;

/// Roster of the options with an effect.
pub const ROSTER: &[Known] = &[
    value(Obeyed, &["name"], set!(name, |text: &str| Ok::<_, Error>(Some(text.to_owned())))),
    value(Obeyed, &["description"], |_, _| Ok(())),
    value(
        Obeyed,
        &["filename"],
        set!(filename, |text: &str| Ok::<_, Error>(Some(text.to_owned()))),
    ),
    value(PassedOver, &["rw", "readwrite"], pattern),
    value(
        PassedOver,
        &["rw_sequencer"],
        set!(identical, |text| word(text, &[("sequential", false), ("identical", true)])),
    ),
    value(PassedOver, &["bs", "blocksize"], set!([bs], block_size::length)),
    value(PassedOver, &["bsrange", "blocksize_range"], set!([bsrange], range)),
    value(PassedOver, &["bssplit"], set!([bssplit], BlockSize::split)),
    yes(PassedOver, &["bs_unaligned", "blocksize_unaligned"], set!(bs_unaligned, flag)),
    value(PassedOver, &["ba", "blockalign"], set!([blockalign], block_size::length)),
    value(PassedOver, &["size"], set!(size, some_amount)),
    value(PassedOver, &["io_size", "io_limit"], set!(io_size, some_amount)),
    value(PassedOver, &["filesize"], set!(filesize, |text| bytes(text).map(nonzero))),
    value(PassedOver, &["offset", "fileoffset"], set!(offset, amount)),
    value(PassedOver, &["offset_align"], set!(offset_align, |text| bytes(text).map(nonzero))),
    value(PassedOver, &["offset_increment"], set!(offset_increment, amount)),
    value(
        PassedOver,
        &["number_ios"],
        set!(number_ios, |text| whole(text, 0, u64::MAX).map(nonzero)),
    ),
    value(Obeyed, &["steadystate", "ss"], set!(steady_state, |text| steady_state(text).map(Some))),
    value(Obeyed, &["steadystate_duration", "ss_dur"], set!(ss_dur, |text| time(text, SECOND))),
    value(Obeyed, &["steadystate_ramp_time", "ss_ramp"], set!(ss_ramp, |text| time(text, SECOND))),
    value(
        Obeyed,
        &["steadystate_check_interval", "ss_interval"],
        set!(ss_interval, |text| time(text, MILLISECOND)),
    ),
    value(Obeyed, &["loops"], set!(loops, |text| whole(text, 1, u64::MAX))),
    value(Obeyed, &["iodepth"], set!(iodepth, |text| whole(text, 1, 1 << 20).map(|n| n as u32))),
    value(Obeyed, &["numjobs"], set!(numjobs, |text| whole(text, 1, MOST_JOBS).map(|n| n as u32))),
    value(
        Obeyed,
        &["runtime", "timeout"],
        set!(runtime, |text| time(text, SECOND).map(|t| (t > Time::ZERO).then_some(t))),
    ),
    yes(PassedOver, &["time_based"], set!(time_based, flag)),
    value(Obeyed, &["ramp_time"], set!(ramp_time, |text| time(text, SECOND))),
    value(Obeyed, &["startdelay"], set!(startdelay, delay)),
    value(PassedOver, &["rwmixread"], set!(read_percent, |text| whole(text, 0, 100))),
    value(
        PassedOver,
        &["rwmixwrite"],
        set!(read_percent, |text| whole(text, 0, 100).map(|n| 100 - n)),
    ),
    value(PassedOver, &["random_distribution"], distribution),
    value(
        PassedOver,
        &["percentage_random"],
        set!([percentage_random], |text| whole(text, 0, 100)),
    ),
    yes(PassedOver, &["norandommap"], set!(norandommap, flag)),
    value(Obeyed, &["randseed"], set!(randseed, |text| whole(text, 0, u64::MAX).map(Some))),
    value(PassedOver, &["rate"], set!([rate], bytes)),
    value(PassedOver, &["rate_iops"], set!([rate_iops], |text| whole(text, 0, u64::MAX))),
    value(
        PassedOver,
        &["rate_process"],
        set!(poisson, |text| word(text, &[("linear", false), ("poisson", true)])),
    ),
    value(Obeyed, &["thinktime"], set!(thinktime, |text| time(text, MICROSECOND))),
    value(
        Obeyed,
        &["thinktime_blocks"],
        set!(thinktime_blocks, |text| whole(text, 1, u32::MAX.into()).map(|n| n as u32)),
    ),
    value(PassedOver, &["fsync"], set!(fsync, |text| whole(text, 0, u64::MAX))),
    value(PassedOver, &["fdatasync"], set!(fdatasync, |text| whole(text, 0, u64::MAX))),
    yes(Refused, &["end_fsync"], set!(end_fsync, flag)),
    yes(Refused, &["fsync_on_close"], set!(fsync_on_close, flag)),
    value(
        Refused,
        &["sync"],
        set!(sync, |text| word(
            text,
            &[("none", false), ("0", false), ("sync", true), ("dsync", true), ("1", true)]
        )),
    ),
    yes(Refused, &["writefua"], set!(sync, flag)),
    value(Refused, &["write_hint"], set!(write_hint, |text| word(text, HINTS))),
    value(Refused, &["dataplacement", "data_placement"], data_placement),
    yes(Refused, &["fdp"], set!(fdp, flag)),
    value(PassedOver, &["plids", "fdp_pli"], set!(plids, placement::list)),
    value(PassedOver, &["plid_select", "fdp_pli_select"], plid_select),
    value(Obeyed, &["prio"], set!(prio, |text| whole(text, 0, 7).map(|n| Some(n as u8)))),
    value(Obeyed, &["prioclass"], set!(prioclass, |text| whole(text, 0, 3).map(|n| Some(n as u8)))),
    yes(Obeyed, &["stonewall", "wait_for_previous"], set!(stonewall, flag)),
    value(
        Obeyed,
        &["read_iolog"],
        set!(read_iolog, |text: &str| Ok::<_, Error>(Some(text.to_owned()))),
    ),
    yes(Obeyed, &["replay_no_stall"], set!(replay_no_stall, flag)),
    value(
        Obeyed,
        &["replay_time_scale"],
        set!(replay_time_scale, |text| whole(text, 1, 1_000_000)),
    ),
    value(Obeyed, &["kb_base"], |_, text| word(text, &[("1024", ())])),
    value(
        PassedOver,
        &["zonemode"],
        set!(is_zoned, |text| word(text, &[("none", false), ("zbd", true)])),
    ),
    value(PassedOver, &["zonesize"], set!(zone_bytes, |text| bytes(text).map(nonzero))),
    value(PassedOver, &["zonecapacity"], set!(zone_capacity, |text| bytes(text).map(nonzero))),
    value(
        PassedOver,
        &["max_open_zones"],
        set!(max_open_zones, |text| whole(text, 0, u32::MAX.into()).map(|n| n as u32)),
    ),
    value(
        PassedOver,
        &["job_max_open_zones"],
        set!(job_max_open_zones, |text| whole(text, 0, u32::MAX.into()).map(|n| n as u32)),
    ),
    value(PassedOver, &["zone_reset_threshold"], set!(zone_reset_threshold, share)),
    value(PassedOver, &["zone_reset_frequency"], set!(zone_reset_frequency, share)),
    yes(PassedOver, &["write_zone_remainder"], set!(write_zone_remainder, flag)),
    yes(PassedOver, &["nandlab_append"], set!(appends, flag)),
    yes(PassedOver, &["nandlab_finish"], set!(finishes, flag)),
    yes(PassedOver, &["nandlab_open"], set!(opens, flag)),
    yes(PassedOver, &["nandlab_close"], set!(closes, flag)),
    value(PassedOver, &["nandlab_rewrite"], set!(rewrites, |text| whole(text, 0, 99))),
];

/// Streams of the kernel's write lifetime hints.
const HINTS: &[(&str, u8)] =
    &[("none", 0), ("not_set", 0), ("short", 1), ("medium", 2), ("long", 3), ("extreme", 4)];

impl Options {
    /// Whether the job's writes are urgent, as somebody waits for them: class 1 (real time), or
    /// class 2 (best effort, the default) with priority 0 to 3.
    pub fn is_urgent(&self) -> bool {
        match self.prioclass {
            Some(1) => true,
            None | Some(2) => self.prio.is_some_and(|prio| prio < 4),
            Some(_) => false,
        }
    }

    /// Class of the job's submission queue: `urgent` of class 1 (real time), `high` of class 2
    /// (best effort, the default) with priority 0 to 3, `low` of class 3 (idle), otherwise
    /// `medium`.
    pub fn priority(&self) -> Priority {
        match self.prioclass {
            Some(1) => Priority::Urgent,
            Some(3) => Priority::Low,
            _ if self.is_urgent() => Priority::High,
            _ => Priority::Medium,
        }
    }
}

/// Marks of fio's environment variables and keywords, which are refused.
const VARIABLES: [&str; 4] = ["${", "$pagesize", "$mb_memory", "$ncpus"];

/// Effect of an option.
pub enum Taken {
    /// The option has an effect; fio's main name for it.
    Set(&'static str),
    /// The option is accepted without effect.
    Ignored,
}

impl Options {
    /// Reads one option with its value, or without one.
    pub fn take(&mut self, name: &str, value: Option<&str>) -> Result<Taken> {
        if let Some(known) = ROSTER.iter().find(|known| known.names.contains(&name)) {
            let value = value.unwrap_or_default();
            // The name of a file or device may be any; most drives pass over it.
            let is_name = known.names[0] == "filename";
            if !is_name && VARIABLES.iter().any(|variable| value.contains(variable)) {
                return Err(Error::new(
                    "",
                    format!("{name}: not supported: the variable in `{value}`"),
                )
                .hint("write the value out: a job means the same on every machine"));
            }
            return match value {
                "" if !known.flag => Err(Error::new("", format!("`{name}` needs a value"))
                    .expected(format!("{name}=VALUE"))),
                value => (known.set)(self, value)
                    .map_err(|error| error.about(name))
                    .map(|()| Taken::Set(known.names[0])),
            };
        }
        if ["randrepeat", "allrandrepeat"].contains(&name) {
            // Runs are always repeatable: a job that asks for anything else gets a notice.
            let asked = flag(value.unwrap_or_default()).map_err(|error| error.about(name))?;
            return Ok(if asked { Taken::Set("randrepeat") } else { Taken::Ignored });
        }
        if IGNORED.contains(&name) {
            return Ok(Taken::Ignored);
        }
        if let Some((_, why)) = REFUSED.iter().find(|(refused, _)| *refused == name) {
            return Err(Error::unsupported("", format!("`{name}` ({why})")));
        }
        let names = ROSTER.iter().flat_map(|known| known.names.iter().copied());
        let names = names.chain(["randrepeat"]).chain(IGNORED.iter().copied());
        Err(Error::new("", format!("unknown option `{name}`"))
            .expected("a job parameter of fio's HOWTO")
            .suggest(name, names))
    }
}

/// Reads one of several words as its value.
fn word<T: Copy>(text: &str, words: &[(&str, T)]) -> Result<T> {
    words.iter().find(|(name, _)| *name == text).map(|&(_, meaning)| meaning).ok_or_else(|| {
        let names = words.iter().map(|&(name, _)| name);
        Error::new("", format!("`{text}` is unknown"))
            .expected(names.clone().collect::<Vec<_>>().join(", "))
            .suggest(text, names)
    })
}

fn nonzero(value: u64) -> Option<u64> {
    (value > 0).then_some(value)
}

/// Reads a share, 0 to 1.
fn share(text: &str) -> Result<f64> {
    match text.parse::<f64>() {
        Ok(share) if (0.0..=1.0).contains(&share) => Ok(share),
        _ => Err(Error::new("", format!("`{text}` is not a share")).expected("0 to 1")),
    }
}

fn some_amount(text: &str) -> Result<Option<Amount>> {
    // Zero means "not given" in fio.
    Ok(Some(amount(text)?).filter(|&amount| amount != Amount::Bytes(0)))
}

/// Checks a range. Its alignment is checked when all options are known.
fn range(text: &str) -> Result<String> {
    BlockSize::range(text, false).map(|_| text.to_owned())
}

fn delay(text: &str) -> Result<(Time, Time)> {
    let (from, to) = text.split_once(['-', ':']).unwrap_or((text, text));
    let (from, to) = (time(from.trim(), SECOND)?, time(to.trim(), SECOND)?);
    if from > to {
        return Err(Error::new("", format!("`{text}` ends before it begins"))
            .expected("a time, or a range from shorter to longer, such as 2-5"));
    }
    Ok((from, to))
}

fn pattern(options: &mut Options, text: &str) -> Result<()> {
    use Pattern::{Mixed, Only, TrimWrite};
    let (name, number) = match text.split_once(':') {
        Some((name, number)) => (name.trim(), Some(number.trim())),
        None => (text, None),
    };
    let (pattern, random) = word(
        name,
        &[
            ("read", (Only(Op::Read), false)),
            ("write", (Only(Op::Write), false)),
            ("trim", (Only(Op::Trim), false)),
            ("randread", (Only(Op::Read), true)),
            ("randwrite", (Only(Op::Write), true)),
            ("randtrim", (Only(Op::Trim), true)),
            ("rw", (Mixed, false)),
            ("readwrite", (Mixed, false)),
            ("randrw", (Mixed, true)),
            ("trimwrite", (TrimWrite, false)),
            ("randtrimwrite", (TrimWrite, true)),
        ],
    )?;
    options.rw_number = match number {
        None => None,
        Some(text) if random => Some(whole(text, 1, u32::MAX.into())?),
        Some(text) => match bytes(text) {
            Ok(hole) if hole.is_multiple_of(512) && hole < 1 << 50 => Some(hole),
            _ => {
                return Err(Error::new("", format!("`{text}` is not a hole"))
                    .expected("a multiple of 512 bytes, 0 or more"));
            }
        },
    };
    (options.pattern, options.random) = (pattern, random);
    Ok(())
}

fn data_placement(options: &mut Options, text: &str) -> Result<()> {
    if text == "streams" {
        return Err(Error::unsupported("", "`streams` (the streams directive)")
            .hint("dataplacement=fdp with plids, or write_hint"));
    }
    options.fdp = word(text, &[("none", false), ("fdp", true)])?;
    Ok(())
}

fn plid_select(options: &mut Options, text: &str) -> Result<()> {
    if text == "scheme" {
        return Err(Error::unsupported("", "`scheme` (handles by address)")
            .hint("a job with offset, size and plids for each part of the drive"));
    }
    options.random_plids = word(text, &[("roundrobin", false), ("random", true)])?;
    Ok(())
}

fn distribution(options: &mut Options, text: &str) -> Result<()> {
    // fio's HOWTO also writes `zoned_abs=...`.
    let (name, arguments) = text.split_once([':', '=']).unwrap_or((text, ""));
    let read = |argument: &str| Chosen::read(name.trim(), argument);
    options.distribution = match arguments.trim() {
        "" => {
            let chosen = read("")?;
            [Some(chosen.clone()), Some(chosen.clone()), Some(chosen)]
        }
        arguments => by_direction(arguments, read)?,
    };
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_name_stands_once() {
        let known = || ROSTER.iter().flat_map(|known| known.names.iter().copied());
        let rest = || IGNORED.iter().copied().chain(REFUSED.iter().map(|&(name, _)| name));
        for (index, name) in known().enumerate() {
            assert!(known().take(index).all(|other| other != name), "{name}");
            assert!(rest().all(|other| other != name), "{name}");
        }
    }

    /// Defaults are those of fio, and every option with a value needs one.
    #[test]
    fn options_need_their_values() {
        for known in ROSTER {
            for name in known.names {
                assert_eq!(Options::default().take(name, None).is_ok(), known.flag, "{name}");
            }
        }
        let defaults = Options::default();
        assert_eq!((defaults.iodepth, defaults.read_percent, defaults.loops), (1, 50, 1));
    }

    #[test]
    fn what_a_list_leaves_out_stays() {
        let mut options = Options::default();
        for (name, value) in [("bs", "8k"), ("bs", ",16k,"), ("percentage_random", "50,")] {
            options.take(name, Some(value)).unwrap();
        }
        assert_eq!(options.bs, [Some(8192), Some(16384), Some(8192)]);
        assert_eq!(options.percentage_random, [Some(50), None, None]);
        options.take("blocksize", Some("4k")).unwrap();
        assert_eq!(options.bs, [Some(4096); 3]);
    }

    #[test]
    fn later_options_win() {
        let mut options = Options::default();
        for (name, value) in [("rw", "randread:8"), ("rwmixread", "70"), ("rwmixwrite", "10")] {
            options.take(name, Some(value)).unwrap();
        }
        assert_eq!((options.rw_number, options.read_percent), (Some(8), 90));
        options.take("readwrite", Some("trimwrite")).unwrap();
        assert_eq!((options.rw_number, options.random), (None, false));
        assert_eq!(options.pattern, Pattern::TrimWrite);
    }
}
