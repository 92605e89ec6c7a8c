//! Errors: the place, the problem, what is expected there, a hint, and the nearest valid name.

use std::any::Any;
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

/// Result with the house's [`Error`].
pub type Result<T> = std::result::Result<T, Error>;

/// A refused input.
///
/// The core never prints and never exits: it returns this error to its caller. The error is one
/// pointer, so that a [`Result`] with a small value stays small: the hot loops return many of them,
/// and none fails.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error(Box<Refusal>);

/// The parts of an [`Error`], which dereferences to them.
///
/// As text: `place: problem; expected: this, that; hint: do this; did you mean `that`?`. Parts that
/// are empty are left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// File with line, or the dotted path of a key.
    pub place: String,
    /// Problem in a sentence, with the offending value.
    pub problem: String,
    /// Valid values or their range.
    pub expected: String,
    /// Advice: what to change, where a list or range of values would not help.
    pub hint: String,
    /// The nearest valid name, where a name was misspelt.
    pub nearest: Option<String>,
    /// Exception of the user's own code that caused the error.
    pub cause: Option<Cause>,
}

/// The exception of a user's own code: a front end knows its type, and shows where it was raised.
#[derive(Clone)]
pub struct Cause(pub Arc<dyn Any + Send + Sync>);

impl fmt::Debug for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an exception")
    }
}

impl PartialEq for Cause {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Cause {}

impl Error {
    /// An error at `place`.
    pub fn new(place: impl Into<String>, problem: impl Into<String>) -> Self {
        Self(Box::new(Refusal {
            place: place.into(),
            problem: problem.into(),
            expected: String::new(),
            hint: String::new(),
            nearest: None,
            cause: None,
        }))
    }

    /// An error about `what`, which is valid elsewhere but not supported here.
    pub fn unsupported(place: impl Into<String>, what: impl fmt::Display) -> Self {
        Self::new(place, format!("not supported: {what}"))
    }

    /// Sets the place, which the code that found the error could not know.
    #[must_use]
    pub fn at(mut self, place: impl Into<String>) -> Self {
        self.place = place.into();
        self
    }

    /// Puts `subject`, the name of the refused value, before the problem.
    #[must_use]
    pub fn about(mut self, subject: &str) -> Self {
        self.problem = format!("{subject}: {}", self.problem);
        self
    }

    /// Adds the valid values or their range.
    #[must_use]
    pub fn expected(mut self, expected: impl Into<String>) -> Self {
        self.expected = expected.into();
        self
    }

    /// Adds advice: what to change.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = hint.into();
        self
    }

    /// Adds the exception of the user's own code that caused the error.
    #[must_use]
    pub fn caused_by(mut self, cause: impl Any + Send + Sync) -> Self {
        self.cause = Some(Cause(Arc::new(cause)));
        self
    }

    /// Adds the name of `names` that is nearest to `given`, if it is near enough.
    #[must_use]
    pub fn suggest<'a>(mut self, given: &str, names: impl IntoIterator<Item = &'a str>) -> Self {
        self.nearest = nearest(given, names).map(str::to_owned);
        self
    }

    /// An unknown name where a known list is expected.
    pub fn unknown<'a>(
        place: impl Into<String>,
        what: &str,
        given: &str,
        names: impl IntoIterator<Item = &'a str> + Clone,
    ) -> Self {
        let list: Vec<&str> = names.clone().into_iter().collect();
        Self::new(place, format!("unknown {what} `{given}`"))
            .expected(list.join(", "))
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
            write!(f, "{}: ", Plain(&self.place))?;
        }
        write!(f, "{}", Plain(&self.problem))?;
        if !self.expected.is_empty() {
            // Not cut: it may be a long list of names.
            write!(f, "; expected: {}", self.expected)?;
        }
        if !self.hint.is_empty() {
            write!(f, "; hint: {}", self.hint)?;
        }
        if let Some(name) = &self.nearest {
            write!(f, "; did you mean `{name}`?")?;
        }
        Ok(())
    }
}

/// Input as one line that a terminal can show: control characters are escaped (`\x1b`), and very
/// long text is cut in the middle.
struct Plain<'a>(&'a str);

impl Plain<'_> {
    /// Characters shown of the beginning and of the end of a long text.
    const SHOWN: (usize, usize) = (300, 100);
}

