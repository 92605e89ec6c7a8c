//! Tests of the temperature of a drive: how much its reads disturb.

use crate::ageing::read_passes;
use crate::ftl::Lpn;
use crate::terms::request::{Op, Request};
use crate::{Ssd, Step, test_drive};

/// Drive whose cells a read at 50 C disturbs as much as two at 30 C.
fn drive(sets: &[&str]) -> Ssd {
    let ev = 8.617_333_262e-5 * std::f64::consts::LN_2 / (1.0 / 303.15 - 1.0 / 323.15);
    let own = [
        "chip.cell.levels={vth_mean_v=[-2.0, 1.0], vth_sigma_v=[0.4, 0.2]}",
        "chip.cell.read_disturb.rate_uv=20.0",
        &format!("chip.cell.read_disturb.activation_ev={ev:?}"),
        "chip.array.name=table",
    ];
    Ssd::new(&test_drive::config(&[&own, sets].concat()), 1 << 30).unwrap()
}

fn ask(ssd: &mut Ssd, op: Op) {
    let now = ssd.now();
    ssd.submit(Request::new(op, 0, 4096), 0, now);
    while !matches!(ssd.step(), Step::Idle) {}
}

/// Reads of the block of the first unit, and the reads at 30 C that disturb as much.
fn reads(ssd: &Ssd) -> (u32, u32) {
    let chips = &ssd.flash.chips;
    let (block, page) = chips.geometry.page_of(ssd.ftl.lookup(Lpn(0)).unwrap());
    (chips.reads(block), chips.state(block, page).reads)
}

/// Reads of a run count by the temperature of the drive, those without time by that of its
/// surroundings.
#[test]
fn reads_count_by_the_temperature_of_the_drive() {
    let thermal = "power.thermal={capacity_j_per_k=1e4, resistance_k_per_w=1.0, ambient_c=30.0, \
                   start_c=50.0}";
    for (set, warm, untimed) in
        [(thermal, 2, 1), ("age.temperature_c=50.0", 2, 2), ("age.temperature_c=30.0", 1, 1)]
    {
        let mut ssd = drive(&[set]);
        ssd.start(0);
        ask(&mut ssd, Op::Write);
        ssd.settle().unwrap();
        (0..200).for_each(|_| ask(&mut ssd, Op::Read));
        assert_eq!(reads(&ssd), (200, 200 * warm), "{set}");
        read_passes(&mut ssd, 1000, 1).unwrap();
        assert_eq!(reads(&ssd), (1200, 200 * warm + 1000 * untimed), "{set}");
        ask(&mut ssd, Op::Read);
        assert_eq!(reads(&ssd), (1201, 201 * warm + 1000 * untimed), "{set}");
    }
}
