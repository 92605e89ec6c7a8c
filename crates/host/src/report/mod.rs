//! The report of a run: the JSON of docs/formats, whose `jobs` have fio's own keys.
//!
//! A finished session comes in, JSON goes out, with the laws of `checks`.

mod checks;
mod endurance;
mod exchange;
mod settled;
mod zones;

use crate::run::JobView;
use crate::run::stats::OpStats;
use crate::session::Session;
use base::stats::Latency;
use base::{Result, Time};
use nand::wordline::{PageOrder, page_type_name};
use serde_json::{Map, Value, json};
use ssd::config::SsdConfig;
use ssd::doing::DieTimes;
use ssd::drive::activity::Activity;
use ssd::flash::FlashCounts;
use ssd::ftl::FtlCounts;
use ssd::request::Op;
use ssd::{Cut, Started};

/// Percentiles that fio prints by default, and two higher ones.
const PERCENTILES: [f64; 19] = [
    1.0, 5.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 95.0, 99.0, 99.5, 99.9, 99.95,
    99.99, 99.995, 99.999,
];

/// Measurements of the caller, as the core reads no clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct Outside {
    /// Wall time of the run without preconditioning, in seconds.
    pub wall_s: f64,
    /// Peak memory of the process, in 10^6 bytes.
    pub peak_rss_mb: f64,
}

impl Session {
    /// Report of the session, complete.
    pub fn report(&mut self, outside: Outside) -> Result<Value> {
        let config = config_json(&self.loaded.config)?;
        let run = &self.run;
        let activity = run.activity();
        let mut report = Map::new();
        report
            .insert("fio version".into(), json!(format!("nandlab-{}", env!("CARGO_PKG_VERSION"))));
        report.insert("timestamp".into(), json!(0));
        report.insert("time".into(), json!("simulated"));
        report.insert("global options".into(), options(&self.global_options));
        report.insert(
            "nandlab".into(),
            json!({
                "version": env!("CARGO_PKG_VERSION"),
                "seed": self.loaded.config.seed,
                "config_hash": format!("{:016x}", fnv(config.to_string().as_bytes())),
                "config": config,
                "cite": self.loaded.cite,
                "capacity_bytes": run.ssd.capacity_bytes(),
                "notices": self.notices,
                "trace": self.trace,
            }),
        );
        report.insert(
            "sim".into(),
            json!({
                "simulated_s": activity.time.s(),
                "skipped_s": run.counts_from().s(),
                "wall_s": outside.wall_s,
                "requests_per_wall_s": ratio(run.tally().completed as f64, outside.wall_s),
                "events": run.ssd.events(),
                "peak_rss_mb": outside.peak_rss_mb,
                "precondition_write_amplification": self.precondition_write_amplification(),
                "precondition_settled": self.precondition_settled(),
            }),
        );
        report.insert("host".into(), self.host(&activity));
        let jobs: Vec<Value> = run.jobs().map(|job| fio_job(&job, &self.global_options)).collect();
        report.insert("jobs".into(), json!(jobs));
        report.insert("settled".into(), self.settled());
        report.insert("ftl".into(), self.ftl(&activity));
        report.insert("nand".into(), self.nand(&activity));
        report.insert("channels".into(), channels(&activity));
        report.insert("dies".into(), dies(&activity));
        report.insert("front".into(), front(&activity, self.run.ssd.cores()));
        report.insert("ecc".into(), self.ecc(&activity));
        report.insert("buffer".into(), self.buffer(&activity));
        report.insert("power".into(), self.power(&activity));
        report.insert("exchange".into(), self.last_exchange());
        let refresh = self.refresh(&activity);
        report.insert("refresh".into(), refresh);
        report.insert("zones".into(), self.zones(&activity));
        report.insert("endurance_group".into(), self.endurance_group(&activity));
        report.insert("cost".into(), self.cost());
        report.insert("checks".into(), self.checks()?);
        Ok(Value::Object(report))
    }

    /// Measured time: from the start of the first measured job to the end.
    fn measured(&self) -> Time {
        let start = self.run.jobs().map(|job| job.start).min().unwrap_or_default();
        self.run.ssd.now().since(start)
    }

