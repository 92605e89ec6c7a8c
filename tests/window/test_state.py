"""State of the page: its history counts all, its links say all, and one play is on at a time."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.window.node import evaluated, with_node

pytestmark = with_node


def state(name: str) -> str:
    """Address of a module of the page's state."""
    return repr((ROOT / "web" / "state" / name).as_uri())


HISTORY = """
import {{ History }} from {history};
import {{ Buckets }} from {buckets};
const history = new History(["nand_reads", "latency_max_us", "power_w"], new Buckets([1000, 2000]));
const frames = {frames};
let largest = 0;
for (const [at, ...scalars] of frames) {{
  history.push(at, Float64Array.from(scalars), Uint32Array.from([1, 0, 2]), new Uint32Array(3));
  largest = Math.max(largest, history.points.length);
}}
const sum = (name) => history.column(name).reduce((a, b) => a + b, 0);
const reads = history.points.reduce((n, point) => n + point.read.reduce((a, b) => a + b, 0), 0);
console.log(JSON.stringify({{
  largest, reads, total: history.total.read.reduce((a, b) => a + b, 0), nand: sum("nand_reads"),
  longest: Math.max(...history.column("latency_max_us")),
  uj: history.points.reduce((uj, p) => uj + p.scalars[2] * (p.at_ns - p.from_ns), 0),
}}));
"""


def test_a_history_loses_no_count_however_long_it_is(tmp_path: Path) -> None:
    # Each fifth frame is one of the same moment, as after an act.
    times = [at - (at % 5 == 4) for at in range(1, 9001)]
    frames = [[time, at % 7, at % 1000, at % 3] for at, time in enumerate(times)]
    script = HISTORY.format(
        history=state("history.js"), buckets=state("latency.js"), frames=json.dumps(frames)
    )
    told = json.loads(evaluated(script, tmp_path))
    assert told["largest"] <= 2048
    assert told["total"] == told["reads"] == 3 * len(frames)
    assert told["nand"] == sum(at % 7 for at in range(9000))
    assert told["longest"] == 999
    before, energy = 0, 0
    for time, *_, power in frames:
        energy += power * (time - before)
        before = time
    assert told["uj"] == pytest.approx(energy)


def test_a_link_keeps_values_of_every_type(tmp_path: Path) -> None:
    values = {
        "a": 3,
        "b": -1.5e-7,
        "c": True,
        "d": "greedy",
        "e": [1, 2, 3],
        "f": [["x", 1], []],
        "g": {"k": [0.5]},
        "h": "3",
        "i": "true",
        "j": "[1]",
        "k": "a=b&c#d %20",
        "l": "",
        "m": '"',
    }
    script = f"""
    import {{ read, write }} from {state("fragment.js")};
    const set = {json.dumps(values)};
    const made = {{ drive: "tiny", set, job: "[j]\\nrw=read", seed: 7, precondition: "fill" }};
    console.log(JSON.stringify(read(write(made, "drive")).experiment));
    """
    read = json.loads(evaluated(script, tmp_path))
    assert read["set"] == values
    assert (read["job"], read["seed"], read["precondition"]) == ("[j]\nrw=read", 7, "fill")


def test_one_play_is_on_however_often_it_is_begun(tmp_path: Path) -> None:
    script = f"""
    import {{ Player }} from {state("player.js")};
    globalThis.document = {{ hidden: false }};
    const player = new Player();
    let steps = 0;
    player.sessions = [{{
      isOver: false, isCut: false, state: {{ now_ns: 0, phase: "run" }},
      async advance({{ simulated_ns }}) {{ steps += 1; this.state.now_ns += simulated_ns; }},
      async look() {{}},
    }}];
    const plays = [player.play()];
    for (let i = 0; i < 20; i += 1) {{ player.pause(); plays.push(player.play()); }}
    await new Promise((go) => setTimeout(go, 100));
    const from = steps;
    await new Promise((go) => setTimeout(go, 600));
    const seen = steps - from;
    const isOn = player.isPlaying;
    player.pause();
    await Promise.all(plays);
    console.log(JSON.stringify([seen, isOn]));
    """
    steps, is_on = json.loads(evaluated(script, tmp_path))
    assert is_on
    # A play steps once in 40 ms.
    assert 2 <= steps <= 17
