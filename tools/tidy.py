"""House rules that a program can check: `python tools/tidy.py` prints violations.

Each rule is one function from the tree to its violations; `RULES` is the roster. The rules and
their reasons are in DESIGN.md, section 5. `tests/house/test_tidy.py` holds the tree to them.
"""

from __future__ import annotations

import ast
import os
import re
import sys
from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

#: Floors of the crates: a crate may use those on lower floors only.
FLOORS = {"base": 1, "nand": 2, "ecc": 2, "ssd": 3, "host": 4, "c": 5, "py": 5}
#: Lines of a file: noted above the first, an error above the second.
SOFT_LINES, HARD_LINES = 500, 700
COLUMNS = 100
#: Words of a doc comment, at least.
LEAST_WORDS = 4
#: Sources of a folder, and folders between `src/` (or `python/nandlab/`) and a file, at most.
MOST_FILES, MOST_DEPTH = 16, 3
BANNED_NAMES = {"util", "utils", "common", "helper", "helpers", "misc"}
SKIPPED_FOLDERS = {"target", "node_modules", "build", "dist", "__pycache__"}
#: What a number in params/ starts its comment with.
MARKS = ("cited", "measured", "derived", "calibrated", "assumed")
#: Lints that may be switched off on an item.
ALLOWED_LINTS = {
    "unsafe_code",
    "dead_code",
    "clippy::too_many_arguments",
    "clippy::type_complexity",
}
#: Joined here so that this file does not break its own rule.
LEFTOVERS = ("dbg" + "!(", "todo" + "!(", "unimplemented" + "!(", "FIX" + "ME", "XX" + "X")


class Violation(NamedTuple):
    """A rule broken at a place."""

    path: str
    line: int
    rule: str
    message: str

    def __str__(self) -> str:
        """As compilers print it."""
        return f"{self.path}:{self.line}: {self.rule}: {self.message}"


