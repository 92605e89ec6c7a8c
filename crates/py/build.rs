//! Lists the files of the window's page, which the module carries.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// Folder of the engine for browsers, which a served page does not need.
const LEFT_OUT: &str = "wasm";

fn main() -> io::Result<()> {
    let root = Path::new(&env::var("CARGO_MANIFEST_DIR").unwrap_or_default()).join("../../web");
    let mut table = String::from("&[\n");
    for file in files(&root)? {
        let (name, path) = (file.strip_prefix(&root).unwrap_or(&file), file.canonicalize()?);
        let name = name.to_string_lossy().replace('\\', "/");
        let _ = writeln!(table, "    ({name:?}, include_bytes!({path:?})),");
    }
    table.push_str("]\n");
    fs::write(Path::new(&env::var("OUT_DIR").unwrap_or_default()).join("page.rs"), table)
}

/// Files of a folder and the folders in it, in the order of their names.
fn files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    println!("cargo::rerun-if-changed={}", folder.display());
    let entries = fs::read_dir(folder)?.map(|entry| Ok(entry?.path()));
    let mut entries = entries.collect::<io::Result<Vec<PathBuf>>>()?;
    entries.sort();
    let mut found = Vec::new();
    for entry in entries {
        if !entry.is_dir() {
            found.push(entry);
        } else if !entry.ends_with(LEFT_OUT) {
            found.extend(files(&entry)?);
        }
    }
    Ok(found)
}
