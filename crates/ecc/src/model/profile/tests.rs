//! Tests that `threshold`, `profile` and `exact` agree on the same codewords.

use super::super::{Constructor, Decode, EccConfig, Model, ROSTER, Word, resolve};
use crate::codec::Codec;
use crate::lab::curve::Goal;
use crate::lab::profile::Profile;
use crate::lab::survey::{Plan, Survey};
use crate::model::named_code::NamedCode;
use base::error::assert_carries;
use base::family::{Choice, Member, find};
use base::params::{self, Table};
use base::rng::{Rng, turn};
use std::sync::Arc;

const BCH: &str = include_str!("../../../../../params/codes/bch_512_t40.toml");
/// Code of 9193 bits, which do not fill their last byte.
const BCH_9193: &str = include_str!("../../../../../params/codes/bch_1024_t72.toml");
const LDPC: &str = include_str!("../../../../../params/codes/ldpc_1k_r90.toml");

fn with_code(text: &str, profile: Option<(&str, &str)>) -> EccConfig {
    let mut common = EccConfig { code: "code".into(), ..EccConfig::default() };
    common.take_code(NamedCode::read(text, "code.toml", profile).unwrap()).unwrap();
    common
}

fn model(common: &EccConfig, name: &str, params: &str) -> Box<dyn Model> {
    let params = params::parse(params, "test").unwrap();
    let mut choice = Choice { name: name.to_owned(), params };
    (resolve(common, &mut choice).unwrap().build.build)(common, &choice.params).unwrap()
}

/// Rates of failures, errors and iterations of `words` words at `rber` and `level`.
fn count(model: &mut dyn Model, rber: f64, level: u8, words: u32) -> [f64; 3] {
    let mut rng = Rng::stream(7, "words");
    let mut sums = [0.0; 3];
    for _ in 0..words {
        let Decode { corrected, errors, iterations, .. } =
            model.decode(&Word { rber, level, luck: rng.unit() });
        let seen = [f64::from(u8::from(!corrected)), errors.into(), iterations.into()];
        sums.iter_mut().zip(seen).for_each(|(sum, one)| *sum += one);
    }
    sums
}

/// For a decoder that always corrects t errors, all three models give each word the same outcome,
/// with any number of soft reads.
#[test]
fn bounded_distance_is_one_thing_in_three_models() {
    // 40 errors in 4616 bits are a rate of 0.0087, 72 in 9193 one of 0.0078.
    for code in [BCH, BCH_9193] {
        let common = with_code(code, None);
        let mut threshold = model(&common, "threshold", "");
        let mut played = model(&common, "profile", "");
        let mut exact = model(&common, "exact", "");
        let mut rng = Rng::stream(3, "words");
        let mut failed = 0;
        for i in (0..1500).step_by(turn::few_or_all(3, 1)) {
            let word = Word { rber: 0.004 + 6e-6 * f64::from(i), level: 0, luck: rng.unit() };
            let (bound, told, real) =
                (threshold.decode(&word), played.decode(&word), exact.decode(&word));
            // All three round a rate alike: not one word lies between them.
            assert_eq!((bound.errors, bound.corrected), (real.errors, real.corrected), "{word:?}");
            assert_eq!((told.errors, told.corrected), (real.errors, real.corrected), "{word:?}");
            assert_eq!((told.iterations, real.iterations), (1, 1), "{word:?}");
            failed += u32::from(!real.corrected);
            let soft = Word { level: 2, ..word };
            for (model, hard) in [(&mut threshold, bound), (&mut played, told), (&mut exact, real)]
            {
                assert_eq!(model.decode(&soft).corrected, hard.corrected, "no soft reads");
            }
        }
        let words = turn::few_or_all(500, 1500);
        assert!((words / 5..words * 4 / 5).contains(&failed), "{failed}");
        let clean = exact.decode(&Word { rber: 1e-9, level: 0, luck: 0.5 });
        assert_eq!((clean.errors, clean.corrected, clean.iterations), (0, true, 0));
    }
}

fn measured() -> (EccConfig, Profile) {
    let codec = Codec::read(LDPC, "code.toml", &[], None).unwrap();
    let plan = Plan {
        channel: Choice::named("awgn"),
        levels: vec![0, 2],
        goal: Goal { errors: 100, max_frames: 600 },
        seed: 1,
        threads: 2,
    };
    let mut survey = Survey::new(Arc::new(codec), "code", plan, "a test").unwrap();
    while survey.advance(&mut |_, _, _| true).unwrap() {}
    let profile = survey.profile().clone();
    (with_code(LDPC, Some((&profile.write(), "code.profile.toml"))), profile)
}

