//! Options of jobs on zoned drives: checks, and the rules that follow from them.

use crate::fio::options::{Options, Pattern};
use crate::fio::plan::{Plan, Setting};
use crate::fio::value::Amount;
use crate::fio::zbd::{Rules, Zoning};
use base::Result;
use ssd::request::Op;

impl Options {
    /// Converts amounts in zones to bytes.
    pub fn count_zones(&mut self, zoning: Option<&Zoning>) {
        let Some(zoning) = zoning else { return };
        let count = |amount: &mut Amount| {
            if let Amount::Zones(zones) = *amount {
                *amount = Amount::Bytes(zones.saturating_mul(zoning.stride()));
            }
        };
        [&mut self.offset, &mut self.offset_increment].into_iter().for_each(count);
        [&mut self.size, &mut self.io_size].into_iter().flatten().for_each(count);
    }

    /// Given options that turn trims into another command on zones, each with its command.
    fn zone_commands(&self) -> impl Iterator<Item = (&'static str, Op)> {
        [
            (self.finishes, "nandlab_finish", Op::ZoneFinish),
            (self.opens, "nandlab_open", Op::ZoneOpen),
            (self.closes, "nandlab_close", Op::ZoneClose),
        ]
        .into_iter()
        .filter_map(|(is_given, name, op)| is_given.then_some((name, op)))
    }

    /// Whether the job only reads.
    fn only_reads(&self) -> bool {
        self.pattern == Pattern::Only(Op::Read)
    }
}

