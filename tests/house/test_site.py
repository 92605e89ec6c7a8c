"""The site: built of all pages without a warning; its links resolve, and it needs no network."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import pytest
from conftest import ROOT
from website import api, stage

import nandlab

#: Tags whose target a browser fetches to show the page.
FETCHED = {"img": "src", "link": "href", "script": "src", "source": "src", "iframe": "src"}


class Page(HTMLParser):
    """Names and targets of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.links: list[str] = []
        self.fetched: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if name := given.get("id"):
            self.names.add(name)
        if tag == "a" and (link := given.get("href")):
            self.links.append(link)
        # A page's own address is not fetched.
        if tag in FETCHED and given.get("rel") != "canonical" and (link := given.get(FETCHED[tag])):
            self.fetched.append(link)


# --- Laying out -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def laid_out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site") / "pages"
    stage.stage(folder, has_window=True)
    return folder


def tree(folder: Path) -> Iterator[str]:
    """Pages that the trees of all pages name."""
    for path in folder.rglob("*.md"):
        for block in re.findall(r"^```\{toctree\}\n(.*?)^```", path.read_text(), re.M | re.S):
            for line in block.splitlines():
                if line and not line.startswith(":") and "<" not in line:
                    page = (path.parent / line).relative_to(folder)
                    yield page.as_posix().removesuffix(".md")


def test_every_page_has_its_place_once(laid_out: Path):
    pages = {
        path.relative_to(laid_out).as_posix().removesuffix(".md") for path in laid_out.rglob("*.md")
    }
    placed = sorted(tree(laid_out))
    assert placed == sorted(pages - {"index"})
    assert "docs/tutorials/1-first-drive" in placed
    index = (laid_out / "index.md").read_text()
    assert index.startswith((ROOT / "README.md").read_text()[:200])
    assert "window/index.html" in index
    # In the order of their numbers: the tenth is not behind the first.
    numbers = re.findall(r"^docs/tutorials/(\d+)-", index, re.M)
    assert numbers == sorted(numbers, key=int)


def test_links_are_those_of_the_repository_but_for_folders_and_the_first_page():
    text = (
        "[a](../README.md#x) [b](device.md#y) [c](../experiments/pm833) [d](https://e.org/)"
        " [e](../experiments) `[f](../README.md)` [g](#z)\n```sh\n[h](../README.md)\n```\n"
    )
    assert stage.linked(text, "docs/nvme.md") == (
        "[a](../index.md#x) [b](device.md#y) [c](../experiments/pm833/README.md)"
        " [d](https://e.org/) [e](../experiments/index.md) `[f](../README.md)` [g](#z)\n"
        "```sh\n[h](../README.md)\n```\n"
    )


def test_every_public_name_has_an_entry(tmp_path: Path):
    api.write(tmp_path / "api")
    text = "\n".join(path.read_text() for path in (tmp_path / "api").iterdir())
    entries = re.findall(r"^\.\. auto(\w+):: ([\w.]+)$", text, re.M)
    names = [name for _, name in entries]
    assert len(names) == len(set(names))
    public = {f"nandlab.{name}" for name in nandlab.__all__} - {"nandlab.__version__"}
    assert public - set(names) == {"nandlab.ecc"}
    assert {("function", "nandlab.run"), ("class", "nandlab.Drive")} < set(entries)
    assert {("exception", "nandlab.StudyUnfinished"), ("class", "nandlab.ftl.Ftl")} < set(entries)


# --- The site -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, as `./lab site` builds it."""
    for module in ("sphinx", "myst_parser", "furo"):
        pytest.importorskip(module, reason=f"{module} is not installed (the extra `site`)")
    out = tmp_path_factory.mktemp("built") / "site"
    ended = subprocess.run(
        [sys.executable, "-m", "website", out],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": "tools"},
        capture_output=True,
        text=True,
        check=False,
    )
    # Warnings are errors: a link without target, a page without place, a docstring askew.
    assert ended.returncode == 0, ended.stderr
    return out


def test_the_site_stands_alone_and_its_links_resolve(site: Path):
    pages = {
        path: Page(path.read_text(encoding="utf-8"))
        for path in site.rglob("*.html")
        if not path.is_relative_to(site / "window")
    }
    assert len(pages) > 80
    wrong = []
    for path, page in pages.items():
        wrong += [f"{path}: fetches {link}" for link in page.fetched if ":" in link]
        for link in {*page.links, *page.fetched}:
            if re.match(r"\w+:", link):
                continue
            file, _, anchor = unquote(link).partition("#")
            target = (path.parent / file.partition("?")[0]).resolve() if file else path
            if not target.exists():
                wrong.append(f"{path}: no {link}")
            elif anchor and target in pages and anchor not in pages[target].names:
                wrong.append(f"{path}: no anchor {link}")
    styles = "".join(path.read_text(encoding="utf-8") for path in site.rglob("*.css"))
    wrong += re.findall(r"(?:@import|url\()\s*['\"]?https?:[^)]*", styles)
    assert not wrong, "\n".join(wrong)


def test_search_works_offline(site: Path):
    """Its index is a script that a page loads from a folder, and knows what users look for."""
    index = (site / "searchindex.js").read_text(encoding="utf-8")
    for word in ("overprovis", "nandlab_submit", "docs/tutorials/5-why-is-my-tail-high"):
        assert word in index, word
    assert "searchindex.js" in (site / "search.html").read_text(encoding="utf-8")
