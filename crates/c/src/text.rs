//! Text that crosses the border: C strings read, and strings given to the caller.

use base::{Error, Result};
use std::ffi::{CStr, CString, c_char};

/// Reads a text that C has given; `place` names it in errors.
///
/// # Safety
///
/// `text` is NULL, or ends with a zero byte and stays as it is during the call.
pub unsafe fn read<'a>(text: *const c_char, place: &str) -> Result<&'a str> {
    if text.is_null() {
        return Err(Error::new(place, "NULL").expected("text"));
    }
    // SAFETY: the caller promises a text that ends with a zero byte.
    let bytes = unsafe { CStr::from_ptr(text) };
    bytes.to_str().map_err(|error| Error::new(place, error.to_string()).expected("UTF-8"))
}

/// Reads a list of texts. NULL is a list without any.
///
/// # Safety
///
/// `texts` is NULL, or points to `count` texts as `read` takes them.
pub unsafe fn read_all(
    texts: *const *const c_char,
    count: usize,
    place: &str,
) -> Result<Vec<String>> {
    if texts.is_null() {
        return Ok(Vec::new());
    }
    // SAFETY: the caller promises `count` pointers.
    let texts = unsafe { std::slice::from_raw_parts(texts, count) };
    // SAFETY: the caller promises that each is a text.
    texts.iter().map(|&text| unsafe { read(text, place) }.map(str::to_owned)).collect()
}

/// Makes a C string. A zero byte, with which C would end it, is left out.
pub fn owned(text: &str) -> CString {
    CString::new(text.replace('\0', "")).unwrap_or_default()
}
