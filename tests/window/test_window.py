"""What is seen in the window: a drive is built, run, asked, broken, and handed on by a link."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import quote

import pytest

import nandlab
from tests.conftest import carries
from tests.window.browser import DESKTOP, PHONE, TABS, Window, chromium, served

JOB = "[r]\nrw=randrw\nbs=4k\niodepth=8\nsize=100%\nnumber_ios=4000\nnorandommap=1\n"
EXPERIMENT = f"&drive=tiny&set.recovery.name=checkpoint&job={quote(JOB)}&seed=7&precondition=fill"


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


def test_a_drive_is_at_work_within_ten_seconds(browser: object) -> None:
    with served() as url:
        window = Window(browser, url)  # type: ignore[arg-type]
        window.wait(lambda: window.now_s > 0.01, "time that goes on", 10)
        reads = window.page.locator(".tile", has_text="Reads").locator(".big").first
        window.wait(lambda: reads.inner_text()[:1].isdigit(), "figure of the reads", 10)
        assert float(reads.inner_text()) > 0
        colours = window.page.evaluate(
            """() => {
              const map = document.querySelector('.map');
              const {data} = map.getContext('2d').getImageData(0, 0, map.width, map.height);
              return new Set(new Uint32Array(data.buffer)).size;
            }"""
        )
        assert colours > 10
        window.page.close()
        assert window.errors == []


def test_a_run_has_the_figures_of_the_command(window: Window) -> None:
    line = window.run_to_the_end()
    report = nandlab.run(
        "tiny", JOB, set={"recovery.name": "checkpoint"}, seed=7, precondition="fill"
    ).report
    carries(line, f"{report.host.requests_completed:,}")
    found = re.search(r"reads ([\d.]+) (\S+) IOPS, mean ([\d.]+) µs, p99 ([\d.]+) (\S+)s,", line)
    assert found, line
    assert float(found[3]) == pytest.approx(report.host.read.latency_us.mean, rel=5e-3)
    scale = {"µ": 1.0, "m": 1e3}[found[5]]
    assert float(found[4]) * scale == pytest.approx(report.host.read.latency_us.p99, rel=5e-3)


def test_a_link_is_an_experiment(browser: object, window: Window) -> None:
    line = window.run_to_the_end()
    fragment = window.page.url.split("#")[1]
    carries(fragment, "drive=tiny", "seed=7")
    experiment = re.sub(r"(^|&)token=[^&]*", "", fragment)
    with served() as url:
        other = Window(browser, f"{url}&{experiment}")  # type: ignore[arg-type]
        assert other.run_to_the_end() == line
        other.page.close()
        assert other.errors == []


def test_the_slowest_request_is_taken_apart(window: Window) -> None:
    window.run_to_the_end()
    window.show("why")
    window.page.select_option("#why-among", "all")
    window.page.get_by_role("button", name="slowest", exact=True).click()
    window.page.wait_for_selector(".waterfall .fall")
    told = window.page.inner_text("#panel-why > .words")
    found = re.search(r"took ([\d.]+ \S+)\.", told)
    assert found, told
    rows = window.page.locator(".why table tbody tr").all_inner_texts()
    assert rows[-1].split("\t")[2] == "100 %"
    # The parts add up to the latency, to the digits that are shown.
    scale = {"ns": 1.0, "µs": 1e3, "ms": 1e6}

    def ns(text: str) -> float:
        value, unit = text.split()
        return float(value) * scale[unit]

    *parts, total = [ns(row.split("\t")[1]) for row in rows]
    assert sum(parts) == pytest.approx(total, rel=2e-3)
    assert total == pytest.approx(ns(found[1]), rel=6e-3)
    assert window.page.locator(".timeline rect[fill]").count() > 0
    # Each row of the list leads to its request.
    window.page.locator("#panel-why .link").nth(3).click()
    words = window.page.locator("#panel-why > .words")
    window.wait(lambda: words.inner_text() != told, "other request")
    carries(words.inner_text(), "This", "took")


def test_a_click_on_the_heat_map_asks_why(window: Window) -> None:
    window.run_to_the_end()
    window.show("time")
    over = window.page.locator(".chart[aria-label^='Heat map'] .u-over")
    over.wait_for()
    window.wait(lambda: "requests" in window.page.inner_text("#panel-time"), "drawn map")
    box = over.bounding_box()
    assert box is not None
    over.click(position={"x": box["width"] / 2, "y": 10})
    window.page.wait_for_selector(".waterfall .fall")
    assert window.page.locator("#tab-why").get_attribute("aria-selected") == "true"
    carries(window.page.inner_text("#panel-why > .words"), "read", "took")


def test_power_is_cut_and_comes_back(window: Window) -> None:
    window.press("Pause")
    window.show("break")
    log = window.page.locator(".log li")
    window.page.get_by_role("button", name="Cut the power").click()
    log.first.wait_for()
    stopped = window.now_s
    assert window.page.get_by_label("Play").first.is_disabled()
    window.page.get_by_role("button", name="Restore the power").click()
    log.nth(1).wait_for()
    carries(log.nth(0).inner_text(), "ready")
    carries(window.run_to_the_end(), "requests")
    assert window.now_s > stopped


def test_a_kept_point_comes_back(window: Window) -> None:
    window.press("Pause")
    for _ in range(3):
        window.press("One event")
    window.press("Keep this point")
    window.wait(lambda: window.status.startswith("Kept"), "kept point")
    # The clock follows with the next frame.
    kept = window.status.removeprefix("Kept the point at ")
    line = window.run_to_the_end()
    window.press("Back to the kept point")
    window.wait(lambda: window.status.startswith("Back"), "kept point")
    assert window.status == f"Back at {kept}"
    window.wait(lambda: f"{window.page.inner_text('.clock')}." == kept, "clock")
    assert window.run_to_the_end() == line


def test_a_refusal_stands_beside_its_key(window: Window) -> None:
    window.show("build")
    channels = window.page.get_by_label("Channels").first
    window.wait(lambda: channels.input_value() == "2", "preset")
    channels.fill("0")
    channels.press("Tab")
    window.page.wait_for_selector("[aria-invalid=true]")
    beside = channels.locator("xpath=..").locator(".refusal").inner_text()
    carries(beside, "0")
    channels.fill("4")
    channels.press("Tab")
    window.page.wait_for_selector("[aria-invalid=true]", state="detached")
    window.page.get_by_role("button", name="Build and run").click()
    about = window.page.locator(".card .panel .muted").first
    window.wait(lambda: "4 channels" in about.inner_text(), "drive of 4 channels")
    carries(window.page.url, "set.drive.channels=4")


def test_two_drives_run_the_same_job(window: Window) -> None:
    window.run_to_the_end()
    window.show("build")
    window.page.get_by_label("a second drive beside it").check()
    changed = window.page.locator(".drafts .words").nth(1)
    window.wait(lambda: "changed keys: 1" in changed.inner_text(), "second form")
    window.page.get_by_label("Victims of collection").nth(1).select_option("fifo")
    window.wait(lambda: "changed keys: 2" in changed.inner_text(), "changed key")
    window.page.get_by_role("button", name="Build and run").click()
    window.page.locator(".strip-row").nth(1).wait_for()
    line = window.run_to_the_end()
    window.wait(lambda: "B: Job over" in window.status, "end of the second job")
    carries(line, "A", "4,000")
    assert window.page.locator(".map").count() == 2


def test_blocks_are_told_in_words_by_keyboard(window: Window) -> None:
    window.press("Pause")
    window.page.locator(".map").focus()
    window.page.keyboard.press("ArrowRight")
    words = window.page.locator(".card .words").first
    window.wait(lambda: words.inner_text().startswith("Block"), "block in words")
    first = words.inner_text()
    window.page.keyboard.press("ArrowDown")
    window.wait(lambda: words.inner_text() != first, "other block")
    window.page.locator("#tab-drive").focus()
    window.page.keyboard.press("ArrowRight")
    assert window.page.locator("#tab-time").get_attribute("aria-selected") == "true"
    assert window.page.evaluate("document.activeElement.id") == "tab-time"


@pytest.mark.parametrize("window", [DESKTOP, PHONE], indirect=True, ids=["desktop", "phone"])
def test_every_tab_fits_its_page(window: Window) -> None:
    width = window.page.viewport_size["width"]  # type: ignore[index]
    for tab in TABS:
        window.show(tab)
        window.page.wait_for_selector(f"#panel-{tab}:not([hidden])")
        window.page.wait_for_timeout(300)
        assert window.page.evaluate("document.documentElement.scrollWidth") <= width, tab
        unnamed = window.page.evaluate(
            """() => [...document.querySelectorAll('button, input, select, textarea')]
              .filter(one => one.offsetParent && !one.textContent.trim() && !one.labels?.length
                && !one.getAttribute('aria-label')).map(one => one.outerHTML)"""
        )
        assert unnamed == [], tab


def test_layers_have_a_legend_with_numbers(window: Window) -> None:
    window.press("Pause")
    blocks = 2 * 2 * 2 * 256
    for layer in ("state", "kind"):
        window.page.select_option("#layer", layer)
        window.page.wait_for_timeout(200)
        figures = window.page.locator("[aria-label=Legend] .figure").all_inner_texts()
        assert sum(int(one.split(" ")[0].replace(",", "")) for one in figures) == blocks, layer
    for layer in ("valid", "cycles", "age"):
        window.page.select_option("#layer", layer)
        window.page.wait_for_timeout(200)
        carries(window.page.locator(".ends").first.inner_text(), "mean")


def test_a_cell_wears(window: Window) -> None:
    window.show("cell")
    rows = window.page.locator("#panel-cell section[aria-label='Errors by page'] tbody tr")
    rows.first.wait_for()

    def worst() -> float:
        # A table that is being drawn anew has rows without numbers.
        texts = [text.split("\t") for text in rows.all_inner_texts()]
        return max((float(cells[1]) for cells in texts if len(cells) > 1), default=0.0)

    window.wait(worst, "errors of a fresh cell")
    fresh = worst()
    window.page.locator("#cell-pe_cycles").fill("180")
    window.wait(lambda: worst() > fresh, "more errors")
