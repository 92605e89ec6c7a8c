"""`docs/formats/import.md`: its tables of keys, from the rosters of the importers."""

from collections.abc import Mapping, Sequence

from derived import ROOT
from derived.markdown import code, table
from nandlab.imported.femu import ROSTER as FEMU
from nandlab.imported.given import Key
from nandlab.imported.mqsim import ROSTERS as MQSIM
from nandlab.imported.simplessd.keys import ROSTERS as SIMPLESSD

PAGE = "docs/formats/import.md"

TABLES: dict[str, Mapping[str, Sequence[Key]]] = {
    "mqsim": MQSIM,
    "simplessd": {f"[{section}]": keys for section, keys in SIMPLESSD.items()},
    "femu": {"`-device femu`": FEMU},
}


def import_page() -> str:
    """The page, with the tables made anew."""
    text = (ROOT / PAGE).read_text(encoding="utf-8")
    for name, parts in TABLES.items():
        begin = f"<!-- {name}: python tools/regen.py import -->\n"
        end = f"<!-- {name}: end -->\n"
        lines: list[str] = []
        for part, keys in parts.items():
            lines += ["", f"Keys of {part if part[0] in '[`' else code(part)}:", ""]
            lines += table(["key", "default there", "becomes", "how, when, or why not"], rows(keys))
        made = "\n".join([begin.rstrip("\n"), *lines, ""]) + end
        before, _, rest = text.partition(begin)
        text = before + made + rest.partition(end)[2]
    return text


def rows(keys: Sequence[Key]) -> list[list[str]]:
    """The keys with a counterpart, one by one; then those without one, by their reason."""
    found = [[code(short(key)), default(key), becomes(key), key.how] for key in keys if key.becomes]
    by_reason: dict[str, list[Key]] = {}
    for key in keys:
        if not key.becomes:
            by_reason.setdefault(key.how, []).append(key)
    for why, of in by_reason.items():
        found.append([", ".join(code(short(key)) for key in of), "", "", why])
    return found


def short(key: Key) -> str:
    """The name of a key in its section."""
    return key.name.rpartition(".")[2]


def default(key: Key) -> str:
    """What holds where the key is left out."""
    return "needed" if key.default is None else code(key.default)


def becomes(key: Key) -> str:
    """The keys of a drive file or the options that it becomes."""
    return ", ".join(code(each.strip()) for each in key.becomes.split(","))
