//! Window of a life: its age and wear, and the figures of its timed run.

use super::plan::HOURS_PER_YEAR;
use serde::Serialize;
use serde_json::Value;

/// Window of a life: its age, its wear, and what its timed run has measured. Names are the columns
/// of `nandlab life`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Window {
    /// Calendar time since the life began.
    pub years: f64,
    /// Data written by the host since the life began, in 10^12 bytes.
    pub tb_written: f64,
    /// Data written by the host since the life began, over the capacity.
    pub drive_writes: f64,
    /// Drive writes per day since the window before.
    pub dwpd: f64,
    /// Least cycles of the blocks in use.
    pub pe_cycles_min: u32,
    /// Mean cycles of the blocks in use.
    pub pe_cycles_mean: f64,
    /// Most cycles of the blocks in use.
    pub pe_cycles_max: u32,
    /// Most cycles without a rest that wear as those of a block in use have.
    pub most_worn_cycles: u32,
    /// Blocks that have failed since the life began.
    pub failed_blocks: u64,
    /// Write amplification of the ageing since the window before; `None` in the first.
    pub write_amplification: Option<f64>,
    /// Energy since the life began: that of each window for each byte, times the bytes written
    /// since the window before.
    pub energy_j: f64,
    /// Figures of the timed run; `None` once the drive is read-only.
    #[serde(flatten)]
    pub run: Option<Service>,
}

impl Window {
    /// Energy for each 10^9 bytes that the host writes; `None` where its run has written nothing.
    fn energy_j_per_gb(&self) -> Option<f64> {
        self.run.as_ref().and_then(|run| run.energy_j_per_gb)
    }

    /// Adds what has passed since the window before: drive writes per day, and energy.
    pub(super) fn since(mut self, before: Option<&Self>) -> Self {
        let Some(before) = before else { return self };
        let days = (self.years - before.years) * HOURS_PER_YEAR / 24.0;
        if days > 0.0 {
            self.dwpd = (self.drive_writes - before.drive_writes) / days;
        }
        // The window before speaks for the time since it.
        let each = before.energy_j_per_gb().filter(|&each| each != 0.0);
        let each = each.or(self.energy_j_per_gb()).unwrap_or(0.0);
        self.energy_j = before.energy_j + (self.tb_written - before.tb_written) * 1e3 * each;
        self
    }
}

/// Figures of a timed run of a life.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Service {
    read_us_mean: Option<f64>,
    read_us_p50: Option<f64>,
    read_us_p99: Option<f64>,
    read_us_p99_9: Option<f64>,
    read_us_p99_99: Option<f64>,
    write_us_mean: Option<f64>,
    write_us_p50: Option<f64>,
    write_us_p99: Option<f64>,
    write_us_p99_9: Option<f64>,
    write_us_p99_99: Option<f64>,
    iops: Option<f64>,
    bandwidth_mb_s: Option<f64>,
    run_write_amplification: Option<f64>,
    codewords: Option<u64>,
    rber: Option<f64>,
    hard_failures: Option<u64>,
    retries: Option<u64>,
    soft_reads: u64,
    uncorrectable: Option<u64>,
    requests_failed: Option<u64>,
    energy_j_per_gb: Option<f64>,
}

impl Service {
    /// Figures of a run by its report, with codewords of so many bytes.
    pub(super) fn of(report: &Value, codeword_bytes: u32) -> Self {
        let number = |path: &str| report.pointer(path).and_then(Value::as_f64);
        let count = |path: &str| report.pointer(path).and_then(Value::as_u64);
        let sum = |a: &str, b: &str| Some(number(a)? + number(b)?);
        let latency = |op: &str, key: &str| {
            let count = count(&format!("/host/{op}/latency_us/count")).unwrap_or(0);
            number(&format!("/host/{op}/latency_us/{key}")).filter(|_| count > 0)
        };
        let soft = report.pointer("/ecc/soft_reads").and_then(Value::as_array);
        let bits = count("/ecc/codewords").unwrap_or(0) as f64 * 8.0 * f64::from(codeword_bytes);
        let written = number("/host/write/bytes").filter(|&bytes| bytes > 0.0);
        let used_uj = sum("/nand/energy_uj", "/ecc/energy_uj");
        Self {
            read_us_mean: latency("read", "mean"),
            read_us_p50: latency("read", "p50"),
            read_us_p99: latency("read", "p99"),
            read_us_p99_9: latency("read", "p99_9"),
            read_us_p99_99: latency("read", "p99_99"),
            write_us_mean: latency("write", "mean"),
            write_us_p50: latency("write", "p50"),
            write_us_p99: latency("write", "p99"),
            write_us_p99_9: latency("write", "p99_9"),
            write_us_p99_99: latency("write", "p99_99"),
            iops: number("/host/iops"),
            bandwidth_mb_s: number("/host/bandwidth_mb_s"),
            run_write_amplification: number("/ftl/write_amplification"),
            codewords: count("/ecc/codewords"),
            rber: number("/ecc/raw_bit_errors").filter(|_| bits > 0.0).map(|errors| errors / bits),
            hard_failures: count("/ecc/hard_failures"),
            retries: count("/ecc/retries"),
            soft_reads: soft.into_iter().flatten().filter_map(Value::as_u64).sum(),
            uncorrectable: count("/ecc/uncorrectable"),
            requests_failed: count("/host/requests_failed"),
            energy_j_per_gb: used_uj.zip(written).map(|(uj, bytes)| uj / 1e6 / (bytes / 1e9)),
        }
    }
}