class Tree:
    """The files of a checkout, as relative paths with `/`."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.files: list[str] = []
        for folder, folders, names in os.walk(root):
            folders[:] = [f for f in folders if f not in SKIPPED_FOLDERS and not f.startswith(".")]
            self.files += [Path(folder, name).relative_to(root).as_posix() for name in names]
        self.files.sort()
        self._texts: dict[str, str] = {}

    def ending(self, *suffixes: str) -> list[str]:
        """Files with one of these suffixes."""
        return [path for path in self.files if path.endswith(suffixes)]

    def text(self, path: str) -> str:
        """The text of a file; nothing where there is none."""
        if path not in self._texts:
            file = self.root / path
            self._texts[path] = file.read_text(encoding="utf-8") if file.is_file() else ""
        return self._texts[path]

    def lines(self, path: str) -> Iterator[tuple[int, str]]:
        """The numbered lines of a file."""
        return enumerate(self.text(path).splitlines(), 1)

    def sources(self) -> list[str]:
        """Rust files of the crates proper."""
        return [path for path in self.ending(".rs") if re.match(r"crates/\w+/src/", path)]

    @cached_property
    def rooms(self) -> dict[str, list[str]]:
        """Folders with sources, with these: below a crate's `src/`, and the packages of Python.

        A folder that holds only `tests.rs` is no room: it belongs to the file beside it.
        """
        found: dict[str, list[str]] = {}
        for path in self.files:
            if re.match(r"crates/\w+/src/.*\.rs$|python/[^/]+/.*\.pyi?$", path):
                found.setdefault(Path(path).parent.as_posix(), []).append(path)
        only_tests = ["tests.rs"]
        return {
            folder: paths
            for folder, paths in found.items()
            if [Path(path).name for path in paths] != only_tests
        }

    @cached_property
    def citations(self) -> set[str]:
        """Keys of the bibliography."""
        return set(re.findall(r"^@\w+\{([^,\s]+),", self.text("params/CITATIONS.bib"), re.M))


def direction(tree: Tree) -> Iterator[Violation]:
    """A crate depends on lower floors only."""
    names = "|".join(FLOORS)
    dependency = re.compile(rf"^({names})(?:\.workspace)?\s*=")
    use = re.compile(rf"(?<![\w:])({names})::")
    for path in tree.ending(".rs", "Cargo.toml"):
        crate = re.match(r"crates/(\w+)/", path)
        if crate is None or crate[1] not in FLOORS:
            continue
        section = ""
        for number, line in tree.lines(path):
            if path.endswith(".toml"):
                section = line.strip() if line.startswith("[") else section
                found = dependency.findall(line) if section.endswith("dependencies]") else []
            else:
                found = use.findall(line.split("//")[0])
            for other in found:
                if other != crate[1] and FLOORS[other] >= FLOORS[crate[1]]:
                    message = f"{crate[1]} (floor {FLOORS[crate[1]]}) uses {other} above it"
                    yield Violation(path, number, "direction", message)


#: Uses inside a crate that may go up, at most.
MOST_UPWARD = 3
#: A floor of rooms in the head of a crate, a room on it, and a use that is known to go up.
ROOM_FLOOR = re.compile(r"^//! (\d+)\. (.*(?:\n//!    .*)*)", re.M)
ROOM = re.compile(r"`(\w+)`:")
UPWARD = re.compile(r"`(\w+) -> (\w+)`")


def floors(tree: Tree) -> Iterator[Violation]:
    """A room uses rooms on lower floors only, where the head of its crate declares floors."""
    for head in tree.ending("/src/lib.rs"):
        text = tree.text(head)
        floor_of = {
            room: int(number)
            for number, listed in ROOM_FLOOR.findall(text)
            for room in ROOM.findall(listed)
        }
        if not floor_of:
            continue
        upward = set(UPWARD.findall(text))
        if len(upward) > MOST_UPWARD:
            yield Violation(head, 1, "floors", f"{len(upward)} uses go up, at most {MOST_UPWARD}")
        # Rooms that the crate passes on under a name of their own.
        passed = {
            name.strip(): room
            for room, names in re.findall(r"^pub use (\w+)::(?:\{([^}]*)\}|\w+);", text, re.M)
            for name in names.split(",")
        }
        passed |= {name: room for room, name in re.findall(r"^pub use (\w+)::(\w+);", text, re.M)}
        for room in re.findall(r"^pub mod (\w+);", text, re.M):
            if room not in floor_of:
                yield Violation(head, 1, "floors", f"`{room}` is on no floor")
        source = head.removesuffix("lib.rs")
        for path in tree.ending(".rs"):
            inside = path.removeprefix(source)
            room = inside.partition("/")[0].removesuffix(".rs")
            if not path.startswith(source) or room not in floor_of or path.endswith("/tests.rs"):
                continue
            depth = inside.count("/") + (not inside.endswith("/mod.rs"))
            for number, other in uses(tree.text(path), depth):
                other = passed.get(other, other)
                goes_up = other != room and floor_of.get(other, 0) >= floor_of[room]
                if goes_up and (room, other) not in upward:
                    message = (
                        f"{room} (floor {floor_of[room]}) uses {other} (floor {floor_of[other]})"
                    )
                    yield Violation(path, number, "floors", message)


def uses(text: str, depth: int) -> Iterator[tuple[int, str]]:
    """Lines and names of what code uses of its own crate; its tests may use all of it.

    `depth` is the number of modules around the code: so many `super` lead to the crate.
    """
    code = text.partition("#[cfg(test)]\nmod tests {")[0]
    code = "\n".join(line.split("//")[0] for line in code.splitlines())
    root = re.compile(r"(?<![\w:])(?:crate::|" + "super::" * depth + r")(?!super::)(\w+|\{)")
    for use in root.finditer(code):
        line = code.count("\n", 0, use.start()) + 1
        for name in outermost(code[use.end() :]) if use[1] == "{" else [use[1]]:
            yield line, name


def outermost(code: str) -> Iterator[str]:
    """First names of the paths in braces that have been opened, without those in braces inside."""
    level, path = 0, ""
    for character in code:
        if level == 0 and character in ",}":
            yield path.strip().partition("::")[0]
            path = ""
        elif level == 0:
            path += character
        level += {"{": 1, "}": -1}.get(character, 0)
        if level < 0:
            return


def first_line(tree: Tree) -> Iterator[Violation]:
    """Every file opens by saying what it is."""
    for path in tree.sources() + tree.ending(".py"):
        text = tree.text(path)
        if path.endswith(".py"):
            said = (ast.get_docstring(ast.parse(text)) or "").split("\n")[0]
        else:
            first = text.split("\n")[0]
            said = first[3:] if first.startswith("//!") else ""
        if len(said.split()) < 3:
            yield Violation(path, 1, "first-line", "does not say what the file is")


#: A doc comment, and first words that lean on the item above it.
DOC = re.compile(r"(?:^[ \t]*///.*\n?)+", re.M)
LEANING = re.compile(r"(?:Of|The same|Those|What|Which|It|That|To)\b")


def doc_noun(tree: Tree) -> Iterator[Violation]:
    """A doc comment names its noun: it is read alone, without the item above."""
    for path in tree.ending(".rs"):
        if not path.startswith("crates/"):
            continue
        text = tree.text(path)
        for doc in DOC.finditer(text):
            said = " ".join(re.findall(r"^[ \t]*/// ?(.*)", doc[0], re.M)).strip()
            if leaning := LEANING.match(said):
                problem = f"begins with `{leaning[0]}`"
            elif (words := len(re.findall(r"[\w`'-]+", said))) < LEAST_WORDS:
                problem = f"`{said}` has {words} words, at least {LEAST_WORDS}"
            else:
                continue
            line = text.count("\n", 0, doc.start()) + 1
            message = f"{problem}: it is read alone, so name the item's noun and its purpose"
            yield Violation(path, line, "doc-noun", message)


def length(tree: Tree) -> Iterator[Violation]:
    """A file is one concept: no more lines than one can keep in mind."""
    for path, lines in long_files(tree):
        if lines > HARD_LINES:
            yield Violation(path, lines, "length", f"{lines} lines, at most {HARD_LINES}")


def long_files(tree: Tree) -> list[tuple[str, int]]:
    """Files above the soft cap, with their lines."""
    counts = [(path, tree.text(path).count("\n")) for path in tree.ending(".rs", ".py")]
    return [(path, count) for path, count in counts if count > SOFT_LINES]


def names(tree: Tree) -> Iterator[Violation]:
    """No drawer for odds and ends."""
    for path in tree.ending(".rs", ".py"):
        for part in Path(path).with_suffix("").parts:
            if part in BANNED_NAMES:
                yield Violation(path, 1, "name", f"`{part}` says nothing: name the concept")


def marked(tree: Tree) -> Iterator[Violation]:
    """Every number in params/ says where it comes from."""
    rule = "parameter"
    for path in tree.ending(".toml"):
        if not path.startswith("params/"):
            continue
        cite = re.search(r"^cite\s*=\s*\[([^\]]*)\]", tree.text(path), re.M)
        listed = set(re.findall(r'"([^"]+)"', cite[1])) if cite else set()
        if cite is None:
            yield Violation(path, 1, rule, "no `cite` list")
        for key in sorted(listed - tree.citations):
            yield Violation(path, 1, rule, f"`cite` names `{key}`, not in CITATIONS.bib")
        for number, line in tree.lines(path):
            # Strings are blanked, so that the first # begins the comment.
            bare = re.sub(r"\"[^\"]*\"|'[^']*'", lambda match: "_" * len(match[0]), line)
            code = bare.partition("#")[0]
            if not _has_number(code):
                continue
            mark = re.match(rf"\s*({'|'.join(MARKS)}):\s*(\S+)", line[len(code) + 1 :])
            if mark is None:
                message = f"number without a comment of {', '.join(MARKS)}: and its source"
                yield Violation(path, number, rule, message)
            elif mark[1] == "cited" and mark[2].rstrip(",;:") not in listed & tree.citations:
                message = f"cites `{mark[2]}`, not in this file's `cite` and CITATIONS.bib"
                yield Violation(path, number, rule, message)


def _has_number(code: str) -> bool:
    """Whether a line of TOML, without its strings and comment, gives a number."""
    is_header = re.fullmatch(r"\s*\[+[A-Za-z_][\w.-]*\]+\s*", code)
    values = re.sub(r"[\w.-]+\s*=", "", code)
    return not is_header and re.search(r"(?<![\w.])[-+]?\d", values) is not None


def rooms(tree: Tree) -> Iterator[Violation]:
    """A folder is a room: it says what it holds, is small, and no file's name says it again."""
    rule = "room"
    for folder, paths in tree.rooms.items():
        top, *below = re.sub(r"^(crates/\w+/src|python/[^/]+)", "src", folder).split("/")
        is_rust = folder.startswith("crates/")
        door = "mod.rs" if is_rust else "__init__.py"
        if (below or not is_rust) and f"{folder}/{door}" not in paths:
            yield Violation(folder, 1, rule, f"no {door} that says what the room holds")
        if len(paths) > MOST_FILES:
            yield Violation(folder, 1, rule, f"{len(paths)} files, at most {MOST_FILES}")
        if len(below) > MOST_DEPTH:
            message = f"{len(below)} folders below {top}, at most {MOST_DEPTH}"
            yield Violation(folder, 1, rule, message)
        inner = {Path(other).name for other in tree.rooms if Path(other).parent == Path(folder)}
        for path in paths:
            stem = Path(path).stem
            for room in sorted(inner):
                if stem == room:
                    yield Violation(path, 1, rule, f"beside the room {room}: its {door} is the way")
                elif stem.startswith(f"{room}_"):
                    yield Violation(path, 1, rule, f"belongs into the room {room}")


