//! Reads that are lost, with parity over dies and without it: as many as a closed form says.

use crate::drive;
use crate::parity::losing;

use ecc::model::sample::binomial_tail;
use ssd::Step;
use ssd::ftl::Lpn;
use ssd::precondition::Precondition;
use ssd::request::{Op, Request};

/// Drive whose codewords fail, and the chance of it.
struct Failing {
    /// Name of the drive in a row of the validation.
    name: &'static str,
    /// Dies of a superblock, and so pages of each stripe.
    dies: u32,
    /// Pages of parity in a stripe.
    pages: u32,
    blocks: u32,
    sets: Vec<String>,
    /// Probability that a unit is given up, for each page type.
    q: [f64; 2],
    /// Drives that are read, each with a seed of its own.
    seeds: u64,
}

/// Reads of whole drives.
#[derive(Default)]
struct Found {
    /// Units that were read, by the type of their page.
    units: [u64; 2],
    /// Reads that the code and its retries have given up.
    given_up: u64,
    /// Reads that have failed at the host.
    lost: u64,
}

impl Failing {
    /// A drive a share `q` of whose codewords no retry corrects.
    fn by_share(name: &'static str, dies: u32, pages: u32, q: f64, seeds: u64) -> Self {
        let blocks = 30 + 10 * u32::from(dies == 2 || pages == 2);
        let mut sets = losing(q).to_vec();
        sets.push("retry.retire_after=0".to_owned());
        Self { name, dies, pages, blocks, sets, q: [q; 2], seeds }
    }

    /// A drive that errs, one bit in a thousand of lower pages and 1.12 times as many of upper
    /// ones, with a code that corrects 42 errors of 32,768 bits.
    fn by_bit_errors(name: &'static str, pages: u32, seeds: u64) -> Self {
        let (rber, factor, t) = (1e-3, 1.12, 42);
        let sets = vec![
            format!(
                "chip.array={{name='power_law', epsilon={rber}, alpha=0.0, beta=0.0, gamma=0.0, \
                 page_factor_1={factor}}}"
            ),
            format!("ecc={{model='threshold', t={t}, payload_bytes=4096}}"),
        ];
        let q = [rber, factor * rber].map(|rber| binomial_tail(8 * 4096, t, rber));
        Self { name, dies: 4, pages, blocks: 30, sets, q, seeds }
    }

    /// Reads every unit of the full drive once.
    fn read_all(&self, seed: u64, found: &mut Found) {
        let more = [
            format!("ftl.superblock_dies={}", self.dies),
            format!("parity.pages={}", self.pages),
            format!("chip.geometry.blocks_per_plane={}", self.blocks),
            format!("seed={seed}"),
            "ftl.gc_reserve_blocks=2".to_owned(),
            "ftl.overprovisioning=3".to_owned(),
        ];
        let config = drive::config(&[&self.sets[..], &more].concat());
        let chips = ssd::build::chips(&config).unwrap();
        let mut ssd = ssd::Ssd::new(&config, 1 << 30).unwrap();
        drive::prepare(&mut ssd, Precondition::Fill);
        ssd.start(0);
        let bytes = ssd.unit_bytes();
        let units = ssd.capacity_bytes() / bytes;
        for lpn in (0..units).map(|unit| Lpn(unit as u32)) {
            let (_, page) = chips.geometry.page_of(ssd.ftl_mut().lookup(lpn).unwrap());
            found.units[usize::from(chips.first().page_type(page))] += 1;
        }
        let (mut submitted, mut completed) = (0, 0);
        let before = found.lost;
        while completed < units {
            while ssd.has_room() && submitted < units {
                ssd.submit(Request::new(Op::Read, submitted * bytes, bytes), 0, ssd.now());
                submitted += 1;
            }
            if let Step::Completed(slot) = ssd.step() {
                found.lost += u64::from(ssd.completed(slot).failed);
                completed += 1;
            }
        }
        let (counts, lost) = (ssd.counts(), found.lost - before);
        found.given_up += counts.parity.rebuilt_reads + lost;
        if self.pages == 0 {
            assert_eq!(counts.codes.uncorrectable, lost);
        } else {
            assert_eq!(counts.parity.lost_reads, lost);
        }
    }

