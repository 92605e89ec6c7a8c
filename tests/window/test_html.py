"""Page in one file: what it holds, what it may do, and that its recording comes back."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import zlib
from pathlib import Path

import numpy as np
import pytest

from nandlab.window.bundle import bundle
from nandlab.window.counts import sections
from nandlab.window.html import one_file
from nandlab.window.record import FIRST_REQUESTS, Recording
from tests.conftest import ROOT, refused
from tests.window.faked import HELLO, Fake, frame_of
from tests.window.node import evaluated, with_node

PAGE = {
    "index.html": b"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>nandlab</title>
<link rel="icon" href="icon.svg">
<link rel="stylesheet" href="vendor/plot.css">
<link rel="stylesheet" href="style.css">
</head>
<body>
<main id="window"></main>
<script type="module" src="app.js"></script>
</body>
</html>
""",
    "style.css": b"main { color: #123456; }",
    "vendor/plot.css": b".plot { width: 1px; }",
    "app.js": b"""import plot from "./vendor/plot.js";
import {
  one, two as second
} from "./view/numbers.js";
import * as every from "./view/numbers.js";
import "./view/said.js";

console.log(plot, one, second(), every.default.name, every.again, "</script><!-- -->");
""",
    "view/numbers.js": b"""export const one = 1;
export function two() { return 2; }
export { said as again } from "./said.js";
export default class Numbers {}
""",
    "view/said.js": b"const word = 'said';\nexport { word as said };\n",
    "vendor/plot.js": b"""/* A licence. */
/*
export function off() {}
*/
var plot = 1;
export { plot as default };
""",
}


@with_node
def test_modules_become_one_script_that_does_the_same(tmp_path: Path) -> None:
    for name, content in PAGE.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(content)
    (tmp_path / "package.json").write_text('{"type": "module"}')
    apart = evaluated((tmp_path / "app.js").read_text(), tmp_path)
    assert apart.split() == ["1", "1", "2", "Numbers", "said", "</script><!--", "-->"]
    assert evaluated(bundle(PAGE, "app.js"), tmp_path) == apart


@pytest.mark.parametrize(
    "module",
    [
        'export * from "./view/said.js";',
        'const late = import("./view/said.js");',
        "export default 1 + 1;",
        "export default () => 1;",
        "export let changed = 1;",
        'import { said } from "elsewhere";',
        'import one, { two } from "./view/numbers.js";',
        'import "./nothing.js";',
        'import "./app.js";',
    ],
)
def test_a_module_of_another_form_is_refused_by_name(module: str) -> None:
    with refused("nothing.js" if "nothing" in module else "app.js"):
        bundle({**PAGE, "app.js": module.encode()}, "app.js")


def test_a_page_in_one_file_asks_nobody_and_runs_its_own_script_only() -> None:
    text = one_file(PAGE, title="a <run>", recorded=b"recorded")
    [policy] = re.findall(r'<meta http-equiv="Content-Security-Policy" content="([^"]*)">', text)
    parts = dict(one.split(" ", 1) for one in policy.split("; "))
    assert parts["default-src"] == "'none'"
    assert "connect-src" not in parts
    assert "unsafe" not in policy
    [data] = re.findall(
        r'<script type="application/octet-stream" id="recorded">(.*?)</script>', text
    )
    assert base64.b64decode(data) == b"recorded"
    [script] = re.findall(r"<script>(.*?)</script>", text, re.S)
    [style] = re.findall(r"<style>(.*?)</style>", text, re.S)
    for key, content in (("script-src", script), ("style-src", style)):
        hashed = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert parts[key] == f"'sha256-{hashed}'"
    assert text.count("<script") == 2
    assert "A licence." in script
    assert "#123456" in style
    assert ".plot" in style
    assert not re.findall(r"\b(?:src|href)=", text)
    assert "<title>a &lt;run&gt;</title>" in text


def recorded(frames: int, blocks: int = 1000, most: int = 16) -> tuple[Recording, list[bytes]]:
    """A recording of so many frames of a fake drive, and these."""
    fake, recording, taken = Fake(blocks), Recording(HELLO, most), []
    for i in range(frames):
        fake.now_ns = 1000 * i
        taken.append(fake.frame(1))
        recording.add(taken[-1], {"now_ns": fake.now_ns})
    return recording, taken


def test_a_recording_has_few_frames_and_all_requests() -> None:
    for frames in (1, 4, 16, 17, 18, 100, 1001):
        recording, taken = recorded(frames)
        assert 1 <= len(recording) <= 16
        assert recording.requests >= FIRST_REQUESTS
        kept = [moment.frame for moment in recording._moments]
        for frames_of in (kept, taken):
            assert sum(sections(one)["rlat"].sum() for one in frames_of) == frames
        assert kept[-1][-1000:] == taken[-1][-1000:]
        assert recording._moments[0].state == {"now_ns": 0}


