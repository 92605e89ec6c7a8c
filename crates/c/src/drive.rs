//! Drives that C opens, brings from time to time, and closes.

use crate::guard::{Outcome, guarded, keep};
use crate::request::{Completion, Request};
use crate::text::{owned, read, read_all};
use base::{Error, Result, Time};
use host::config::{self, Loaded};
use host::drive::Drive as AtRest;
use host::lockstep::Lockstep;
use host::report::Outside;
use host::session::{Session, Workload};
use ssd::precondition::Precondition;
use std::ffi::{CString, c_char};
use std::path::Path;

/// A drive in lock-step with its caller. One thread at a time may use it.
pub struct Drive {
    lockstep: Lockstep,
    /// Defect that has broken the drive.
    defect: Option<String>,
}

/// Time that is later than all events.
const NEVER_NS: u64 = u64::MAX;

/// A limit in bytes, where 0 stands for none.
fn limit(bytes: u64) -> u64 {
    if bytes == 0 { u64::MAX } else { bytes }
}

/// Gives a new drive to the caller, or NULL with the error kept.
fn given(make: impl FnOnce() -> Result<Session>) -> *mut Drive {
    let made = guarded(|| Lockstep::new(make()?));
    made.map_or(std::ptr::null_mut(), |lockstep| {
        Box::into_raw(Box::new(Drive { lockstep, defect: None }))
    })
}

/// Session of a drive that was loaded, brought into the state of `precondition`.
///
/// # Safety
///
/// `precondition` is NULL, or a text that ends with a zero byte.
unsafe fn session(
    loaded: Loaded,
    precondition: *const c_char,
    memory_limit: u64,
) -> Result<Session> {
    let goals = Precondition::ALL;
    let goal = if precondition.is_null() {
        Precondition::None
    } else {
        // SAFETY: the caller promises a text.
        let name = unsafe { read(precondition, "precondition") }?;
        let known = goals.iter().find(|(known, _)| *known == name);
        known.map(|&(_, goal)| goal).ok_or_else(|| {
            Error::unknown("precondition", "state", name, goals.map(|(name, _)| name))
        })?
    };
    Session::new(loaded, &Workload::Clients, goal, limit(memory_limit))
}

/// Calls `act` on a drive, and marks the drive as broken where that panics.
///
/// # Safety
///
/// `drive` is NULL, or a drive that was opened and not closed.
unsafe fn with(drive: *mut Drive, act: impl FnOnce(&mut Lockstep) -> Result<()>) -> Outcome {
    // SAFETY: the caller promises a drive, which one thread uses.
    let Some(drive) = (unsafe { drive.as_mut() }) else {
        keep("drive: NULL; expected: a drive that nandlab_open has returned");
        return Outcome::Refused;
    };
    if let Some(defect) = &drive.defect {
        keep(defect);
        return Outcome::Broken;
    }
    let mut refused = None;
    let done = guarded(|| {
        refused = act(&mut drive.lockstep).err();
        Ok(())
    });
    match (done, refused) {
        (Some(()), None) => Outcome::Ok,
        (Some(()), Some(error)) => {
            keep(&error.to_string());
            match drive.lockstep.fault() {
                Some(fault) => {
                    drive.defect = Some(fault.to_string());
                    Outcome::Broken
                }
                None => Outcome::Refused,
            }
        }
        (None, _) => {
            drive.defect = Some("drive: broken by a defect of nandlab".to_owned());
            Outcome::Broken
        }
    }
}

/// Answers a question about a drive; `otherwise` of NULL and of a broken drive.
///
/// # Safety
///
/// `drive` is NULL, or a drive that was opened and not closed.
unsafe fn ask(drive: *mut Drive, otherwise: u64, question: impl FnOnce(&Lockstep) -> u64) -> u64 {
    let mut answer = otherwise;
    let act = |drive: &mut Lockstep| {
        answer = question(drive);
        Ok(())
    };
    // SAFETY: the caller promises a drive.
    unsafe { with(drive, act) };
    answer
}

/// Opens a drive by the name of a preset or the path of a drive file, with `count` assignments
/// `"path=value"` laid over it, and brings it into the state of `precondition` (`"none"`, `"fill"`,
/// `"steady"`, `"rested"`; NULL is `"none"`). Refuses a drive that takes more than `memory_limit`
/// bytes; 0 is no limit. Returns NULL where it is refused.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nandlab_open(
    drive: *const c_char,
    sets: *const *const c_char,
    count: usize,
    precondition: *const c_char,
    memory_limit: u64,
) -> *mut Drive {
    // SAFETY: the caller promises texts.
    given(|| unsafe {
        let loaded = config::load(read(drive, "drive")?, &read_all(sets, count, "sets")?)?;
        session(loaded, precondition, memory_limit)
    })
}