    /// Probability that a unit is lost whose page fails with probability `q`: at least as many
    /// others of its stripe fail as are parity.
    fn lost(&self, q: f64) -> f64 {
        let others = self.dies - 1;
        q * (self.pages..=others).map(|failed| exactly(failed, others, q)).sum::<f64>()
    }

    /// Variance of the units that are lost at one place of a stripe. Its pages are lost together.
    fn variance(&self, q: f64) -> f64 {
        let data = self.dies - self.pages;
        let (mut mean, mut square) = (0.0, 0.0);
        for lost in 1..=data {
            for parity in (0..=self.pages).filter(|parity| lost + parity > self.pages) {
                let chance = exactly(lost, data, q) * exactly(parity, self.pages, q);
                mean += f64::from(lost) * chance;
                square += f64::from(lost * lost) * chance;
            }
        }
        let expected = f64::from(data) * self.lost(q);
        assert!((mean / expected - 1.0).abs() < 1e-9, "{mean}, not {expected}");
        square - mean * mean
    }
}

/// Probability that exactly `failed` of `pages` pages fail, each with probability `q`.
fn exactly(failed: u32, pages: u32, q: f64) -> f64 {
    let ways: f64 = (0..failed).map(|i| f64::from(pages - i) / f64::from(i + 1)).product();
    ways * q.powi(failed as i32) * (1.0 - q).powi((pages - failed) as i32)
}

/// Shares of reads that are given up, and that are lost, stand within three standard deviations of
/// the closed form. Its q is that of the drive's settings, or follows from bit errors by the tail
/// of the binomial.
#[test]
fn lost_reads_are_as_many_as_the_closed_form_says() {
    let by_share = Failing::by_share;
    let drives = [
        by_share("no parity", 4, 0, 0.03, 60),
        by_share("stripes of 2 dies", 2, 1, 0.03, 200),
        by_share("stripes of 4 dies", 4, 1, 0.03, 150),
        by_share("stripes of 4 dies, 2 of them parity", 4, 2, 0.1, 120),
        Failing::by_bit_errors("bit errors, no parity", 0, 40),
        Failing::by_bit_errors("bit errors, stripes of 4 dies", 1, 60),
        Failing::by_bit_errors("bit errors, stripes of 4 dies, 2 of them parity", 2, 100),
    ];
    for drive in drives {
        let mut found = Found::default();
        (0..drive.seeds).for_each(|seed| drive.read_all(seed, &mut found));
        let Found { units, given_up, lost } = found;
        let sum = |of: &dyn Fn(f64) -> f64| -> f64 {
            units.iter().zip(drive.q).map(|(&units, q)| units as f64 * of(q)).sum()
        };
        let data = f64::from(drive.dies - drive.pages);
        let by_errors = if drive.q[0] == drive.q[1] { "" } else { ", q by page type" };
        let formula = ["q", "q (1 - (1 - q)^k)", "q P(2 or more of k + 1)"];
        let rows = [
            ("given up", given_up, sum(&|q| q), sum(&|q| q * (1.0 - q)), formula[0]),
            (
                "lost",
                lost,
                sum(&|q| drive.lost(q)),
                sum(&|q| drive.variance(q) / data),
                formula[drive.pages as usize],
            ),
        ];
        // What no parity gives back is lost: the first row says the same.
        for (what, count, expected, variance, formula) in
            rows.into_iter().skip(usize::from(drive.pages == 0))
        {
            let (tolerance, all) = (3.0 * variance.sqrt() / expected, units[0] + units[1]);
            println!(
                "validation | share of {all} reads that are {what}, {} | {:.6} | {:.6} | \
                 {tolerance:.4} | {formula}{by_errors}",
                drive.name,
                count as f64 / all as f64,
                expected / all as f64,
            );
            let deviation = count as f64 / expected - 1.0;
            assert!(deviation.abs() < tolerance, "{}: {deviation} {what}", drive.name);
            assert!(tolerance < 0.15, "{}: {tolerance}, too few trials", drive.name);
        }
    }
}