def tests_in_rust(tree: Tree) -> Iterator[Violation]:
    """Tests stand at the end of their file or in `tests.rs` beside it, without `#[path]`."""
    rule = "tests"
    for path in tree.sources():
        if path.endswith("_tests.rs"):
            better = f"{path[: -len('_tests.rs')]}/tests.rs"
            yield Violation(path, 1, rule, f"tests of a file are in {better}")
        for number, line in tree.lines(path):
            if line.lstrip().startswith("#[path"):
                yield Violation(path, number, rule, "`#[path]`: a module is where its name says")


def test_names(tree: Tree) -> Iterator[Violation]:
    """Files of tests have names of their own: pytest imports two of one name as one."""
    seen: dict[str, str] = {}
    for path in tree.ending(".py"):
        name = Path(path).name
        if path.startswith("tests/") and name.startswith("test_"):
            if name in seen:
                yield Violation(path, 1, "test-name", f"named like {seen[name]}")
            seen.setdefault(name, path)


#: Prose: four words in a row, none of them a key, a name in backticks or a value.
PROSE = re.compile(r"(?<![\w`.=])[a-z]+(?: [a-z']+){3,}(?![\w`=])")


def wording(tree: Tree) -> Iterator[Violation]:
    """Tests ask for the parts of a message, and not for its wording."""
    for path in tree.ending(".py", ".rs"):
        if path.startswith("tests/") and path.endswith(".py"):
            pinned = _pinned_in_python(tree.text(path))
        elif path.startswith("crates/"):
            pinned = _pinned_in_rust(tree.text(path))
        else:
            continue
        for line, part in pinned:
            if found := PROSE.search(part):
                message = f"`{found[0]}`: ask for place, value and what is expected"
                yield Violation(path, line, "wording", message)