    /// Units written by the host.
    fn written_units(&self) -> f64 {
        self.run.tally().write_bytes as f64 / self.run.ssd.unit_bytes() as f64
    }

    fn host(&self, activity: &Activity) -> Value {
        let run = &self.run;
        let (totals, tally, controller) = (run.totals(), run.tally(), &activity.controller);
        let seconds = self.measured().s();
        let moved = [Op::Read, Op::Write, Op::ZoneAppend];
        let bytes: u64 = moved.iter().map(|&op| totals.of(op).bytes).sum();
        let op = |op: Op| {
            let stats = totals.of(op);
            let moved = if matches!(op, Op::Read | Op::Write) { stats.bytes } else { 0 };
            json!({
                "requests": stats.latency.count(),
                "bytes": stats.bytes,
                "iops": ratio(stats.latency.count() as f64, seconds),
                "bandwidth_mb_s": ratio(moved as f64 / 1e6, seconds),
                "latency_us": latency_us(&stats.latency),
            })
        };
        json!({
            "requests_issued": tally.issued,
            "requests_completed": tally.completed,
            "requests_failed": tally.failed,
            "read_units": controller.read_units,
            "read_units_unwritten": controller.unwritten,
            "urgent_writes": controller.urgent_writes,
            "iops": ratio(totals.requests() as f64, seconds),
            "bandwidth_mb_s": ratio(bytes as f64 / 1e6, seconds),
            "latency_us": latency_us(&totals.latency()),
            "read": op(Op::Read),
            "write": op(Op::Write),
            "trim": op(Op::Trim),
            "flush": op(Op::Flush),
            "mean_queue_depth": run.mean_queue_depth(),
        })
    }

    fn ftl(&self, activity: &Activity) -> Value {
        let (ssd, counts) = (&self.run.ssd, &activity.ftl);
        let written = self.written_units();
        let refreshed = activity.controller.refresh.all_blocks();
        let (merges, map, ram) = (counts.merges, counts.map, ssd.ftl_ram());
        let mut ram_bytes = Map::new();
        ram_bytes.insert("total".into(), json!(ram.iter().map(|ram| ram.bytes).sum::<u64>()));
        ram_bytes.extend(ram.iter().map(|ram| (ram.name.into(), json!(ram.bytes))));
        json!({
            // Programmed units for each unit of the host, with padding; data that are still in the
            // buffer, or were rewritten there, have not been programmed.
            "write_amplification": ratio(counts.programmed_units() as f64, written),
            // Write amplification of the data that left the buffer.
            "write_amplification_flash": counts.write_amplification(),
            "gc_runs": counts.reclaimed_blocks,
            "gc_copies": counts.moved_units,
            "levelled_units": counts.levelled_units,
            "host_units": counts.host_units,
            "padding_units": counts.padding_units,
            "levelled_blocks": counts.levelled_blocks,
            // Refresh uses the same moves, and is counted apart.
            "read_reclaims": counts.read_reclaims.saturating_sub(refreshed),
            "retired_blocks": counts.retired_blocks,
            "read_only_at_s": ssd.read_only_at().map(|at| at.since(self.run.counts_from()).s()),
            "trimmed_units": activity.controller.trimmed,
            "merges": {
                "switch": merges.switch,
                "partial": merges.partial,
                "full": merges.full,
            },
            "map": {
                "reads": map.reads,
                "writes": map.writes,
                "moves": map.moves,
                "hits": map.hits,
                "misses": map.misses,
                "mispredictions": map.mispredictions,
            },
            "cache": self.cache(counts),
            "dense": self.dense(counts),
            "ram_bytes": ram_bytes,
            "unit_bytes": ssd.unit_bytes(),
            "mapping_bytes_per_unit": ssd.ftl_bytes_per_unit(),
        })
    }

    /// Cache of blocks in single-level mode; `null` of an FTL without one.
    fn cache(&self, counts: &FtlCounts) -> Value {
        let ssd = &self.run.ssd;
        let Some(cache) = ssd.cache() else { return Value::Null };
        let (counts, bytes) = (counts.cache, ssd.unit_bytes());
        json!({
            "host_units": counts.host_units,
            "folded_units": counts.folded_units,
            "erased_blocks": counts.erased_blocks,
            "room_bytes": cache.room_units * bytes,
            "used_bytes": cache.used_units * bytes,
        })
    }