/// For an LDPC code, measured here, the model that plays it back and the one that decodes agree on
/// failures and iterations: by hard decision and with a soft read, on and between measured rates.
#[test]
fn what_was_measured_is_what_is_decoded() {
    let (common, profile) = measured();
    let mut played = model(&common, "profile", "");
    let mut exact = model(&common, "exact", "");
    for level in [0u8, 1] {
        let known = &profile.level[usize::from(level)];
        // A rate in the middle of the waterfall, one between two measured ones, and a calm one.
        let half = known.errors.iter().zip(&known.frames).position(|(k, n)| 2 * k > *n).unwrap();
        let rates =
            [known.rber[half], (known.rber[half - 1] * known.rber[half - 2]).sqrt(), known.rber[0]];
        for rber in rates {
            let words = turn::few_or_all(100, 600);
            let (ours, theirs) =
                (count(&mut *played, rber, level, words), count(&mut *exact, rber, level, words));
            let n = f64::from(words);
            let p = (ours[0] + theirs[0]) / (2.0 * n);
            // Four standard errors: both samples, and the measurement behind one of them, which
            // ends after 100 failures: its words are taken for a third of these, or more.
            let spread = 4.0 * (5.0 * p * (1.0 - p) / n).sqrt();
            let distance = (ours[0] - theirs[0]).abs() / n;
            assert!(distance <= spread, "level {level}, {rber:e}: {ours:?} and {theirs:?}");
            assert_eq!(ours[1], theirs[1], "the same words");
            let (ours, theirs) = (ours[2] / n, theirs[2] / n);
            // A word that fails takes all 40 iterations.
            let spread = 40.0 * spread + 0.05 * theirs + 0.02;
            assert!((ours - theirs).abs() < spread, "{rber:e}: {ours} {theirs}");
        }
    }
}

/// Values between, above and below the points of a profile with two levels, made up here.
#[test]
fn nothing_is_claimed_that_was_not_measured() {
    let codec = Codec::read(LDPC, "code.toml", &[], None).unwrap();
    let level = |levels, errors: [u64; 4]| crate::lab::profile::Level {
        levels,
        rber: vec![1e-3, 2e-3, 4e-3, 8e-3],
        frames: vec![1000; 4],
        errors: errors.to_vec(),
        undetected: vec![0; 4],
        iterations: vec![vec![400, 600], vec![100, 900], vec![0, 500, 500], vec![0, 0, 1000]],
    };
    // At the soft read counts scatter the wrong way round, and one is above that of the hard read.
    let levels = vec![level(0, [0, 20, 500, 1000]), level(2, [0, 30, 25, 990])];
    let mut profile = Profile::new(&codec, "code", "awgn", 1, "a test").unwrap();
    profile.level = levels;
    let common = with_code(LDPC, Some((&profile.write(), "code.profile.toml")));
    let mut played = model(&common, "profile", "");
    let mut failures = |rber: f64, level: u8| {
        // By halving: the luck from which on words fail.
        let (mut low, mut high) = (0.0, 1.0);
        for _ in 0..50 {
            let luck = 0.5 * (low + high);
            if played.decode(&Word { rber, level, luck }).corrected {
                low = luck
            } else {
                high = luck
            }
        }
        1.0 - low
    };
    let close = |a: f64, b: f64| (a / b - 1.0).abs() < 0.02;
    // On the points, as far as rates are told apart.
    assert!(close(failures(4e-3, 0), 0.5), "{}", failures(4e-3, 0));
    assert!(close(failures(2e-3, 0), 0.02), "{}", failures(2e-3, 0));
    // Half a failure at the first rate without any; none below; all above the last.
    assert!((0.0005..0.0007).contains(&failures(1.01e-3, 0)), "{}", failures(1.01e-3, 0));
    assert!(failures(0.99e-3, 0) < 1e-12 && failures(1e-5, 1) < 1e-12);
    assert!(close(failures(9e-3, 0), 1.0) && close(failures(0.3, 1), 1.0));
    // Between: rising.
    let (mut hard, mut soft) = (0.0, 0.0);
    for i in 0..200 {
        let rber = 0.9e-3 * 1.012f64.powi(i);
        let (now, told) = (failures(rber, 0), failures(rber, 1));
        assert!(now >= hard && told >= soft && told <= now, "{rber:e}: {now} {told}");
        assert_eq!(told, failures(rber, 3), "further levels are as the last");
        (hard, soft) = (now, told);
    }
    // Below all rates there are fewer words with errors: e^(-n p) of them have none.
    let bits = f64::from(common.codeword_bits());
    let words = 20_000;
    let [_, _, iterations] = count(&mut *played, 1e-5, 0, words);
    let expected = 1.0 - (-bits * 1e-5).exp();
    let share = iterations / f64::from(words);
    assert!((share - expected).abs() < 4.0 * (expected / f64::from(words)).sqrt(), "{share}");
}