def _pinned_in_python(text: str) -> Iterator[tuple[int, str]]:
    """Texts that `carries`, `refused` and `pytest.raises` ask for, with their lines."""
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.Call):
            continue
        name = getattr(node.func, "attr", "") or getattr(node.func, "id", "")
        asked = node.args if name in ("carries", "refused") else []
        if name == "raises":
            asked = [keyword.value for keyword in node.keywords if keyword.arg == "match"]
        for part in asked:
            if isinstance(part, ast.Constant) and isinstance(part.value, str):
                yield part.lineno, part.value


def _pinned_in_rust(text: str) -> Iterator[tuple[int, str]]:
    """Texts that `assert_carries` asks for, with the lines of the calls."""
    for call in re.finditer(r"assert_carries\(.*?\);", text, re.S):
        line = text.count("\n", 0, call.start()) + 1
        for part in re.findall(r'"((?:[^"\\]|\\.)*)"', call[0]):
            yield line, part


def report_keys(tree: Tree) -> Iterator[Violation]:
    """Reports are read by attributes, which type checkers know, and not by text."""
    stub = next((path for path in tree.files if path.endswith("report/tables.pyi")), "")
    tables = {
        of.name: {ast.unparse(key.target): key for key in of.body if isinstance(key, ast.AnnAssign)}
        for of in ast.parse(tree.text(stub)).body
        if isinstance(of, ast.ClassDef)
    }
    sections = {
        key: tables.get(ast.unparse(of.annotation).removesuffix(" | None"), {})
        for key, of in tables.get("Report", {}).items()
    }
    for path in tree.ending(".py"):
        for node in () if path.startswith("tests/") else ast.walk(ast.parse(tree.text(path))):
            match node:
                case ast.Subscript(of, ast.Constant(str(key))) if key in sections:
                    is_read = bool(re.search(r"(\b|_)report$|\.to_dict\(\)$", ast.unparse(of)))
                case ast.Subscript(
                    ast.Subscript(of, ast.Constant(str(section))) | ast.Attribute(of, section),
                    ast.Constant(str(key)),
                ):
                    is_read = key in sections.get(section, ()) and "config" not in ast.unparse(of)
                case _:
                    continue
            if is_read:
                message = f'`["{key}"]` of a report, which is an attribute of `result.report`'
                yield Violation(path, node.lineno, "report", message)


