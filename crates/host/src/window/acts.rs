//! Acts: what is done to a drive beside its job.

use super::calls;
use super::held::Held;
use super::look::Look;
use crate::drive::Drive;
use crate::report::as_json;
use crate::run::commands::Act;
use base::{Error, Result};
use serde_json::{Map, Value, json};
use ssd::ageing::Ageing;
use ssd::conflicts::Feature;

/// An act, as a page offers it.
struct Offer {
    command: &'static str,
    /// Command with its parameters.
    form: &'static str,
    label: &'static str,
    /// Action that a feature of the drive may exclude.
    asks: Option<Feature>,
}

const OFFERS: [Offer; 8] = [
    Offer { command: "cut", form: "cut", label: "Cut the power", asks: Some(Feature::PowerCut) },
    Offer {
        command: "recover",
        form: "recover",
        label: "Restore the power",
        asks: Some(Feature::PowerCut),
    },
    Offer { command: "age", form: "age HOURS", label: "Let hours pass", asks: None },
    Offer {
        command: "exchange",
        form: "exchange DIE[,suspended][,pe_cycles=N]",
        label: "Exchange the chip of a die",
        asks: Some(Feature::Exchange),
    },
    Offer {
        command: "fail_die",
        form: "fail_die DIE",
        label: "Let a die fail",
        asks: Some(Feature::DieFailure),
    },
    Offer {
        command: "wear",
        form: "wear CYCLES",
        label: "Wear the blocks by P/E cycles",
        asks: None,
    },
    Offer { command: "fill", form: "fill", label: "Write the whole drive once", asks: None },
    Offer { command: "trim", form: "trim", label: "Trim the whole drive", asks: None },
];

/// Most cycles that are added at once.
const MOST_CYCLES: u32 = 1_000_000;

impl Look<'_> {
    /// Acts that a page can offer, with the reason where the drive refuses one.
    pub fn offers(&self) -> Vec<Value> {
        let ssd = &self.session.run.ssd;
        let offer = |offer: &Offer| {
            let refused = match offer.asks {
                Some(Feature::PowerCut) if !ssd.can_recover() => {
                    Some("the drive has no `recovery`".to_owned())
                }
                Some(feature) => ssd.check_asked(feature).err().map(|error| error.to_string()),
                None => None,
            };
            json!({
                "command": offer.command,
                "form": offer.form,
                "label": offer.label,
                "refused": refused,
            })
        };
        OFFERS.iter().map(offer).collect()
    }
}

impl Held {
    /// Carries out a command. The result is what the drive did.
    pub fn act(&mut self, call: calls::Act) -> Result<Value> {
        let (name, value) = call.command.split_once(' ').unwrap_or((&call.command, ""));
        let value = value.trim();
        let known = OFFERS.map(|offer| offer.command);
        let offer = OFFERS.iter().find(|offer| offer.command == name);
        let offer = offer.ok_or_else(|| Error::unknown("command", "command", name, known))?;
        if !offer.form.contains(' ') && !value.is_empty() {
            return Err(Error::new("command", format!("`{}`", call.command)).expected(offer.form));
        }
        let done = match name {
            "cut" => self.cut()?,
            "recover" => self.recover()?,
            "age" | "exchange" | "fail_die" => self.act_in_run(name, value, offer)?,
            "wear" => self.wear(value)?,
            _ => self.whole(name)?,
        };
        self.is_used = true;
        Ok(done.of(name))
    }

    /// Begins the run, for what happens to the drive in it.
    fn begin_run(&mut self) -> Result<()> {
        self.check_ready()?;
        self.session.begin()?;
        if self.job.is_some() {
            self.session.run.advance_within(0, 0)?;
        }
        Ok(())
    }

    fn cut(&mut self) -> Result<Done> {
        self.session.run.ssd.check_asked(Feature::PowerCut)?;
        self.begin_run()?;
        let cut = self.session.run.cut_now()?;
        let told = format!(
            "The power is off. {} requests were not answered, {} acknowledged units are lost.",
            cut.requests, cut.losses.buffered_units
        );
        Done::new(told, &cut)
    }

    fn recover(&mut self) -> Result<Done> {
        let session = &mut self.session;
        if !session.run.ssd.is_off() {
            return Err(Error::new("command", "the power of the drive is on"));
        }
        let started = session.run.restore_now(&session.loaded.config)?;
        self.now = self.now.max(session.run.ssd.now());
        let reads = started.log_reads + started.page_reads + started.summary_reads;
        let ms = started.time.us() / 1e3;
        Done::new(format!("The drive was ready after {ms:.3} ms and {reads} reads."), &started)
    }

