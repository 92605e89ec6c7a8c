//! Tests of the states against the table of the standard.

use super::*;
use ZoneState::{Closed, Empty, ExplicitlyOpen, Full, ImplicitlyOpen, Offline, ReadOnly};

const LAYOUT: ZoneLayout = ZoneLayout {
    zones: 6,
    first: 0,
    first_block: nand::geometry::Block(0),
    stride: 16,
    capacity: 12,
    most_open: 2,
    most_active: 3,
    areas: None,
};

/// A machine whose zone 1 is in this state, with 4 units written where the state allows any.
fn machine(state: ZoneState) -> Machine {
    let mut machine = Machine::new(LAYOUT);
    let zone = Lpn(16);
    match state {
        Empty => {}
        Full => _ = machine.admit(Op::ZoneFinish, zone, 0).unwrap(),
        _ => _ = machine.admit(Op::Write, zone, 4).unwrap(),
    }
    match state {
        Closed => _ = machine.admit(Op::ZoneClose, zone, 0).unwrap(),
        ExplicitlyOpen => _ = machine.admit(Op::ZoneOpen, zone, 0).unwrap(),
        ReadOnly | Offline => machine.set(1, state),
        _ => {}
    }
    assert_eq!(machine.zones[1].state, state);
    machine
}

/// Every command in every state: the state that follows, or the error.
#[test]
fn commands_do_what_the_standard_says() {
    use Status::{InvalidZoneStateTransition as Never, ZoneIsFull, ZoneIsOffline, ZoneIsReadOnly};
    type Row = (ZoneState, [Result<ZoneState, Status>; 7]);
    // Read, write at the pointer, append, reset, finish, open, close.
    #[rustfmt::skip]
    let table: [Row; 7] = [
        (Empty, [Ok(Empty), Ok(ImplicitlyOpen), Ok(ImplicitlyOpen), Ok(Empty), Ok(Full),
                 Ok(ExplicitlyOpen), Err(Never)]),
        (ImplicitlyOpen, [Ok(ImplicitlyOpen), Ok(ImplicitlyOpen), Ok(ImplicitlyOpen), Ok(Empty),
                          Ok(Full), Ok(ExplicitlyOpen), Ok(Closed)]),
        (ExplicitlyOpen, [Ok(ExplicitlyOpen), Ok(ExplicitlyOpen), Ok(ExplicitlyOpen), Ok(Empty),
                          Ok(Full), Ok(ExplicitlyOpen), Ok(Closed)]),
        (Closed, [Ok(Closed), Ok(ImplicitlyOpen), Ok(ImplicitlyOpen), Ok(Empty), Ok(Full),
                  Ok(ExplicitlyOpen), Ok(Closed)]),
        (Full, [Ok(Full), Err(ZoneIsFull), Err(ZoneIsFull), Ok(Empty), Ok(Full), Err(Never),
                Err(Never)]),
        (ReadOnly, [Ok(ReadOnly), Err(ZoneIsReadOnly), Err(ZoneIsReadOnly), Err(Never), Err(Never),
                    Err(Never), Err(Never)]),
        (Offline, [Err(ZoneIsOffline), Err(ZoneIsOffline), Err(ZoneIsOffline), Err(Never),
                   Err(Never), Err(Never), Err(Never)]),
    ];
    let ops = [
        Op::Read,
        Op::Write,
        Op::ZoneAppend,
        Op::ZoneReset,
        Op::ZoneFinish,
        Op::ZoneOpen,
        Op::ZoneClose,
    ];
    for (state, answers) in table {
        for (op, answer) in ops.into_iter().zip(answers) {
            let mut machine = machine(state);
            let pointer = machine.zones[1].pointer;
            let first = Lpn(if op == Op::Write { 16 + pointer } else { 16 });
            let told = machine.admit(op, first, 1).map(|_| machine.zones[1].state);
            assert_eq!(told, answer, "{op:?} of a zone that is {state:?}");
            if answer.is_err() {
                assert_eq!((machine.zones[1].state, machine.zones[1].pointer), (state, pointer));
            }
            let open = machine.zones.iter().filter(|zone| zone.state.is_open()).count();
            let active = machine.zones.iter().filter(|zone| zone.state.is_active()).count();
            assert_eq!((machine.open as usize, machine.active as usize), (open, active));
        }
    }
}