def families(tree: Tree) -> Iterator[Violation]:
    """A room with a contract is a family: a roster, and members that carry their facts."""
    rule = "family"
    member = re.compile(r"\bconst MEMBER\b")
    for folder in sorted(tree.rooms):
        roster = f"{folder}/mod.rs"
        text = tree.text(roster)
        # A member may lie in a room of its own kind: `binary::vscsi::MEMBER`.
        listed = [
            name.replace("::", "/") for name in re.findall(r"\b((?:\w+::)*\w+)::MEMBER\b", text)
        ]
        contracts = {f"{folder}/contract.rs", f"{folder}/contract/mod.rs"}
        if not contracts & set(tree.files):
            if listed:
                yield Violation(roster, 1, rule, "a roster without a contract beside it")
            continue
        if not re.search(r"\bconst ROSTER\b", text):
            yield Violation(folder, 1, rule, "no ROSTER in mod.rs, though it has a contract")
        for name in listed:
            paths = [f"{folder}/{name}.rs", f"{folder}/{name}/mod.rs"]
            said = "".join(map(tree.text, paths))
            place = next((path for path in paths if path in tree.files), roster)
            if not member.search(said) or not re.search(r'\bsummary:\s*"[^"]+"', said):
                yield Violation(place, 1, rule, f"no MEMBER with a summary in {name}")
        for path in tree.sources():
            said = tree.text(path)
            if not path.startswith(f"{folder}/") or not member.search(said):
                continue
            name = path.removeprefix(f"{folder}/").removesuffix(".rs").removesuffix("/mod")
            if name not in listed:
                yield Violation(path, 1, rule, f"not in the roster {roster}")
            for key in re.findall(r'\bcitation:\s*"([^"]+)"', said):
                if key not in tree.citations:
                    yield Violation(path, 1, rule, f"cites `{key}`, not in CITATIONS.bib")


def columns(tree: Tree) -> Iterator[Violation]:
    """Lines fit side by side."""
    for path in tree.ending(".rs", ".py"):
        for number, line in tree.lines(path):
            if len(line) > COLUMNS:
                message = f"{len(line)} columns, at most {COLUMNS}"
                yield Violation(path, number, "columns", message)


def leftovers(tree: Tree) -> Iterator[Violation]:
    """Nothing half done is left."""
    for path in tree.ending(".rs", ".py"):
        for number, line in tree.lines(path):
            for word in LEFTOVERS:
                if word in line:
                    yield Violation(path, number, "leftover", f"`{word.rstrip('(')}`")


def lints(tree: Tree) -> Iterator[Violation]:
    """Lints are answered, not switched off."""
    for path in tree.sources():
        for number, line in tree.lines(path):
            for listed in re.findall(r"#!?\[(?:allow|expect)\(([^)]*)\)\]", line):
                for lint in (part.strip() for part in listed.split(",")):
                    if lint and lint not in ALLOWED_LINTS and not lint.startswith("reason"):
                        yield Violation(path, number, "lint", f"`{lint}` is switched off")


def changelog(tree: Tree) -> Iterator[Violation]:
    """CHANGELOG.md speaks of the version that is being built."""
    found = re.search(r'^version\s*=\s*"([^"]+)"', tree.text("Cargo.toml"), re.M)
    headings = re.findall(r"^##\s+\[?([^\]\s]+)", tree.text("CHANGELOG.md"), re.M)
    if not {"Unreleased", found[1] if found else ""} & set(headings):
        yield Violation("CHANGELOG.md", 1, "changelog", "no heading of this version or Unreleased")


#: Every rule.
RULES: tuple[Callable[[Tree], Iterator[Violation]], ...] = (
    direction,
    floors,
    first_line,
    doc_noun,
    length,
    names,
    marked,
    rooms,
    tests_in_rust,
    test_names,
    wording,
    report_keys,
    families,
    columns,
    leftovers,
    lints,
    changelog,
)


def check(root: Path) -> list[Violation]:
    """Every violation in the checkout at `root`, by path and line."""
    tree = Tree(Path(root))
    return sorted(violation for rule in RULES for violation in rule(tree))


def main() -> int:
    """Print violations and notes; 1 if there are violations."""
    root = Path(__file__).resolve().parent.parent
    violations = check(root)
    for violation in violations:
        print(violation)
    for path, lines in long_files(Tree(root)):
        if lines <= HARD_LINES:
            print(f"note: {path} has {lines} lines, above the soft cap of {SOFT_LINES}")
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())