    /// Data on dense chips beside fast ones; `null` of a drive with one kind of chips.
    fn dense(&self, counts: &FtlCounts) -> Value {
        if self.loaded.config.chips.is_empty() {
            return Value::Null;
        }
        let counts = counts.dense;
        json!({"frozen_units": counts.frozen_units, "modified_sets": counts.modified_sets})
    }

    /// Counts of refresh and patrol; `null` of a drive without either.
    fn refresh(&mut self, activity: &Activity) -> Value {
        if !self.loaded.config.refresh.is_on() {
            return Value::Null;
        }
        let written = self.written_units();
        let ssd = &mut self.run.ssd;
        let (oldest, counts) = (ssd.oldest_hours(), activity.controller.refresh);
        let [age, rber, retries] = counts.blocks;
        json!({
            "blocks": {"age": age, "rber": rber, "retries": retries},
            "units": counts.units,
            // Share of refresh in the FTL's write amplification.
            "write_amplification": ratio(counts.units as f64, written),
            "waiting_blocks": ssd.blocks_to_refresh(),
            "oldest_hours": oldest,
            "patrol_finds": counts.patrol_finds,
            "patrol_energy_uj": activity.patrol_energy_uj,
        })
    }

    /// Price of the flash; `null` where the price of the chip is not known.
    fn cost(&self) -> Value {
        let config = &self.loaded.config;
        let Some(usd) = config.flash_usd() else { return Value::Null };
        let flash_bytes = config.flash_bytes();
        json!({
            "flash_bytes": flash_bytes,
            "flash_usd": usd,
            "usd_per_gb": usd * 1e9 / self.run.ssd.capacity_bytes() as f64,
        })
    }

    /// Pages written for the start-up after a power cut, and losses of a cut; `null` of a drive
    /// without recovery.
    fn power(&self, activity: &Activity) -> Value {
        let Some(counts) = activity.power else { return Value::Null };
        let units = counts.pages() * u64::from(self.run.ssd.units_per_page());
        let programmed = activity.ftl.programmed_units() + units;
        let written = self.written_units();
        json!({
            "summary_pages": counts.summary_pages,
            "trim_pages": counts.trim_pages,
            "opened_pages": counts.opened_pages,
            "table_pages": counts.table_pages,
            "backup_pages": counts.backup_pages,
            "log_erases": counts.log_erases,
            "tables": counts.tables,
            // Programmed units with these pages beside those of the FTL.
            "write_amplification": ratio(programmed as f64, written),
            "cut": self.run.cut().map(Self::cut),
            // Filled in after the drive has started up.
            "start_up": null,
        })
    }

    /// The losses of a power cut, for the report.
    pub fn cut(cut: &Cut) -> Value {
        json!({
            "at_s": cut.at.s(),
            "requests": cut.requests,
            "buffered_units": cut.buffered_units,
            "torn_programs": cut.torn_programs,
            "torn_erases": cut.torn_erases,
            "held_up_s": cut.held_up.s(),
        })
    }

    /// Time and reads of a start-up, for the report.
    pub fn started(started: &Started) -> Value {
        json!({
            "time_s": started.time.s(),
            "log_reads": started.log_reads,
            "page_reads": started.page_reads,
            "summary_reads": started.summary_reads,
            "erased_blocks": started.erased_blocks,
            "restored_units": started.restored_units,
            "mapped_units": started.mapped_units,
        })
    }

    fn nand(&self, activity: &Activity) -> Value {
        let (counts, refresh) = (&activity.flash, &activity.controller.refresh);
        let wear = self.run.ssd.wear();
        let energy = activity.all_energy();
        json!({
            "reads": counts.reads,
            "programs": counts.programs,
            "failed_programs": counts.failed_programs,
            "erases": counts.erases,
            "failed_erases": counts.failed_erases,
            "suspends": counts.suspends,
            "joined_reads": counts.joined_reads,
            "copybacks": counts.copybacks,
            "refreshed_blocks": refresh.all_blocks(),
            "patrol_reads": refresh.patrol_reads,
            "energy_uj": energy.total_uj(),
            "energy": energy,
            "pe_cycles": {"min": wear.min, "mean": wear.mean, "max": wear.max},
            // Times of the chips of the first kind.
            "program_us": self.program_us(counts, 0),
            "kinds": self.kinds(activity),
        })
    }

