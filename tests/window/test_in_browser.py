"""Pages in a real browser: a run in a file, pages from elsewhere, and what a long run leaves."""

from __future__ import annotations

import base64
import gc
import http.server
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from nandlab.window.assets import carried, of_folder
from nandlab.window.html import one_file
from tests.conftest import MIXED, ROOT, Ended
from tests.window.browser import DESKTOP, PHONE, Window, chromium, served

Run = Callable[..., Ended]

PAGE = of_folder(ROOT / "web")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as browser:
        yield browser


def test_the_engine_carries_the_page_of_this_checkout() -> None:
    ours = {path: text for path, text in PAGE.items() if path[:5] != "wasm/"}
    assert {path: carried()[path] for path in ours} == ours


@pytest.mark.parametrize("size", [DESKTOP, PHONE])
def test_a_run_in_a_file_is_opened_from_a_disk(
    browser: Any,
    folder: Path,
    nandlab: Run,
    monkeypatch: pytest.MonkeyPatch,
    size: tuple[int, int],
) -> None:
    monkeypatch.setattr("nandlab.window.assets.carried", lambda: PAGE)
    run = ("run", "--drive", "tiny", "--workload", "mixed.fio", "--precondition", "fill")
    nandlab(*run, "--html", "run.html").succeeded()
    page = browser.new_page(viewport={"width": size[0], "height": size[1]})
    errors, asked = list[str](), list[str]()
    page.on("console", lambda said: errors.append(said.text) if said.type == "error" else None)
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.goto((folder / "run.html").as_uri())
    page.wait_for_selector(".tile")
    window = Window.__new__(Window)
    window.page, window.errors = page, errors
    window.wait(lambda: window.status.startswith("Job over"), "whole run")
    end_s = window.now_s
    page.locator("#moment").fill("10")
    window.wait(lambda: 0 < window.now_s < end_s, "earlier moment")
    window.show("why")
    page.get_by_text("slowest", exact=True).first.click()
    window.wait(lambda: page.locator(".why table").count() > 0, "parts of the slowest request")
    assert not page.locator("#tab-build").is_visible()
    assert not errors
    assert {url for url in asked if not url.startswith(("file:", "data:", "blob:"))} == set()
    page.close()


NOTEBOOK = """async ([esm, values]) => {
  const listeners = [];
  const packed = (buffer) => btoa(String.fromCharCode(...new Uint8Array(buffer)));
  const bytes = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const unpacked = (text) => new DataView(bytes(text).buffer);
  const model = {
    get: (name) => values[name],
    on: (_, act) => listeners.push(act),
    off: () => {},
    send: async (content, _, buffers = []) => {
      for (const [told, sent] of await window.kernel(content, buffers.map(packed)))
        for (const act of listeners) act(told, sent.map(unpacked));
    },
  };
  const url = URL.createObjectURL(new Blob([esm], {type: "text/javascript"}));
  (await import(url)).default.render({model, el: document.body});
}"""


