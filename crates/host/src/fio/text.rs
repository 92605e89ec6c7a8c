//! The text of a fio job file: sections in brackets, one option on each line.
//!
//! After fio's HOWTO ("Job file format"): `;` and `#` begin comments, at the start of a line or
//! after an option.

use base::{Error, Result};

/// A section with its options.
pub struct Section<'a> {
    /// Name between the brackets.
    pub name: &'a str,
    /// Line of the brackets, from 1.
    pub line: usize,
    /// Options in the order given.
    pub lines: Vec<Line<'a>>,
}

/// One option of a section.
pub struct Line<'a> {
    /// Number of the line in the file, from 1.
    pub number: usize,
    /// Name, left of the equals sign.
    pub name: &'a str,
    /// Value, right of the equals sign, if there is one.
    pub value: Option<&'a str>,
}

/// Splits a text into sections; `place` names it in errors.
pub fn sections<'a>(text: &'a str, place: &str) -> Result<Vec<Section<'a>>> {
    let mut sections: Vec<Section> = Vec::new();
    // The byte order mark that Windows puts before UTF-8 is skipped.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    for (index, line) in text.lines().enumerate() {
        let number = index + 1;
        let at = || format!("{place}:{number}");
        let line = line.split([';', '#']).next().unwrap_or_default().trim();
        if line.is_empty() {
            continue;
        }
        if let Some(rest) = line.strip_prefix('[') {
            let name = rest.strip_suffix(']').map(str::trim).filter(|name| !name.is_empty());
            let name = name.ok_or_else(|| {
                Error::new(at(), format!("`{line}` is not a section")).expected("[name]")
            })?;
            sections.push(Section { name, line: number, lines: Vec::new() });
            continue;
        }
        let Some(section) = sections.last_mut() else {
            return Err(Error::new(at(), format!("`{line}` is before the first section"))
                .hint("begin with [global] or [name of a job]"));
        };
        if line.starts_with("include ") {
            return Err(
                Error::unsupported(at(), "`include`").hint("write all sections into one file")
            );
        }
        let (name, value) = match line.split_once('=') {
            Some((name, value)) => (name.trim(), Some(value.trim())),
            None => (line, None),
        };
        section.lines.push(Line { number, name, value });
    }
    Ok(sections)
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::error::assert_carries;

    #[test]
    fn takes_a_text_apart() {
        let text = "; c\n[ a ] # c\n\tbs = 4k ; c\r\nnorandommap\n\n[b]\nname=x=y\n";
        let sections = sections(text, "x").unwrap();
        let shape: Vec<_> = sections
            .iter()
            .map(|section| {
                let lines = section.lines.iter().map(|l| (l.number, l.name, l.value));
                (section.name, section.line, lines.collect::<Vec<_>>())
            })
            .collect();
        let a = vec![(3, "bs", Some("4k")), (4, "norandommap", None)];
        assert_eq!(shape, [("a", 2, a), ("b", 6, vec![(7, "name", Some("x=y"))])]);
        assert_eq!(super::sections("\u{feff}[a]\nbs=4k\n", "x").unwrap()[0].name, "a");
    }

    #[test]
    fn bad_lines_are_told_with_their_place() {
        for (text, parts) in [
            ("bs=4k", &["job.fio:1", "`bs=4k`", "[global]"][..]),
            ("[job", &["job.fio:1", "`[job`", "[name]"]),
            ("\n[]", &["job.fio:2", "`[]`", "[name]"]),
            ("[a] b", &["job.fio:1", "`[a] b`", "[name]"]),
            ("[j]\ninclude other.fio", &["job.fio:2", "`include`", "not supported"]),
        ] {
            assert_carries(sections(text, "job.fio").map(|_| ()).expect_err(text), parts);
        }
    }
}
