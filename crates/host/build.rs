//! Compiles this crate again when a parameter file is added to or removed from `params/`.

fn main() {
    println!("cargo::rerun-if-changed=../../params");
}