/// The host can give up a zone that takes no writes any more, and no other.
#[test]
fn read_only_zones_go_offline() {
    for state in ZoneState::ALL {
        let mut machine = machine(state);
        let told = machine.put_offline(1).map(|()| machine.zones[1].state);
        let answer = match state {
            ReadOnly | Offline => Ok(Offline),
            _ => Err(Status::InvalidZoneStateTransition),
        };
        assert_eq!(told, answer, "{state:?}");
    }
}

#[test]
fn writes_stay_inside_what_a_zone_takes() {
    let mut machine = machine(ImplicitlyOpen);
    let mut admit = |op, first, units| machine.admit(op, Lpn(first), units);
    assert_eq!(admit(Op::Write, 20, 9), Err(Status::ZoneBoundaryError));
    assert_eq!(admit(Op::ZoneAppend, 16, 9), Err(Status::ZoneBoundaryError));
    assert_eq!(admit(Op::Write, 21, 1), Err(Status::ZoneInvalidWrite));
    assert_eq!(admit(Op::Write, 19, 1), Err(Status::ZoneInvalidWrite));
    assert_eq!(admit(Op::ZoneAppend, 17, 1), Err(Status::InvalidField));
    assert_eq!(admit(Op::ZoneReset, 17, 1), Err(Status::InvalidField));
    assert_eq!(admit(Op::Read, 30, 3), Err(Status::ZoneBoundaryError));
    assert_eq!(admit(Op::Trim, 16, 16), Err(Status::InvalidField));
    // Units that a zone does not take read as never written.
    assert_eq!(admit(Op::Read, 29, 3), Ok(Lpn(29)));
    assert_eq!(admit(Op::ZoneAppend, 16, 8), Ok(Lpn(20)));
    assert_eq!(machine.zones[1].state, Full);
}

#[test]
fn limits_hold_and_the_oldest_implicitly_open_zone_makes_room() {
    let mut machine = Machine::new(LAYOUT);
    let mut states = |op, zone: u32| {
        let answer = machine.admit(op, Lpn(16 * zone), 1);
        let states: Vec<ZoneState> = machine.zones.iter().map(|zone| zone.state).collect();
        (answer.err(), states)
    };
    for zone in [0, 1, 0] {
        assert_eq!(states(Op::ZoneAppend, zone).0, None);
    }
    // Zone 1 was written to before zone 0.
    let (error, now) = states(Op::ZoneAppend, 2);
    assert_eq!((error, &now[..3]), (None, &[ImplicitlyOpen, Closed, ImplicitlyOpen][..]));
    assert_eq!(states(Op::ZoneAppend, 3).0, Some(Status::TooManyActiveZones));
    assert_eq!(states(Op::ZoneOpen, 0).0, None);
    let (error, now) = states(Op::ZoneOpen, 1);
    assert_eq!((error, &now[..3]), (None, &[ExplicitlyOpen, ExplicitlyOpen, Closed][..]));
    // Both are open because the host says so: they stay.
    assert_eq!(states(Op::ZoneAppend, 2).0, Some(Status::TooManyOpenZones));
    assert_eq!(states(Op::ZoneClose, 1).0, None);
    assert_eq!(states(Op::ZoneAppend, 2).0, None);
    assert_eq!(states(Op::ZoneReset, 1).0, None);
    assert_eq!(states(Op::ZoneClose, 0).0, None);
    assert_eq!(states(Op::ZoneOpen, 3).0, None);
}