/// `threshold` takes its numbers from a code that has them, and from no other. Refuses a drive with
/// other numbers.
#[test]
fn a_code_says_how_many_errors_it_corrects() {
    let resolved = |code: &str, params: &str| {
        let params = params::parse(params, "test").unwrap();
        let mut choice = Choice { name: "threshold".into(), params };
        resolve(&with_code(code, None), &mut choice)?;
        Ok::<Table, base::Error>(choice.params)
    };
    let table = |text: &str| params::parse(text, "test").unwrap();
    for (code, params, complete) in [
        (BCH, "", "t = 40\nt_soft = [40]"),
        (BCH, "t = 40\nt_soft = [40]", "t = 40\nt_soft = [40]"),
        (BCH_9193, "", "t = 72\nt_soft = [72]"),
        (LDPC, "t = 40", "t = 40\nt_soft = [108, 120]"),
    ] {
        assert_eq!(resolved(code, params).unwrap(), table(complete), "{params}");
    }
    for (params, parts) in [
        ("t = 39", ["ecc.t", "39", "`code`", "40"]),
        ("t_soft = [108]", ["ecc.t_soft", "[108]", "`code`", "[40]"]),
    ] {
        let error = resolved(BCH, params).unwrap_err();
        assert!(!error.hint.is_empty(), "{error}");
        assert_carries(error, &parts);
    }
}

/// A code without a fixed t is not given that of another.
#[test]
fn threshold_asks_for_the_t_of_an_ldpc_code() {
    let resolved = |common: &EccConfig, params: &str| {
        let mut choice = Choice::named("threshold");
        choice.params = params::parse(params, "test").unwrap();
        resolve(common, &mut choice).map(|_| choice.params["t"].as_integer())
    };
    let ldpc = with_code(LDPC, None);
    for params in ["", "t_soft = [300]"] {
        let error = resolved(&ldpc, params).unwrap_err();
        assert_eq!(error.place, "ecc.t");
        assert_carries(error, &["missing", "`code`", "ecc.model", "\"profile\"", "\"exact\""]);
    }
    assert_eq!(resolved(&ldpc, "t = 30").unwrap(), Some(30));
    assert_eq!(resolved(&EccConfig::default(), "").unwrap(), Some(100), "no code: the default");
}

#[test]
fn errors_name_file_and_reason() {
    let plain = EccConfig { payload_bytes: 512, ..EccConfig::default() };
    for name in ["profile", "exact"] {
        let member: &Member<Constructor> = find(ROSTER, "ecc.model", name).unwrap();
        let error = (member.build.build)(&plain, &Table::new()).map(drop).unwrap_err();
        assert_carries(error, &["ecc.code", name]);
    }
    let member: &Member<Constructor> = find(ROSTER, "ecc.model", "profile").unwrap();
    let error = (member.build.build)(&with_code(LDPC, None), &Table::new()).map(drop).unwrap_err();
    assert_carries(error, &["ecc.model", "`code`", "no profile", "nandlab ecc profile"]);
    let code = NamedCode::read(LDPC, "code.toml", None).unwrap();
    for (key, mut config) in [
        ("ecc.payload_bytes", EccConfig { payload_bytes: 4096, ..EccConfig::default() }),
        ("ecc.parity_bytes", EccConfig { parity_bytes: 1, ..EccConfig::default() }),
        ("ecc.code_hash", EccConfig { code_hash: "0".into(), ..EccConfig::default() }),
    ] {
        let error = config.take_code(code.clone()).unwrap_err();
        assert_eq!(error.place, key);
        assert!(!error.hint.is_empty(), "{error}");
    }
}