/// Opens a drive by the text of a drive file, otherwise as `nandlab_open`. Paths in it are relative
/// to the working folder.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nandlab_open_text(
    toml: *const c_char,
    sets: *const *const c_char,
    count: usize,
    precondition: *const c_char,
    memory_limit: u64,
) -> *mut Drive {
    // SAFETY: the caller promises texts.
    given(|| unsafe {
        let sets = read_all(sets, count, "sets")?;
        let loaded = config::load_text(read(toml, "toml")?, "toml", &sets)?;
        session(loaded, precondition, memory_limit)
    })
}

/// Opens a drive that `nandlab_save` or the command `nandlab save` has saved. Its time begins at 0.
/// Returns NULL where it is refused.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nandlab_load(path: *const c_char, memory_limit: u64) -> *mut Drive {
    given(|| {
        // SAFETY: the caller promises a text.
        let path = unsafe { read(path, "path") }?;
        Session::on(AtRest::load(Path::new(path), limit(memory_limit))?, &Workload::Clients)
    })
}

/// Closes a drive. NULL is left alone.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nandlab_close(drive: *mut Drive) {
    if !drive.is_null() {
        // SAFETY: it came from a box, and the caller promises not to use it again.
        let drive = unsafe { Box::from_raw(drive) };
        let _ = guarded(|| {
            drop(drive);
            Ok(())
        });
    }
}

/// Bytes that the drive offers; 0 of NULL and of a broken drive.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nandlab_capacity_bytes(drive: *mut Drive) -> u64 {
    // SAFETY: the caller promises a drive.
    unsafe { ask(drive, 0, Lockstep::capacity_bytes) }
}

/// Present time of the drive, in ns; `UINT64_MAX` of NULL and of a broken drive.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nandlab_now_ns(drive: *mut Drive) -> u64 {
    // SAFETY: the caller promises a drive.
    unsafe { ask(drive, NEVER_NS, |drive| drive.now().ns()) }
}

/// Requests that were submitted and are not complete; 0 of NULL and of a broken drive.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nandlab_under_way(drive: *mut Drive) -> u64 {
    // SAFETY: the caller promises a drive.
    unsafe { ask(drive, 0, Lockstep::under_way) }
}

/// Time of the next event, in ns: nothing happens before it, unless a request comes. `UINT64_MAX`
/// where nothing will happen.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nandlab_next_event_ns(drive: *mut Drive) -> u64 {
    // SAFETY: the caller promises a drive.
    unsafe { ask(drive, NEVER_NS, |drive| drive.next_event().map_or(NEVER_NS, Time::ns)) }
}

/// Submits a request. Requests of one time arrive in the order in which they were submitted; those
/// of the present arrive before the next event.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nandlab_submit(drive: *mut Drive, request: *const Request) -> Outcome {
    // SAFETY: the caller promises a drive and a request.
    unsafe {
        with(drive, |drive| {
            let request = request.as_ref().ok_or_else(|| Error::new("request", "NULL"))?;
            let (asked, at) = request.read()?;
            drive.submit(request.tag, asked, at)
        })
    }
}

/// Performs all events up to `until_ns`, and brings the drive to that time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nandlab_advance(drive: *mut Drive, until_ns: u64) -> Outcome {
    // SAFETY: the caller promises a drive.
    unsafe { with(drive, |drive| drive.advance(Time(until_ns))) }
}

/// Performs the next event, at whatever time it is. Nothing happens where there is none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nandlab_step(drive: *mut Drive) -> Outcome {
    // SAFETY: the caller promises a drive.
    unsafe { with(drive, |drive| drive.step().map(drop)) }
}

/// Takes the oldest completion that was not taken yet. Returns false where there is none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nandlab_take(drive: *mut Drive, completion: *mut Completion) -> bool {
    let mut is_taken = false;
    // SAFETY: the caller promises a drive and room for a completion.
    unsafe {
        with(drive, |drive| {
            let place = completion.as_mut().ok_or_else(|| Error::new("completion", "NULL"))?;
            if let Some(done) = drive.take() {
                (*place, is_taken) = (done.into(), true);
            }
            Ok(())
        });
    }
    is_taken
}

/// Report of all requests that are complete, as JSON. Returns NULL where it is refused. To be freed
/// with `nandlab_free_text`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nandlab_report(drive: *mut Drive) -> *mut c_char {
    let mut text = std::ptr::null_mut();
    // SAFETY: the caller promises a drive.
    unsafe {
        with(drive, |drive| {
            let report = drive.report(Outside::default())?;
            text = owned(&report.to_string()).into_raw();
            Ok(())
        });
    }
    text
}