impl Setting<'_> {
    /// Refuses options of zones that do not fit the drive, and jobs that it cannot run.
    pub fn check_zones(&self) -> Result<()> {
        let options = &self.given.options;
        if options.read_iolog.is_some() {
            return Ok(());
        }
        let Some(zoning) = &self.zoning else {
            let amounts = [
                ("size", options.size),
                ("io_size", options.io_size),
                ("offset", Some(options.offset)),
                ("offset_increment", Some(options.offset_increment)),
            ];
            let in_zones = |amount: &Option<Amount>| matches!(amount, Some(Amount::Zones(_)));
            if let Some((name, _)) = amounts.iter().find(|(_, amount)| in_zones(amount)) {
                let problem = "this drive has no zones".to_owned();
                return self.refuse(name, problem, "bytes, or a percentage".to_owned());
            }
            if options.is_zoned {
                let problem = "zbd, but this drive has no zones".to_owned();
                return self
                    .refuse("zonemode", problem, "none".to_owned())
                    .map_err(|error| error.hint("a drive with ftl.name = \"zoned\" has zones"));
            }
            return Ok(());
        };
        if !options.is_zoned && !options.only_reads() {
            let problem = "this drive takes writes only at the write pointers of its zones";
            return self.refuse(
                "rw",
                problem.to_owned(),
                "zonemode=zbd, or a job that reads".to_owned(),
            );
        }
        for (name, given, own) in [
            ("zonesize", options.zone_bytes, zoning.stride()),
            ("zonecapacity", options.zone_capacity, zoning.capacity()),
        ] {
            if given.is_some_and(|given| given != own) {
                let problem = format!("{} bytes", given.unwrap_or(0));
                return self.refuse(name, problem, format!("{own}, as on the drive"));
            }
        }
        let most = zoning.layout.most_open;
        for (name, given) in [
            ("max_open_zones", options.max_open_zones),
            ("job_max_open_zones", options.job_max_open_zones),
        ] {
            if most > 0 && given > most {
                let expected = format!("at most {most}, which the drive can have open");
                return self.refuse(name, format!("{given} zones"), expected);
            }
        }
        if options.pattern == Pattern::TrimWrite {
            let problem = "trims and writes of one place".to_owned();
            return self.refuse("rw", problem, "write: full zones are reset".to_owned());
        }
        if options.appends && (options.only_reads() || options.pattern == Pattern::Only(Op::Trim)) {
            let problem = "this job writes nothing".to_owned();
            return self.refuse("nandlab_append", problem, "rw=write, randwrite or rw".to_owned());
        }
        if options.rewrites > 0 {
            self.check_rewrites(zoning)?;
        }
        let mut commands = options.zone_commands();
        if let Some((name, _)) = commands.next() {
            if options.pattern != Pattern::Only(Op::Trim) {
                let problem = "these commands take the place of trims".to_owned();
                return self.refuse(name, problem, "rw=trim or randtrim".to_owned());
            }
            if let Some((other, _)) = commands.next() {
                let problem = format!("{other} beside {name}");
                return self.refuse(other, problem, "one of them for a job".to_owned());
            }
        }
        if options.pattern == Pattern::Only(Op::Trim) && options.bs[2] != Some(zoning.stride()) {
            let expected = format!("{}, a zone: trims are resets", zoning.stride());
            return self.refuse("bs", "no whole zone".to_owned(), expected);
        }
        Ok(())
    }

    /// Refuses a job that overwrites data in random write areas, where it cannot.
    fn check_rewrites(&self, zoning: &Zoning) -> Result<()> {
        const NAME: &str = "nandlab_rewrite";
        let options = &self.given.options;
        let Some(area) = zoning.area() else {
            let problem = "zones of this drive have no random write area".to_owned();
            return self
                .refuse(NAME, problem, "0".to_owned())
                .map_err(|error| error.hint("a drive with ftl.zrwa_bytes has such areas"));
        };
        if options.only_reads() || options.pattern == Pattern::Only(Op::Trim) {
            let problem = "this job writes nothing".to_owned();
            return self.refuse(NAME, problem, "rw=write, randwrite or rw".to_owned());
        }
        if options.appends || options.zone_reset_threshold > 0.0 {
            let other = if options.appends { "nandlab_append" } else { "zone_reset_threshold" };
            let problem = format!("{other} beside it");
            return self.refuse(NAME, problem, "one of them for a job".to_owned());
        }
        if let Some(longest) = options.bs[1].filter(|&longest| 2 * longest > area) {
            let expected = format!("at most {}, half a random write area", area / 2);
            return self.refuse("bs", format!("{longest} bytes of a write"), expected);
        }
        Ok(())
    }

    /// Rules of a job for zones; `None` for a job without zones. The size of a pass becomes the
    /// capacity of the zones.
    pub fn zone_rules(&self, plan: &mut Plan) -> Result<Option<Rules>> {
        let options = &self.given.options;
        let Some(zoning) = self.zoning.filter(|_| options.is_zoned) else { return Ok(None) };
        let (stride, before) = (zoning.stride(), zoning.bytes().start);
        // The job sees no more than the namespace that has the zones.
        let start = plan.start - before;
        let first = start.div_ceil(stride);
        let end = (start + plan.bytes) / stride;
        if end <= first {
            let problem = format!("{} bytes from offset {start} contain no zone", plan.bytes);
            return self.refuse("size", problem, format!("whole zones of {stride} bytes, as 1z"));
        }
        let of_trims = options.pattern == Pattern::Only(Op::Trim);
        let bytes_each = if of_trims { stride } else { zoning.capacity() };
        let all = (end - first) * bytes_each;
        let is_size = plan.io_bytes.is_none_or(|bytes| bytes == plan.bytes);
        plan.io_bytes = if is_size { Some(all) } else { plan.io_bytes };
        (plan.start, plan.bytes) = (before + first * stride, (end - first) * stride);
        // The amount ends a pass: lengths change where they meet the end of a zone.
        plan.wraps = true;
        // A place comes again when its zone was reset: fio has no map of places then either.
        plan.once = false;
        let most = match (options.max_open_zones, zoning.layout.most_open) {
            (0, of_drive) => of_drive,
            (given, _) => given,
        };
        let most_active = zoning.layout.most_active;
        let most_areas = zoning.layout.areas.filter(|_| options.rewrites > 0);
        let most_open = match (most, most_active) {
            (0, most_active) => most_active,
            (most, 0) => most,
            (most, most_active) => most.min(most_active),
        };
        let most_open = match most_areas.map(|areas| areas.most) {
            Some(most) if most_open == 0 || most < most_open => most,
            _ => most_open,
        };
        Ok(Some(Rules {
            first: first as u32,
            end: end as u32,
            is_random: options.random,
            writes: !of_trims && !options.only_reads(),
            is_mixed: options.pattern == Pattern::Mixed,
            most_open,
            most_own: options.job_max_open_zones,
            reset_threshold: options.zone_reset_threshold,
            reset_frequency: options.zone_reset_frequency,
            appends: options.appends,
            rewrites: options.rewrites as f64 / 100.0,
            least: plan.directions[Op::Write as usize].size.least(),
            writes_remainder: options.write_zone_remainder,
            counts_remainder: is_size && !options.random,
            command: options.zone_commands().next().map_or(Op::ZoneReset, |(_, op)| op),
        }))
    }
}