    /// Mean program times of one kind of chips, by type of page.
    fn program_us(&self, counts: &FlashCounts, number: usize) -> Value {
        let (_, chip) = self.loaded.config.kinds()[number];
        let (bits, one_shot) = (chip.cell_bits, chip.page_order == PageOrder::OneShot);
        let times = &counts.of_kind[number].program_time;
        let mut program = Map::new();
        for (i, &(commands, time)) in times.iter().enumerate() {
            // One-shot programs have wordlines only.
            let name = match (bits, i) {
                (bits, i) if i == bits as usize => "single_level",
                (1, _) => "page",
                _ if one_shot => "wordline",
                (_, i) => page_type_name(i as u8, bits),
            };
            if commands > 0 {
                program.insert(name.into(), json!(time.us() / commands as f64));
            }
        }
        Value::Object(program)
    }

    /// Work of each kind of chips; `null` of a drive with one kind.
    fn kinds(&self, activity: &Activity) -> Value {
        let (config, ssd) = (&self.loaded.config, &self.run.ssd);
        if config.chips.is_empty() {
            return Value::Null;
        }
        let names = std::iter::once("chip").chain(config.chips.keys().map(String::as_str));
        let bytes = config.flash_bytes_of_kinds();
        let of_kind = |(number, name): (usize, &str)| {
            let (counts, codes) = (&activity.flash.of_kind[number], &activity.codes[number]);
            let (wear, energy) = (ssd.wear_of_kind(number), activity.energy[number]);
            let of_kind = json!({
                "flash_bytes": bytes[number],
                "programs": counts.programs,
                "erases": counts.erases,
                "energy_uj": energy.total_uj(),
                "energy": energy,
                "pe_cycles": {"min": wear.min, "mean": wear.mean, "max": wear.max},
                "program_us": self.program_us(&activity.flash, number),
                "ecc": {
                    "codewords": codes.codewords,
                    "hard_failures": codes.hard_failures,
                    "further_decodes": codes.further_decodes,
                    "uncorrectable": codes.uncorrectable,
                    "raw_bit_errors": codes.raw_bit_errors,
                    "iterations": codes.iterations,
                    "encoded": codes.encoded,
                },
            });
            (name.to_owned(), of_kind)
        };
        Value::Object((0..).zip(names).map(of_kind).collect())
    }

    fn ecc(&self, activity: &Activity) -> Value {
        let (ssd, counts) = (&self.run.ssd, &activity.controller);
        let share =
            |busy: Time, servers: usize| ratio(busy.s(), activity.time.s() * servers as f64);
        let (decoders, encoders) = (ssd.decoders_busy().1, ssd.encoders_busy().1);
        let used = counts.soft_reads.iter().rposition(|&n| n > 0).map_or(0, |last| last + 1);
        json!({
            "codewords": counts.codewords,
            "hard_failures": counts.hard_failures,
            "retries": counts.retries,
            "soft_reads": counts.soft_reads[..used],
            "further_decodes": counts.further_decodes,
            "uncorrectable": counts.uncorrectable,
            "lost_units": ssd.lost_units(),
            "raw_bit_errors": counts.raw_bit_errors,
            "iterations": counts.iterations,
            "encoded": counts.encoded,
            "energy_uj": activity.ecc_energy_uj,
            "decoders_busy_s": activity.decoders_busy.s(),
            "encoders_busy_s": activity.encoders_busy.s(),
            "decoders_busy_fraction": share(activity.decoders_busy, decoders),
            "encoders_busy_fraction": share(activity.encoders_busy, encoders),
        })
    }

    fn buffer(&self, activity: &Activity) -> Value {
        let counts = &activity.controller;
        json!({
            "read_hits": counts.buffer_hits,
            "coalesced": counts.coalesced,
            "stalls": counts.stalls,
            "fills": counts.fills,
        })
    }
}

