"""Schema of a mutant: the text in which both the right and the wrong form stand, and a switch.

In Rust the switch is `base::mutant::is`, a function that only a copy of the tree has; in Python it
is the variable itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from mutants.list import Mutant, Refused, span

VARIABLE = "NANDLAB_MUTANT"
"""Variable that names the mutant that is awake."""

SWITCH_FILE = "crates/base/src/mutant.rs"
SWITCH = f'''//! The switch of mutants: which seeded fault is awake in this process.

use std::sync::OnceLock;

static AWAKE: OnceLock<Option<String>> = OnceLock::new();

/// Whether the mutant called `name` is awake.
pub fn is(name: &str) -> bool {{
    AWAKE.get_or_init(|| std::env::var("{VARIABLE}").ok()).as_deref() == Some(name)
}}
'''

DOOR_FILE = "crates/base/src/lib.rs"
_DOOR = "pub mod "


def applied(text: str, mutants: Sequence[Mutant]) -> str:
    """The text of a file with all its mutants, each asleep.

    Raises:
        Refused: a text does not stand there exactly once, or two of them overlap.
    """
    places = sorted((*span(one, text), one) for one in mutants)
    for (_, end, one), (start, _, other) in pairwise(places):
        if start < end:
            raise Refused(f"{one.name} and {other.name} overlap in {one.file}")
    for start, end, one in reversed(places):
        text = text[:start] + switched(one) + text[end:]
    return text


def switched(mutant: Mutant) -> str:
    """The text that stands in the place of `old`."""
    name, old, new = mutant.name, mutant.old, mutant.new
    if mutant.file.endswith(".py"):
        awake = f'__import__("os").environ.get("{VARIABLE}") == "{name}"'
        return f"(({new}) if {awake} else ({old}))"
    crate = "crate" if mutant.file.startswith("crates/base/") else "::base"
    both = f'if {crate}::mutant::is("{name}") {{ {new} }} else {{ {old} }}'
    return both if mutant.kind == "statement" else f"({both})"


def with_switch(text: str) -> str:
    """The text of the door of `base`, with the module of the switch.

    Raises:
        Refused: it has no module.
    """
    if _DOOR not in text:
        raise Refused(f"{DOOR_FILE}: no `{_DOOR.strip()}`")
    return text.replace(_DOOR, f"pub mod mutant;\n{_DOOR}", 1)
