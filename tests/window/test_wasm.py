"""The engine in the browser: the same run as here, byte by byte."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import engines
import pytest

from nandlab import _core

ROOT = Path(__file__).parents[2]

MEMORY = 4 << 30

JOB = """[reader]
rw=randrw
rwmixread=70
bs=4k
iodepth=16
number_ios=20000
"""

GOLDEN = [
    {"config": {"drive": "tiny"}, "precondition": "steady", "job": JOB, "explain": False},
    {
        "config": {"drive": "modern_tlc"},
        "set": {"drive.scale": 1 / 128, "age.pe_cycles": 3000, "age.retention_hours": 2000},
        "precondition": "fill",
        "job": JOB,
    },
]
"""A run without errors, and one whose cells, code and retries have work."""


@pytest.fixture(scope="module")
def module() -> Path:
    """The module, compiled quickly."""
    if shutil.which("node") is None:
        pytest.skip("there is no node")
    reason = engines.missing(engines.WASM)
    if reason is not None:
        pytest.skip(reason)
    return engines.wasm("dev")


@pytest.mark.long
@pytest.mark.parametrize("build", GOLDEN, ids=["tiny", "modern_tlc"])
def test_a_run_in_node_is_the_native_one(build: dict, module: Path, tmp_path: Path) -> None:
    report, saved = tmp_path / "report.json", tmp_path / "drive"
    script = Path(__file__).with_name("wasm.mjs")
    command = ["node", script, module, json.dumps(build), report, saved]
    subprocess.run(command, check=True, timeout=600)
    window = _core.Window(MEMORY)
    assert "ok" in json.loads(window.call(json.dumps({"method": "build", **build})))
    step = {"phase": "run"}
    while step["phase"] != "over":
        step = json.loads(window.call('{"method": "advance", "events": 100000000}'))["ok"]
    native = window.call('{"method": "report"}')
    assert json.loads(native)["ok"]["host"]["requests_completed"] == 20000
    assert report.read_bytes() == native.encode()
    assert saved.read_bytes() == window.save()


@pytest.mark.long
@pytest.mark.parametrize("target", engines.TARGETS)
def test_the_host_compiles_for(target: str) -> None:
    reason = engines.missing(target)
    if reason is not None:
        pytest.skip(reason)
    engines.check(target)
