//! The guard at the border: no panic crosses it, and the text of the last error is kept.

use crate::text::owned;
use base::{Error, Result};
use std::any::Any;
use std::cell::RefCell;
use std::ffi::{CString, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};

thread_local! {
    /// Text of the last error of this thread.
    static LAST: RefCell<CString> = RefCell::default();
}

/// Outcome of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub enum Outcome {
    /// The call has done what it says.
    Ok = 0,
    /// The call was refused; `nandlab_error` says why. The drive is as it was.
    Refused = 1,
    /// The drive is broken, by a defect of nandlab or of the drive's description; `nandlab_error`
    /// says how. Every later call on it ends like this one; close it.
    Broken = 2,
}

/// Keeps an error for `nandlab_error`.
pub fn keep(error: &str) {
    LAST.set(owned(error));
}

/// Calls `act`. `None` where it was refused or has panicked, with the error kept.
pub fn guarded<T>(act: impl FnOnce() -> Result<T>) -> Option<T> {
    // What a panic leaves behind is not used again: a drive is marked as broken.
    match catch_unwind(AssertUnwindSafe(act)) {
        Ok(Ok(value)) => return Some(value),
        Ok(Err(error)) => keep(&error.to_string()),
        Err(panic) => keep(&told(&*panic).to_string()),
    }
    None
}

/// Error that tells of a panic.
fn told(panic: &(dyn Any + Send)) -> Error {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no message");
    Error::new("nandlab", format!("a defect of nandlab: {text}")).hint("please report it")
}

/// Text of the last error of this thread, empty where there was none. It is valid until the next
/// call of this thread.
#[unsafe(no_mangle)]
pub extern "C" fn nandlab_error() -> *const c_char {
    LAST.with_borrow(|text| text.as_ptr())
}
