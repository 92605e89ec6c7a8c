"""Lives, traces and neighbours in the window: begun, stopped, opened from files, told by a link."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest

import nandlab
from tests.conftest import carries
from tests.window.browser import DESKTOP, PHONE, Window, chromium, served

JOB = "[r]\nrw=randrw\nbs=4k\niodepth=8\nsize=100%\nnumber_ios=1000\nnorandommap=1\n"
SHORT = {"chip.geometry.blocks_per_plane": 64, "chip.geometry.pages_per_block": 32}
"""A drive whose life takes a second."""

SETS = "".join(f"&set.{key}={value}" for key, value in SHORT.items())
EXPERIMENT = f"&drive=tiny{SETS}&job={quote(JOB)}&seed=7&precondition=fill"


@pytest.fixture(scope="module")
def browser() -> Iterator[object]:
    with chromium() as browser:
        yield browser


@pytest.fixture
def window(browser: object, request: pytest.FixtureRequest) -> Iterator[Window]:
    size = getattr(request, "param", DESKTOP)
    with served() as url:
        window = Window(browser, url + EXPERIMENT, size)  # type: ignore[arg-type]
        yield window
        window.page.close()
    assert window.errors == []


def drop(window: Window, name: str, content: bytes) -> None:
    """Drops a file on the page."""
    window.page.evaluate(
        """([name, bytes]) => {
          const data = new DataTransfer();
          data.items.add(new File([new Uint8Array(bytes)], name));
          document.dispatchEvent(new DragEvent("drop", {dataTransfer: data, bubbles: true}));
        }""",
        [name, list(content)],
    )


def over(window: Window) -> str:
    """The line about the job of the trace, which runs to its end by itself."""
    window.wait(lambda: "800 requests:" in window.status, "end of the replay")
    return window.status


def is_narrow(window: Window) -> bool:
    """Whether nothing makes the page wider than the screen."""
    return window.page.evaluate(
        "() => document.documentElement.scrollWidth <= document.documentElement.clientWidth"
    )


@pytest.mark.parametrize("window", [DESKTOP, PHONE], indirect=True)
def test_a_life_comes_to_its_end_point_by_point(window: Window) -> None:
    window.show("life")
    page = window.page
    page.get_by_label("Cycles that data are kept for").fill("20")
    page.get_by_role("spinbutton", name="Points").fill("3")
    begin = page.get_by_role("button", name="Begin the life")
    begin.focus()
    page.keyboard.press("Enter")
    words = page.locator("#panel-life .words")
    window.wait(lambda: "The life ended" in words.inner_text(), "end of the life")
    carries(words.inner_text(), "TB written", "most cycles")
    rows = page.locator("#panel-life table:not(.u-legend) tbody tr")
    assert rows.count() == 4
    heads = page.locator("#panel-life table:not(.u-legend) thead th").all_inner_texts()
    last = rows.last.inner_text().split("\t")
    assert int(last[heads.index("Most cycles")]) >= 20
    assert page.locator("#panel-life .chart canvas").count() >= 4
    assert is_narrow(window)


def test_a_life_can_be_stopped_and_a_wrong_one_is_refused(window: Window) -> None:
    window.show("life")
    page = window.page
    page.get_by_role("spinbutton", name="Points").fill("0")
    begin = page.get_by_role("button", name="Begin the life")
    begin.click()
    refusal = page.locator("#panel-life .field .refusal", has_text="windows")
    refusal.wait_for()
    carries(refusal.inner_text(), "1 to 1000")
    page.get_by_role("spinbutton", name="Points").fill("1000")
    page.get_by_label("Acceleration").fill("1")
    begin.click()
    words = page.locator("#panel-life .words")
    window.wait(lambda: "Points so far" in words.inner_text(), "life under way")
    page.get_by_role("button", name="Stop").click()
    window.wait(lambda: "it was stopped" in words.inner_text(), "life that is stopped")
    # The drive itself is as it was.
    window.wait(lambda: window.status.startswith("Job over"), "end of the job")
    carries(window.status, "1,000 requests")


def test_a_life_of_the_command_is_opened(window: Window) -> None:
    life = nandlab.life("tiny", JOB, years=0.01, dwpd=3, windows=2, set=SHORT)
    drop(window, "life.json", life.to_json().encode())
    words = window.page.locator("#panel-life .words")
    window.wait(lambda: "life.json" in words.inner_text(), "opened life")
    carries(words.inner_text(), "tiny", "The life ended after")
    assert window.page.locator("#panel-life table:not(.u-legend) tbody tr").count() == len(
        life.windows
    )
    drop(window, "other.json", b"[1, 2]")
    window.wait(lambda: "is no life" in words.inner_text(), "refusal")


def lines(count: int, offset: int = 0) -> str:
    """A trace of MSR, a request every 0.1 ms."""
    first, ops = 128166372003061629, ("Write", "Read")
    return "".join(
        f"{first + 1000 * i},host,0,{ops[i % 2]},{offset + 4096 * (i % 300)},4096,1\n"
        for i in range(count)
    )


def summarised(window: Window) -> None:
    """Drops a trace on the page, which tells of it."""
    drop(window, "a.csv", lines(800).encode())
    words = window.page.locator("section[aria-label='Trace'] .words")
    window.wait(lambda: "800 requests" in words.inner_text(), "summary of the trace")
    carries(words.inner_text(), "a.csv", "msr", "ms")
    assert is_narrow(window)


@pytest.mark.parametrize("window", [PHONE], indirect=True)
def test_a_trace_fits_a_phone(window: Window) -> None:
    summarised(window)


def test_a_trace_is_dropped_and_replayed(browser: object, window: Window, folder: Path) -> None:
    page = window.page
    summarised(window)
    page.get_by_role("button", name="Build and replay").click()
    window.wait(lambda: page.locator("#tab-drive[aria-selected=true]").count() > 0, "drive")
    line = over(window)
    (folder / "a.csv").write_text(lines(800))
    report = nandlab.run(
        "tiny", trace=folder / "a.csv", set=SHORT, seed=7, precondition="fill"
    ).report
    found = re.search(r"reads .*?, mean ([\d.]+) µs", line)
    assert found, line
    carries(line, "800 requests")
    assert float(found[1]) == pytest.approx(report.host.read.latency_us.mean, rel=5e-3)
    # A link tells the trace, and has nothing of it.
    fragment = re.sub(r"(^|&)token=[^&]*", "", page.url.split("#")[1])
    with served() as url:
        other = Window(browser, f"{url}&{fragment}")  # type: ignore[arg-type]
        carries(other.status, "a.csv", "drop")
        drop(other, "a.csv", lines(800).encode())
        other.wait(lambda: "drop" not in other.status, "trace of the link")
        assert over(other) == line
        other.page.close()
        assert other.errors == []


def test_a_wrong_trace_is_refused_with_its_line(window: Window) -> None:
    drop(window, "b.csv", (lines(3) + "128166372003091629,host,0,Read,x,4096,1\n").encode())
    words = window.page.locator("section[aria-label='Trace'] .words")
    window.wait(lambda: "b.csv:4" in words.inner_text(), "refusal with its line")
    assert window.page.get_by_role("button", name="Build and replay").is_disabled()
    drop(window, "c.csv", lines(3, 1 << 45).encode())
    window.wait(lambda: "Not on this drive" in words.inner_text(), "refusal by the drive")
    window.page.get_by_label("Addresses beyond the drive").select_option("compact")
    window.wait(lambda: "3 requests" in words.inner_text(), "trace that fits")


def test_programmed_neighbours_shift_the_levels(window: Window) -> None:
    window.show("cell")
    page = window.page
    page.wait_for_selector("#panel-cell .chart")

    def means() -> str:
        return page.locator("#panel-cell .chart").first.get_attribute("aria-label") or ""

    neighbours = page.get_by_label("Neighbours programmed since")
    window.wait(lambda: "sigma" in means(), "levels")
    seen = {means()}
    for few in ("none", "wordline"):
        neighbours.select_option(few)
        window.wait(lambda: means() not in seen, f"levels with {few}")
        seen.add(means())
    assert len(seen) == 3


def test_reads_of_a_cell_are_measured(window: Window) -> None:
    window.show("cell")
    # Beside the table stands the legend of a chart, a table as well.
    rows = window.page.locator(
        "#panel-cell section[aria-label='Latency of one page read without a queue']"
        " table:not(.u-legend) td"
    )
    rows.first.wait_for()
    first = rows.nth(2).inner_text()
    window.page.locator("#cell-pe_cycles").fill("145")
    window.wait(lambda: rows.nth(2).inner_text() != first, "other share of one round")
    assert float(rows.nth(2).inner_text().split()[0]) < float(first.split()[0])
