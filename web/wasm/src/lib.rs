//! The window's session for browsers: a module without imports.
//!
//! JavaScript writes a request to `input`, calls a function, and finds the answer at `output`, of
//! `length` bytes. The session is one of the whole module: a worker has a module of its own. After
//! a panic, which ends the module, its message stands at `failure`.

// The names of exports are unmangled, which the lint takes for unsafe.
#![allow(unsafe_code)]

use host::window::Window;
use std::cell::RefCell;
use std::panic;
use std::sync::{Mutex, Once, PoisonError};

/// Bytes that a drive may take: a module has 4 GiB at most.
const MEMORY_BYTES: u64 = 3 << 30;

/// A session, and the bytes that go in and out.
struct Module {
    window: Window,
    input: Vec<u8>,
    output: Vec<u8>,
}

thread_local! {
    static MODULE: RefCell<Module> = RefCell::new(Module {
        window: Window::new(MEMORY_BYTES),
        input: Vec::new(),
        output: Vec::new(),
    });
}

/// Message of the panic that has ended the module.
static FAILURE: Mutex<String> = Mutex::new(String::new());

fn with<T>(act: impl FnOnce(&mut Module) -> T) -> T {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        panic::set_hook(Box::new(|panic| {
            *FAILURE.lock().unwrap_or_else(PoisonError::into_inner) = panic.to_string();
        }));
    });
    MODULE.with_borrow_mut(act)
}

/// Room for `length` bytes that a function takes.
#[unsafe(no_mangle)]
pub extern "C" fn input(length: usize) -> *mut u8 {
    with(|module| {
        module.input = vec![0; length];
        module.input.as_mut_ptr()
    })
}

/// First byte of the last answer.
#[unsafe(no_mangle)]
pub extern "C" fn output() -> *const u8 {
    with(|module| module.output.as_ptr())
}

/// Bytes of the last answer.
#[unsafe(no_mangle)]
pub extern "C" fn length() -> usize {
    with(|module| module.output.len())
}

/// Answers the call in the input, both in JSON.
#[unsafe(no_mangle)]
pub extern "C" fn call() {
    with(|module| {
        let request = std::mem::take(&mut module.input);
        let answer = module.window.call(&String::from_utf8_lossy(&request));
        module.output = answer.into_bytes();
    });
}

/// Gives a frame with the layers whose bits are set.
#[unsafe(no_mangle)]
pub extern "C" fn frame(layers: u32) {
    with(|module| module.window.frame(layers, &mut module.output));
}

/// Gives the bytes of the drive; its job ends. Returns 0, or 1 where the answer is an error.
#[unsafe(no_mangle)]
pub extern "C" fn save() -> u32 {
    with(|module| {
        let saved = module.window.save();
        answer(module, saved)
    })
}

/// Takes the drive whose bytes are the input. Returns 0, or 1 where the answer is an error.
#[unsafe(no_mangle)]
pub extern "C" fn load() -> u32 {
    with(|module| {
        let bytes = std::mem::take(&mut module.input);
        let loaded = module.window.load(&bytes).map(|()| Vec::new());
        answer(module, loaded)
    })
}

fn answer(module: &mut Module, result: Result<Vec<u8>, host::window::Error>) -> u32 {
    let is_refused = result.is_err();
    module.output = result.unwrap_or_else(|error| host::window::told(&error).to_string().into());
    u32::from(is_refused)
}

/// First byte of the message of the panic that has ended the module.
#[unsafe(no_mangle)]
pub extern "C" fn failure() -> *const u8 {
    FAILURE.lock().unwrap_or_else(PoisonError::into_inner).as_ptr()
}

/// Bytes of that message; 0 while the module works.
#[unsafe(no_mangle)]
pub extern "C" fn failure_length() -> usize {
    FAILURE.lock().unwrap_or_else(PoisonError::into_inner).len()
}