fn channels(activity: &Activity) -> Value {
    let share = |&(busy, _): &(Time, Time)| ratio(busy.0 as f64, activity.time.0 as f64);
    let busy: Vec<f64> = activity.channels.iter().map(share).collect();
    let mean = busy.iter().sum::<f64>() / busy.len() as f64;
    json!({"busy_fraction_mean": mean, "busy_fraction": busy})
}

/// Busy shares of the controller's cores and of the link.
fn front(activity: &Activity, cores: usize) -> Value {
    let share = |busy: Time, servers: usize| ratio(busy.s(), activity.time.s() * servers as f64);
    json!({
        "cores_busy_fraction": share(activity.front.cores, cores),
        "link_in_busy_fraction": share(activity.front.link_in, 1),
        "link_out_busy_fraction": share(activity.front.link_out, 1),
    })
}

fn dies(activity: &Activity) -> Value {
    let sum = |of: fn(&DieTimes) -> u64| activity.dies.iter().map(|die| u128::from(of(die))).sum();
    let total: u128 = sum(DieTimes::total_ns);
    let part = |of: fn(&DieTimes) -> u64| ratio(sum(of) as f64, total as f64);
    json!({
        "read": part(|die| die.read_ns),
        "program": part(|die| die.program_ns),
        "erase": part(|die| die.erase_ns),
        "wait": part(|die| die.wait_ns),
        // A run without simulated time was idle.
        "idle": if total == 0 { 1.0 } else { part(|die| die.idle_ns) },
    })
}

fn ratio(a: f64, b: f64) -> f64 {
    if b > 0.0 { a / b } else { 0.0 }
}

/// Hash of a configuration: FNV-1a of its JSON.
pub fn config_hash(config: &SsdConfig) -> Result<String> {
    Ok(format!("{:016x}", fnv(config_json(config)?.to_string().as_bytes())))
}

/// FNV-1a hash with 64 bits.
pub(crate) fn fnv(bytes: &[u8]) -> u64 {
    let fold = |h: u64, &b: &u8| (h ^ u64::from(b)).wrapping_mul(0x100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, fold)
}

fn config_json(config: &SsdConfig) -> Result<Value> {
    serde_json::to_value(config).map_err(|error| base::Error::new("report", error.to_string()))
}

fn options(list: &[(String, String)]) -> Value {
    Value::Object(list.iter().map(|(key, value)| (key.clone(), json!(value))).collect())
}

/// Options of a job, with those that fio's tools look for in every job: from the whole file, or
/// fio's default.
fn job_options(list: &[(String, String)], global: &[(String, String)]) -> Value {
    let mut options = options(list);
    for key in ["iodepth", "numjobs"] {
        if options.get(key).is_none() {
            let of_file = global.iter().find(|(given, _)| given == key);
            options[key] = json!(of_file.map_or("1", |(_, value)| value));
        }
    }
    options
}

fn latency_us(latency: &Latency) -> Value {
    let at = |percent: f64| latency.percentile_ns(percent) as f64 / 1e3;
    json!({
        "count": latency.count(),
        "mean": latency.mean_ns() / 1e3,
        "min": latency.min_ns() as f64 / 1e3,
        "p50": at(50.0),
        "p90": at(90.0),
        "p99": at(99.0),
        "p99_9": at(99.9),
        "p99_99": at(99.99),
        "p99_999": at(99.999),
        "max": latency.max_ns() as f64 / 1e3,
    })
}

/// Entry of a job with fio's keys.
fn fio_job(view: &JobView<'_>, global: &[(String, String)]) -> Value {
    let runtime = view.end.since(view.start);
    let all = view.stats.latency();
    json!({
        "jobname": view.job.name,
        "groupid": view.group,
        // fio's error number 5 is EIO.
        "error": if view.has_failed { 5 } else { 0 },
        "eta": 0,
        "elapsed": view.end.s().ceil() as u64,
        "job options": job_options(&view.job.options, global),
        "read": fio_direction(view.stats.of(Op::Read), runtime),
        "write": fio_direction(&zones::writes(view), runtime),
        "trim": fio_direction(&zones::trims(view), runtime),
        "sync": {
            "total_ios": view.stats.of(Op::Flush).latency.count(),
            "lat_ns": fio_latency(&view.stats.of(Op::Flush).latency),
        },
        "job_runtime": runtime.0 / 1_000_000,
        "usr_cpu": 0.0,
        "sys_cpu": 0.0,
        "ctx": 0,
        "majf": 0,
        "minf": 0,
        "latency_ns": fio_shares(&all, 1.0),
        "latency_us": fio_shares(&all, 1e3),
        "latency_ms": fio_shares(&all, 1e6),
    })
}

