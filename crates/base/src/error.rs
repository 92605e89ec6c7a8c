//! The one error type: what a person typed, where, what would be allowed, and the nearest name.

use std::fmt;
use std::ops::{Deref, DerefMut};

/// Result with the house's [`Error`].
pub type Result<T> = std::result::Result<T, Error>;

/// A refused input.
///
/// `place` says where it stands (a file and line, or the path of a key), `problem` what is wrong
/// with which value, `allowed` what would be taken. The core never prints and never exits: it
/// hands this up to whoever asked. It is one pointer, so that a [`Result`] of little is little too:
/// the hot loops return many, and none of them fails.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error(Box<Refusal>);

/// What an [`Error`] says; it is reached through it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// File with line, or the dotted path of a key.
    pub place: String,
    /// What is wrong, naming the offending value.
    pub problem: String,
    /// What is allowed; empty where the problem says it all.
    pub allowed: String,
    /// The nearest valid name, where a name was misspelt.
    pub nearest: Option<String>,
}

impl Error {
    /// An error at `place`.
    pub fn new(place: impl Into<String>, problem: impl Into<String>) -> Self {
        let (place, problem) = (place.into(), problem.into());
        Self(Box::new(Refusal { place, problem, allowed: String::new(), nearest: None }))
    }

    /// The same at another place, which its first finder could not know.
    #[must_use]
    pub fn at(mut self, place: impl Into<String>) -> Self {
        self.place = place.into();
        self
    }

    /// The same about `subject`, whose value was refused.
    #[must_use]
    pub fn about(mut self, subject: &str) -> Self {
        self.problem = format!("{subject}: {}", self.problem);
        self
    }

    /// Adds what would have been allowed.
    #[must_use]
    pub fn allow(mut self, allowed: impl Into<String>) -> Self {
        self.allowed = allowed.into();
        self
    }

    /// Adds the nearest of `names` to `given`, if one is near enough to be meant.
    #[must_use]
    pub fn suggest<'a>(mut self, given: &str, names: impl IntoIterator<Item = &'a str>) -> Self {
        self.nearest = nearest(given, names).map(str::to_owned);
        self
    }

    /// An unknown name among a known list: the commonest mistake.
    pub fn unknown<'a>(
        place: impl Into<String>,
        what: &str,
        given: &str,
        names: impl IntoIterator<Item = &'a str> + Clone,
    ) -> Self {
        let list: Vec<&str> = names.clone().into_iter().collect();
        Self::new(place, format!("unknown {what} `{given}`"))
            .allow(list.join(", "))
            .suggest(given, names)
    }
}

impl Deref for Error {
    type Target = Refusal;

    fn deref(&self) -> &Refusal {
        &self.0
    }
}

impl DerefMut for Error {
    fn deref_mut(&mut self) -> &mut Refusal {
        &mut self.0
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.place.is_empty() {
            write!(f, "{}: ", self.place)?;
        }
        f.write_str(&self.problem)?;
        if !self.allowed.is_empty() {
            write!(f, "; allowed: {}", self.allowed)?;
        }
        if let Some(name) = &self.nearest {
            write!(f, "; did you mean `{name}`?")?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {}

/// The member of `names` with the fewest edits to `given`, if at most a third of it is wrong.
pub fn nearest<'a>(given: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    names
        .into_iter()
        .map(|name| (edits(given, name), name))
        .min_by_key(|&(edits, _)| edits)
        .filter(|&(edits, name)| edits <= 1 + given.len().max(name.len()) / 3)
        .map(|(_, name)| name)
}

/// Levenshtein distance over bytes (names here are ASCII).
fn edits(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.bytes().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.bytes().enumerate() {
            let substitute = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = substitute.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn says_place_value_allowed_and_nearest() {
        let error = Error::unknown("ftl.name", "ftl", "paeg", ["page", "dftl"]);
        assert_eq!(
            error.to_string(),
            "ftl.name: unknown ftl `paeg`; allowed: page, dftl; did you mean `page`?"
        );
    }

    #[test]
    fn suggests_nothing_far_away() {
        assert_eq!(nearest("xyzzy", ["greedy", "fifo"]), None);
        assert_eq!(nearest("greddy", ["greedy", "fifo"]), Some("greedy"));
    }
}