impl fmt::Display for Plain<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (first, last) = Self::SHOWN;
        let count = self.0.chars().count();
        // Cut only where it saves much.
        let is_cut = count > 2 * (first + last);
        for (i, letter) in self.0.chars().enumerate() {
            match letter {
                _ if is_cut && i == first => {
                    write!(f, " … ({} characters) … ", count - first - last)?;
                }
                _ if is_cut && (first..count - last).contains(&i) => {}
                '\n' => f.write_str("\\n")?,
                // Marks that turn the direction of text would hide a part of it.
                _ if letter.is_control()
                    || matches!(letter, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}') =>
                {
                    write!(f, "\\x{:02x}", u32::from(letter))?;
                }
                _ => write!(f, "{letter}")?,
            }
        }
        Ok(())
    }
}

impl std::error::Error for Error {}

/// Longest name, in bytes, for which a nearest name is looked up.
const LONGEST_NAME: usize = 200;

/// The member of `names` with the fewest edits from `given`, if at most about a third is wrong.
pub fn nearest<'a>(given: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // Nothing is near a very long text, and the search would be slow.
    if given.len() > LONGEST_NAME {
        return None;
    }
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

/// Asserts in a test that a message carries all of `parts`: its place, the refused value, what is
/// expected there.
///
/// A part stands for itself: neither `4` in `64` or `0.4`, nor `page` in `pages` counts. Tests that
/// ask for parts, and not for phrases, pass when a message is worded better.
///
/// # Panics
///
/// Where a part is missing, or where none is asked for.
#[track_caller]
pub fn assert_carries(message: impl fmt::Display, parts: &[&str]) {
    let message = message.to_string();
    assert!(!parts.is_empty(), "no part of the message is asked for: {message}");
    for part in parts {
        assert!(carries(&message, part), "`{part}` is missing in: {message}");
    }
}

/// Whether `part` stands in `message` as a word, a number or a phrase of its own.
fn carries(message: &str, part: &str) -> bool {
    message.match_indices(part).any(|(start, _)| {
        let (before, behind) = (&message[..start], &message[start + part.len()..]);
        !is_joined(part.chars().next(), before.chars().rev())
            && !is_joined(part.chars().next_back(), behind.chars())
    })
}

/// Whether the word or number of a part's last character goes on beyond the part. The point of a
/// number has digits on both sides.
fn is_joined(last: Option<char>, mut beyond: impl Iterator<Item = char>) -> bool {
    let is_word = |letter: char| letter.is_alphanumeric() || letter == '_';
    let is_digit = |letter: char| letter.is_ascii_digit();
    let (next, second) = (beyond.next(), beyond.next());
    (last.is_some_and(is_word) && next.is_some_and(is_word))
        || (last.is_some_and(is_digit) && next == Some('.') && second.is_some_and(is_digit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_of_a_message_is_a_whole_word() {
        let message = "ftl.stripe: 64 pages; expected: 1 to 9.5 pages, not 7.";
        assert_carries(message, &["ftl.stripe", "64", "stripe: 64", "1 to 9.5", "7"]);
        for part in ["6", "4", "page", "tl.stripe", "to 90", "9", "5"] {
            assert!(!carries(message, part), "{part}");
        }
    }

    #[test]
    #[should_panic(expected = "`gc.name` is missing in: ftl.name")]
    fn a_part_that_is_missing_fails() {
        assert_carries("ftl.name: unknown", &["ftl.name", "gc.name"]);
    }

    #[test]
    fn text_has_place_value_expected_and_nearest() {
        let error = Error::unknown("ftl.name", "ftl", "paeg", ["page", "dftl"]);
        assert_eq!(
            error.to_string(),
            "ftl.name: unknown ftl `paeg`; expected: page, dftl; did you mean `page`?"
        );
    }

    #[test]
    fn hint_follows_what_is_expected() {
        let error = Error::new("ecc.t", "missing").expected("1 to 9").hint("name a code");
        assert_eq!(error.to_string(), "ecc.t: missing; expected: 1 to 9; hint: name a code");
        let error = Error::unsupported("job.fio:3", "`include`").hint("write one file");
        assert_eq!(error.to_string(), "job.fio:3: not supported: `include`; hint: write one file");
    }

    /// Input in a message neither moves the cursor nor fills the screen.
    #[test]
    fn input_is_shown_as_one_short_line() {
        let error = Error::new("a\nb", "\u{1b}[2Jred \u{202e}µ").to_string();
        assert_eq!(error, "a\\nb: \\x1b[2Jred \\x202eµ");
        let error = Error::new("", "x".repeat(100_000)).to_string();
        assert!(error.len() < 500 && error.contains("… (99600 characters) …"), "{error}");
    }

    #[test]
    fn suggests_nothing_far_away() {
        assert_eq!(nearest("xyzzy", ["greedy", "fifo"]), None);
        assert_eq!(nearest("greddy", ["greedy", "fifo"]), Some("greedy"));
    }
}