def test_a_cell_of_a_notebook_shows_the_page(browser: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    of = pytest.importorskip("nandlab.window.widget", reason="anywidget is not installed")
    monkeypatch.setattr(of, "carried", lambda: PAGE)
    widget, sent = of.Window("tiny", MIXED), list[Any]()
    monkeypatch.setattr(widget, "send", lambda told, buffers=(): sent.append((told, buffers)))

    def kernel(content: dict[str, str], buffers: list[str]) -> list[Any]:
        sent.clear()
        widget._take(widget, content, [memoryview(base64.b64decode(one)) for one in buffers])
        return [[told, [base64.b64encode(one).decode() for one in bytes_]] for told, bytes_ in sent]

    page, errors = browser.new_page(), list[str]()
    page.on("console", lambda said: errors.append(said.text) if said.type == "error" else None)
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.expose_function("kernel", kernel)
    # A notebook has an address, and the page in its cell has none that could be changed or told.
    with elsewhere("<!doctype html><title>notebook</title><body>") as notebook:
        page.goto(notebook)
        page.evaluate(NOTEBOOK, [of.Window._esm, {"page": widget.page, "height_px": 800}])
        page.wait_for_selector("iframe")
        inside = page.frame_locator("iframe")
        inside.get_by_label("Run to the end").first.click(timeout=30_000)
        inside.get_by_text("Job over").first.wait_for(timeout=60_000)
        assert "5,000 requests" in inside.locator(".status").inner_text()
        assert inside.get_by_role("button", name="Copy link").is_disabled()
        assert not errors
        page.close()


HOSTILE = """<!doctype html><meta charset="utf-8"><body><script>
const told = {};
const at = location.hash.slice(1);
const tried = async (name, what) => {
  told[name] = await Promise.race([
    what().then(() => "done", () => "refused"),
    new Promise((resolve) => setTimeout(resolve, 5000, "nothing")),
  ]);
};
const element = (tag, src) => () => new Promise((resolve, reject) => {
  const made = document.createElement(tag);
  Object.assign(made, {src, onload: resolve, onerror: reject});
  document.body.append(made);
});
const socket = () => new Promise((resolve, reject) => {
  const opened = new WebSocket(`ws://${at}/window`);
  Object.assign(opened, {onopen: resolve, onerror: reject});
});
Promise.all([
  tried("fetch", () => fetch(`http://${at}/`).then((answer) => answer.text())),
  tried("opaque", () => fetch(`http://${at}/app.js`, {mode: "no-cors"})),
  tried("post", () => fetch(`http://${at}/`, {method: "POST", body: "{}"})),
  tried("script", element("script", `http://${at}/app.js`)),
  tried("socket", socket),
]).then(async () => {
  const frame = document.createElement("iframe");
  frame.src = `http://${at}/`;
  document.body.append(frame);
  await new Promise((resolve) => (frame.onload = resolve));
  try { told.frame = String(frame.contentDocument); } catch { told.frame = "refused"; }
  document.title = JSON.stringify(told);
});
</script>"""


@contextmanager
def elsewhere(text: str) -> Iterator[str]:
    """A server of another origin that gives out one page."""

    class Answer(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *_: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answer) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
        thread.join()


def test_a_page_from_elsewhere_can_neither_read_nor_drive_it(browser: Any) -> None:
    with served() as url, elsewhere(HOSTILE) as hostile:
        place = url.split("/")[2]
        page = browser.new_page()
        framed = list[int]()
        page.on("response", lambda answer: framed.append(answer.status))
        page.goto(f"{hostile}#{place}")
        page.wait_for_function("document.title.startsWith('{')", timeout=30_000)
        told = page.evaluate("JSON.parse(document.title)")
        page.close()
    names = ("fetch", "opaque", "post", "script", "socket")
    assert told == dict.fromkeys((*names, "frame"), "refused") | {"frame": told["frame"]}
    assert told["frame"] in ("refused", "null")


def resident_mb() -> float:
    """Memory of this process."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def test_a_long_run_leaves_nothing_behind(
    browser: Any, few_or_all: Callable[[float, float], float]
) -> None:
    seconds = few_or_all(4, 600)
    job = quote("[a]\nrw=randrw\nbs=4k\nrate_iops=4000\niodepth=16\nruntime=100000\ntime_based\n")
    with served() as url:
        window = Window(browser, f"{url}&drive=tiny&precondition=steady&job={job}")
        devtools = window.page.context.new_cdp_session(window.page)

        def used() -> tuple[float, float, float, float]:
            # What the first collection sets free may hold nodes of the page.
            for _ in range(2):
                devtools.send("HeapProfiler.collectGarbage")
            devtools.send("Performance.enable")
            told = devtools.send("Performance.getMetrics")["metrics"]
            by_name = {one["name"]: one["value"] for one in told}
            gc.collect()
            heap_mb = by_name["JSHeapUsedSize"] / 1e6
            return heap_mb, by_name["Nodes"], by_name["JSEventListeners"], resident_mb()

        window.wait(lambda: window.now_s > 0.01, "time that goes on")
        time.sleep(seconds / 4)
        before, since_s = used(), window.now_s
        time.sleep(seconds * 3 / 4)
        after, now_s = used(), window.now_s
        window.page.close()
        print(f"leaks | {before} | {after} | {now_s} s simulated")
    # The drive was at work all the time.
    assert now_s > since_s + 0.01 * seconds
    assert window.errors == []
    # History and maps have their sizes, and a list its rows; what grows with the frames of ten
    # minutes would be many times this.
    for grown, bound in zip(
        (b - a for a, b in zip(before, after, strict=True)), (8, 1000, 20, 40), strict=True
    ):
        assert grown < bound, (before, after)


def test_the_page_of_a_notebook_is_one_file() -> None:
    text = one_file(PAGE)
    assert 'name="nandlab-host"' in text
