//! Tests of the parts of a latency, as a completion gives them.

use crate::drive;

use base::Time;
use ssd::request::{Op, Request};
use ssd::{Completion, Step};

fn lonely(request: Request) -> Completion {
    let mut ssd = drive::small(&[]);
    ssd.start(0);
    ssd.submit(request, 0, Time::ZERO);
    let Step::Completed(slot) = ssd.step() else { panic!("lost") };
    *ssd.completed(slot)
}

/// A durable write waits for its program: one page in, one program of a lower page.
#[test]
fn a_durable_write_says_where_its_time_went() {
    let mut request = Request::new(Op::Write, 0, 8192);
    request.fua = true;
    let done = lonely(request);
    assert_eq!(done.parts.flash, Time::from_us(400.0));
    assert_eq!(done.parts.bus, Time::from_us(0.1 + 8192.0 / 400.0));
    assert_eq!((done.parts.queue, done.parts.ecc), (Time::ZERO, Time::ZERO));
}

/// A write that is acknowledged from the buffer has waited for no flash.
#[test]
fn a_buffered_write_has_no_parts() {
    assert_eq!(lonely(Request::new(Op::Write, 0, 8192)).parts, ssd::Parts::default());
}
