"""Pages of the site, laid out for Sphinx: copies of the Markdown files, with an index and its tree.

The files keep their places relative to each other. In their links only two kinds of targets change:
a folder becomes its page, and `README.md`, which is the first page, becomes `index.md`.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterable
from pathlib import Path

from website import api

ROOT = Path(__file__).resolve().parents[2]

_SOURCES = ("*.md", "docs/**/*.md", "examples/**/*.md", "experiments/*/*.md", "tests/README.md")
_FIRST = ("docs/glossary.md", "docs/reference.md")
_INSIDE = ("docs/architecture.md", "docs/validation.md", "docs/robustness.md", "docs/security.md")
_PARTS = re.compile(r"^```.*?^```|`[^`\n]*`|\]\(([^)\s]+)\)", re.M | re.S)


def stage(folder: Path, *, has_window: bool) -> None:
    """Lays the pages out in a new folder."""
    shutil.rmtree(folder, ignore_errors=True)
    found = sorted({path for pattern in _SOURCES for path in ROOT.glob(pattern)})
    for path in found:
        name = path.relative_to(ROOT).as_posix()
        _write(folder / _page(name), linked(path.read_text(encoding="utf-8"), name))
        # Pictures and other files that pages link to lie where they are linked to.
        for target in _targets(path):
            if target.is_file() and target.suffix != ".md":
                copy = folder / target.relative_to(ROOT)
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(target, copy)
    names = [path.relative_to(ROOT).as_posix() for path in found]
    _write(folder / "experiments/index.md", _experiments(names))
    api.write(folder / "api")
    with (folder / "index.md").open("a", encoding="utf-8") as index:
        index.write(_tree(names, has_window=has_window))


def linked(text: str, name: str) -> str:
    """A page's text with the links of the site; `name` is its place in the repository."""

    def change(found: re.Match[str]) -> str:
        link = found[1]
        if link is None or re.match(r"\w+:", link):
            return found[0]
        target, hash_, anchor = link.partition("#")
        if not target:
            return found[0]
        whole = os.path.normpath(os.path.join(os.path.dirname(name), target))
        page = _page(whole)
        if page == whole:
            return found[0]
        return f"]({os.path.relpath(page, os.path.dirname(name) or '.')}{hash_}{anchor})"

    return _PARTS.sub(change, text)


def _page(name: str) -> str:
    """Page of a file or folder of the repository."""
    if name == "README.md":
        return "index.md"
    if (ROOT / name).is_dir():
        return f"{name}/{'README' if (ROOT / name / 'README.md').is_file() else 'index'}.md"
    return name


def _targets(path: Path) -> Iterable[Path]:
    """Files that a page links to."""
    for link in re.findall(r"\]\(([^)\s#]+)", path.read_text(encoding="utf-8")):
        target = (path.parent / link).resolve()
        if not re.match(r"\w+:", link) and target.is_relative_to(ROOT):
            yield target


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def _experiments(names: list[str]) -> str:
    pages = [name for name in names if name.startswith("experiments/")]
    text = "# Papers and drives reproduced\n\nAll figures: [validation](../docs/validation.md).\n"
    return text + _toctree("", [name.removeprefix("experiments/") for name in pages])


def _tree(names: list[str], *, has_window: bool) -> str:
    """The tree of the pages, behind the first one."""

    def below(folder: str) -> list[str]:
        return [name for name in names if os.path.dirname(name) == folder]

    def number(name: str) -> tuple[int, str]:
        found = re.match(r"(\d+)-", os.path.basename(name))
        return (int(found[1]) if found else 0, name)

    tutorials = sorted(below("docs/tutorials"), key=number)
    guides = [name for name in below("docs") if name not in (*_FIRST, *_INSIDE)]
    others = [name for name in below("") if name != "README.md"]
    others += [name for name in names if name.startswith(("examples/", "tests/"))]
    # The page of the window is none of Sphinx's: a link that it takes as it is.
    link = '<a href="window/index.html">The window: a drive at work, in this browser</a>'
    return "".join(
        [
            f"\n{link}\n" if has_window else "",
            _toctree("Tutorials", tutorials),
            _toctree("Guides", guides),
            _toctree("Reference", [*_FIRST, "api/index.md", *below("docs/formats")]),
            _toctree("Inside", [*_INSIDE, "experiments/index.md", *below("docs/decisions")]),
            _toctree("Project", others),
        ]
    )


def _toctree(caption: str, pages: Iterable[str]) -> str:
    listed = "\n".join(pages)
    head = f":caption: {caption}\n:hidden:\n" if caption else ""
    return f"\n```{{toctree}}\n{head}:maxdepth: 1\n\n{listed}\n```\n"