def test_frames_are_joined_by_what_their_figures_mean() -> None:
    names = ("simulated_ns", "nand_erases", "latency_max_us", "read_iops", "read_latency_mean_us")
    hello = {"scalars": [{"name": name} for name in (*names, "queue_depth")]}
    recording = Recording(hello, 4)
    nan = float("nan")
    for time_ns, share, reads, *figures in (
        (0, nan, 0, 0, 0, nan, nan, 1),
        (100, 0.2, 1, 2, 50, 10, 30, 2),
        (400, 0.6, 3, 3, 40, 20, 10, 3),
        (500, 0.1, 2, 1, 10, nan, 60, 4),
        (600, 0.3, 0, 1, 20, 4, nan, 5),
    ):
        scalars = np.array([time_ns, *figures], "<f8")
        shares, counts = np.full(2, share, "<f4"), np.array([reads, 0], "<u4")
        recording.add(frame_of(scal=scalars, rlat=counts, chan=shares), {"now_ns": time_ns})
    first, second, third = (sections(moment.frame) for moment in recording._moments)
    assert first["scal"][0] == 0
    assert second["chan"] == pytest.approx([0.5, 0.5])
    assert second["rlat"].tolist() == [4, 0]
    assert second["scal"].tolist() == pytest.approx([400, 5, 50, 17.5, 15, 3])
    assert third["scal"].tolist() == pytest.approx([600, 2, 20, 4, 60, 5])


def test_a_recording_of_a_large_drive_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nandlab.window.record.MOST_RAW_BYTES", 100_000)
    recording, _ = recorded(100, blocks=10_000, most=240)
    assert len(recording) <= 100_000 // 10_000
    monkeypatch.setattr("nandlab.window.record.MOST_PACKED_BYTES", 10)
    packed = recording.packed({}, [])
    assert len(recording) == 2
    assert zlib.decompress(packed)


@with_node
def test_a_page_reads_the_recording_as_it_was(tmp_path: Path) -> None:
    recording, taken = recorded(12)
    slow = '["slow",[["among","recent"],["op","read"],["percentile",99.9]]]'
    answers = {'["report",[]]': {"ok": {"a": 1}}, slow: {"ok": {"token": 7}}}
    packed = base64.b64encode(recording.packed(answers, ["build"])).decode()
    link = (ROOT / "web" / "engine" / "file.js").as_uri()
    shown = evaluated(
        f"""
        import {{ FileLink }} from {link!r};
        const link = await FileLink.open({packed!r});
        const told = {{ hello: link.hello, host: link.host, times: [...link.times], frames: [] }};
        for (let i = 0; i < 12; i += 1) {{
          const {{ scal, rlat, vald }} = await link.frame(1);
          told.frames.push([scal[0], [...rlat], vald[5]]);
          await link.call("advance", {{ events: 1 }});
        }}
        told.report = await link.call("report");
        told.slow = [
          await link.call("slow", {{ percentile: 99.5, op: "read" }}),
          await link.call("slow", {{ token: 7 }}),
        ];
        told.refused = await link.call("build", {{}}).catch((error) => error.key);
        const time = async () => (await link.frame(1)).scal[0];
        told.back = [await link.call("seek", {{ now_ns: 3500 }}), await time()];
        told.on = [await link.call("advance", {{ simulated_ns: 2600 }}), await time()];
        await link.call("seek", {{ now_ns: 0 }});
        await link.frame(1);
        await link.call("advance", {{ simulated_ns: 7e9 }});
        told.passed = [...(await link.frame(1)).rlat].reduce((a, b) => a + b);
        console.log(JSON.stringify(told));
        """,
        tmp_path,
    )
    told = json.loads(shown)
    assert told["hello"] == HELLO
    assert told["host"] == {"kind": "file", "refused": ["build"]}
    assert told["times"] == [1000 * i for i in range(12)]
    for shown_frame, frame in zip(told["frames"], taken, strict=True):
        parts = sections(frame)
        assert shown_frame == [parts["scal"][0], parts["rlat"].tolist(), parts["vald"][5]]
    assert (told["report"], told["slow"], told["refused"]) == (
        {"a": 1},
        [{"token": 7}] * 2,
        "build",
    )
    assert told["back"] == [{"now_ns": 3000}, 3000]
    assert told["on"] == [{"now_ns": 5000}, 5000]
    assert told["passed"] == 11


def test_no_file_of_the_page_has_a_form_that_one_file_cannot_have() -> None:
    web = ROOT / "web"
    if not (web / "app.js").exists():
        pytest.skip("no page")
    from nandlab.window.assets import of_folder

    text = one_file(of_folder(web), recorded=b"")
    assert not re.findall(r"\b(?:src|href)=\"(?!#)", text)