fn fio_direction(stats: &OpStats, runtime: Time) -> Value {
    let seconds = runtime.s();
    let bandwidth = ratio(stats.bytes as f64, seconds);
    let latency = fio_latency(&stats.latency);
    let iops = ratio(stats.latency.count() as f64, seconds);
    let none = json!({"min": 0, "max": 0, "mean": 0.0, "stddev": 0.0, "N": 0});
    json!({
        "io_bytes": stats.bytes,
        "io_kbytes": stats.bytes / 1024,
        "bw_bytes": bandwidth as u64,
        "bw": (bandwidth / 1024.0) as u64,
        "iops": iops,
        "runtime": runtime.0 / 1_000_000,
        "total_ios": stats.latency.count(),
        "short_ios": 0,
        "drop_ios": 0,
        "slat_ns": none,
        "clat_ns": latency,
        "lat_ns": latency,
        "bw_min": (bandwidth / 1024.0) as u64,
        "bw_max": (bandwidth / 1024.0) as u64,
        "bw_agg": 100.0,
        "bw_mean": bandwidth / 1024.0,
        "bw_dev": 0.0,
        "bw_samples": 1,
        "iops_min": iops as u64,
        "iops_max": iops as u64,
        "iops_mean": iops,
        "iops_stddev": 0.0,
        "iops_samples": 1,
    })
}

fn fio_latency(latency: &Latency) -> Value {
    let mut percentiles = Map::new();
    if latency.count() > 0 {
        for percent in PERCENTILES {
            percentiles.insert(format!("{percent:.6}"), json!(latency.percentile_ns(percent)));
        }
    }
    json!({
        "min": latency.min_ns(),
        "max": latency.max_ns(),
        "mean": latency.mean_ns(),
        "stddev": latency.stddev_ns(),
        "N": latency.count(),
        "percentile": percentiles,
    })
}

/// Table of latencies as in fio: the share of requests in each range, in percent. `unit_ns` is 1
/// for the nanosecond table, 1000 for the microsecond one and 10^6 for the millisecond one.
/// Latencies of a unit or less belong to the table before it, those of more than 1000 units to the
/// one after it.
fn fio_shares(latency: &Latency, unit_ns: f64) -> Value {
    let milli = unit_ns > 1e5;
    let mut edges = vec![2u64, 4, 10, 20, 50, 100, 250, 500, 750, 1000];
    if milli {
        edges.push(2000);
    }
    let mut shares = vec![0u64; edges.len() + 1];
    for (ns, count) in latency.buckets() {
        let value = ns as f64 / unit_ns;
        let is_before = unit_ns > 1.0 && value <= 1.0;
        if is_before || (!milli && value > 1000.0) {
            continue;
        }
        shares[edges.partition_point(|&edge| (edge as f64) < value)] += count;
    }
    let total = latency.count().max(1) as f64;
    let mut table = Map::new();
    for (edge, &count) in edges.iter().zip(&shares) {
        table.insert(edge.to_string(), json!(100.0 * count as f64 / total));
    }
    if milli {
        table.insert(">=2000".into(), json!(100.0 * shares[edges.len()] as f64 / total));
    }
    Value::Object(table)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every latency is in one of fio's tables, also one at an edge between two.
    #[test]
    fn latency_tables_count_each_request_once() {
        for ns in [1, 2, 999, 1000, 1001, 2000, 999_000, 1_000_000, 1_001_000, 5_000_000_000] {
            let mut latency = Latency::new();
            latency.record(Time(ns));
            let tables = [1.0, 1e3, 1e6].map(|unit_ns| fio_shares(&latency, unit_ns));
            let shares =
                tables.iter().flat_map(|table| table.as_object().expect("a table").values());
            let all: f64 = shares.filter_map(Value::as_f64).sum();
            assert_eq!(all, 100.0, "{ns} ns: {tables:?}");
        }
    }
}