    /// Lets hours pass, exchanges a die, or lets one fail.
    fn act_in_run(&mut self, name: &str, value: &str, offer: &Offer) -> Result<Done> {
        let act = Act::parse(name, value)
            .map_err(|_| Error::new("command", format!("`{name} {value}`")).expected(offer.form))?;
        if let Act::Exchange(asked) = act {
            self.session.run.ssd.check_exchange(asked.die)?;
        }
        if let Act::FailDie(die) = act {
            self.session.run.ssd.check_fail_die(die)?;
        }
        self.begin_run()?;
        let run = &mut self.session.run;
        match act {
            Act::Exchange(asked) => {
                run.exchange_served(asked)?;
                let told = format!("Die {} gives its data to others.", asked.die.0);
                Done::new(told, &json!({ "die": asked.die.0 }))
            }
            Act::FailDie(die) => {
                run.ssd.fail_die(die)?;
                let told = format!("Die {} answers nothing. Its data are rebuilt.", die.0);
                Done::new(told, &json!({ "die": die.0 }))
            }
            Act::Age(hours) => {
                run.ssd.age(hours);
                let told = format!("All data are {} hours older.", hours.0);
                Done::new(told, &json!({ "hours": hours.0 }))
            }
            Act::Cut | Act::Restore => Err(Error::new("command", format!("`{name}`"))),
        }
    }

    /// Begins to overwrite the data at random, without time. The job ends with the wear.
    fn wear(&mut self, value: &str) -> Result<Done> {
        let cycles = value.parse().ok().filter(|cycles| (1..=MOST_CYCLES).contains(cycles));
        let cycles = cycles.ok_or_else(|| {
            Error::new("command", format!("`wear {value}`"))
                .expected(format!("wear CYCLES, from 1 to {MOST_CYCLES}"))
        })?;
        let mut drive = self.leave()?;
        let ageing = drive.age_by_writes(cycles)?;
        self.wearing = Some(Wearing { drive, ageing });
        Done::new("The wear has begun.".to_owned(), &json!({ "cycles": cycles }))
    }

    /// Whether blocks are being worn.
    pub fn is_wearing(&self) -> bool {
        self.wearing.is_some()
    }

    /// Does a part of the wear. The answer to the last part tells what the drive has come to.
    pub fn wear_on(&mut self) -> Result<Value> {
        let Some(mut wearing) = self.wearing.take() else { return Ok(Value::Null) };
        if !wearing.drive.advance_ageing(&mut wearing.ageing)? {
            let (done, of) = wearing.ageing.progress();
            self.wearing = Some(wearing);
            return Ok(self.look().progress("wear", done, Some(of)));
        }
        let drive = wearing.drive;
        let (wear, read_only) = (drive.wear(), drive.is_read_only());
        self.take(drive, None, None)?;
        let end = if read_only { " It takes no more writes." } else { "" };
        let told = format!("Blocks have {:.0} P/E cycles on average.{end}", wear.mean);
        let figures = json!({
            "pe_cycles_min": wear.min,
            "pe_cycles_mean": wear.mean,
            "pe_cycles_max": wear.max,
            "is_read_only": read_only,
        });
        let mut progress = self.look().progress("over", 0, None);
        progress["act"] = Done::new(told, &figures)?.of("wear");
        Ok(progress)
    }

    /// Begins a job that writes or trims the whole drive.
    fn whole(&mut self, name: &str) -> Result<Done> {
        let is_zoned = self.session.run.ssd.zone_layout().is_some();
        let zones = if is_zoned { "zonemode=zbd\n" } else { "" };
        let job = match name {
            "fill" => format!("[fill]\nrw=write\nbs=128k\niodepth=32\nsize=100%\n{zones}"),
            _ => format!("[trim]\nrw=trim\nbs=1m\niodepth=8\nsize=100%\n{zones}"),
        };
        let drive = self.leave()?;
        self.take(drive, Some(job.clone()), None)?;
        Done::new("The job has begun.".to_owned(), &json!({ "job": job }))
    }
}

/// Wear of a drive, under way: the session has its state from before until it is over.
pub(super) struct Wearing {
    drive: Drive,
    ageing: Ageing,
}

/// Result of an act: a sentence, and figures.
struct Done {
    told: String,
    figures: Map<String, Value>,
}

impl Done {
    fn new(told: String, figures: &impl serde::Serialize) -> Result<Self> {
        let figures = match as_json(figures)? {
            Value::Object(figures) => figures,
            _ => Map::new(),
        };
        Ok(Self { told, figures })
    }

    /// Answer to the act `command`.
    fn of(self, command: &str) -> Value {
        let mut told = self.figures;
        told.insert("command".into(), command.into());
        told.insert("told".into(), self.told.into());
        Value::Object(told)
    }
}