/// Saves the drive to a file, which `nandlab_load` and the command `nandlab run --load` take. Its
/// buffered data are written to flash first, which takes simulated time. Refused while requests are
/// under way.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nandlab_save(drive: *mut Drive, path: *const c_char) -> Outcome {
    // SAFETY: the caller promises a drive and a text.
    unsafe { with(drive, |drive| drive.save(Path::new(read(path, "path")?))) }
}

/// Frees a text that nandlab has given. NULL is left alone.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nandlab_free_text(text: *mut c_char) {
    if !text.is_null() {
        // SAFETY: it came from `CString::into_raw`.
        drop(unsafe { CString::from_raw(text) });
    }
}

/// Version of the library, as text.
#[unsafe(no_mangle)]
pub extern "C" fn nandlab_version() -> *const c_char {
    const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "\0");
    VERSION.as_ptr().cast()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guard::nandlab_error;
    use std::ptr::{null, null_mut};

    fn error() -> String {
        // SAFETY: the text is valid until the next call.
        unsafe { read(nandlab_error(), "error") }.unwrap().to_owned()
    }

    fn open(sets: &[*const c_char], precondition: *const c_char) -> *mut Drive {
        // SAFETY: all texts end with a zero byte.
        unsafe { nandlab_open(c"tiny".as_ptr(), sets.as_ptr(), sets.len(), precondition, 1 << 32) }
    }

    /// A panic in the engine ends in an error, and the drive takes no more calls.
    #[test]
    fn panics_do_not_cross_and_break_the_drive() {
        let drive = open(&[], null());
        // SAFETY: the drive is open.
        unsafe {
            assert_eq!(with(drive, |_| panic!("number {}", 7)), Outcome::Broken);
            assert!(error().contains("number 7"), "{}", error());
            assert_eq!(nandlab_advance(drive, 10), Outcome::Broken);
            assert!(error().contains("broken"), "{}", error());
            assert_eq!((nandlab_now_ns(drive), nandlab_capacity_bytes(drive)), (NEVER_NS, 0));
            assert!(nandlab_report(drive).is_null());
            nandlab_close(drive);
        }
    }

    #[test]
    fn refusals_say_why_and_leave_the_drive_as_it_is() {
        assert!(open(&[c"gc.name=greeedy".as_ptr()], null()).is_null());
        assert!(error().contains("did you mean `greedy`"), "{}", error());
        assert!(open(&[null()], null()).is_null());
        assert!(error().contains("sets: NULL"), "{}", error());
        assert!(open(&[], c"stady".as_ptr()).is_null());
        assert!(error().contains("did you mean `steady`"), "{}", error());
        assert!(open(&[c"\xff".as_ptr()], null()).is_null());
        assert!(error().contains("UTF-8"), "{}", error());
        let drive = open(&[], null());
        let request = Request {
            tag: 5,
            at_ns: 0,
            offset: 0,
            length: 4096,
            op: 1,
            stream: 0,
            fua: false,
            is_urgent: false,
        };
        // SAFETY: the drive is open, and NULL is allowed.
        unsafe {
            assert_eq!(nandlab_submit(drive, &Request { op: 11, ..request }), Outcome::Refused);
            assert!(error().contains("op: 11; expected: 0 to 10"), "{}", error());
            assert_eq!(nandlab_submit(drive, &Request { offset: 7, ..request }), Outcome::Refused);
            assert_eq!(nandlab_submit(drive, null()), Outcome::Refused);
            assert_eq!(nandlab_submit(null_mut(), &request), Outcome::Refused);
            assert!(error().contains("drive: NULL"), "{}", error());
            assert_eq!(nandlab_save(drive, null()), Outcome::Refused);
            assert!(nandlab_load(c"missing.nldrive".as_ptr(), 0).is_null());
            assert!(error().contains("missing.nldrive"), "{}", error());
            assert!(!nandlab_take(drive, null_mut()));
            assert_eq!(nandlab_under_way(drive), 0);
            assert_eq!(nandlab_submit(drive, &request), Outcome::Ok);
            assert_eq!((nandlab_under_way(drive), nandlab_next_event_ns(drive)), (1, 0));
            assert_eq!(nandlab_advance(drive, 1_000_000_000), Outcome::Ok);
            let mut done = Completion::default();
            assert!(nandlab_take(drive, &mut done));
            assert_eq!((done.tag, done.status, done.has_failed), (5, 0, false));
            assert!(!nandlab_take(drive, &mut done));
            nandlab_close(drive);
            nandlab_close(null_mut());
            nandlab_free_text(null_mut());
        }
    }
}
