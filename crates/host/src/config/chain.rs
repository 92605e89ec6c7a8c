//! Chain of drive presets, each the base of the next; a chain that names itself is refused.

use super::preset::Text;
use base::{Error, Result};
use std::path::PathBuf;

/// Most drives of a chain: longer ones are a mistake, and a danger to the stack.
const MOST_DRIVES: usize = 32;

/// Drive files read so far, from the topmost down.
#[derive(Default)]
pub(super) struct Chain {
    /// Path without links, and name in messages, of each file.
    drives: Vec<(PathBuf, String)>,
}

impl Chain {
    /// Adds a file that is being read.
    pub(super) fn enter(&mut self, file: &Text) {
        self.drives.push((identity(file), file.place.clone()));
    }

    /// Refuses a file that is being read already, and a chain that is too long.
    pub(super) fn check(&self, under: &Text) -> Result<()> {
        let real = identity(under);
        let problem = match self.drives.iter().position(|(known, _)| *known == real) {
            None if self.drives.len() < MOST_DRIVES => return Ok(()),
            None => format!("more than {MOST_DRIVES} drives lie under one another"),
            Some(first) if first + 1 == self.drives.len() => "names this same file".to_owned(),
            Some(first) => {
                let places = self.drives[first..].iter().map(|(_, place)| place.as_str());
                let circle: Vec<&str> = places.chain([under.place.as_str()]).collect();
                format!("these drives name each other: {}", circle.join(" -> "))
            }
        };
        Err(Error::new("drive_preset", problem).expected("a chain of drive presets that ends"))
    }
}

/// Path of a file without links; the name of a preset if no file exists.
fn identity(file: &Text) -> PathBuf {
    let path = file.file.as_deref();
    let real = path.and_then(|path| std::fs::canonicalize(path).ok());
    real.unwrap_or_else(|| PathBuf::from(&file.place))
}
