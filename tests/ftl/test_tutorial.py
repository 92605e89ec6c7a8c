"""The FTL of the tutorial, in Python and in Rust: the same file, the same results to the bit."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
from pathlib import Path
from types import ModuleType

from suite.rust import INTEGRATION

import nandlab

ROOT = Path(__file__).resolve().parents[2]
TUTORIAL = (ROOT / "docs/tutorials/6-an-ftl-tonight.md").read_text(encoding="utf-8")
EXAMPLE = ROOT / "crates/host/examples/hot_cold.rs"


def written(name: str, folder: Path) -> Path:
    """A file that the tutorial writes."""
    text = re.search(rf"cat > {re.escape(name)} <<'END'\n(.*?)^END$", TUTORIAL, re.M | re.S)
    assert text is not None
    path = folder / name
    path.write_text(text[1])
    return path


def module(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


def test_the_tutorial_shows_the_file():
    [shown] = re.findall(r"^```rust\n(.*?)^```", TUTORIAL, re.M | re.S)
    assert shown == EXAMPLE.read_text(encoding="utf-8")


def test_python_and_rust_are_equal_to_the_bit(tmp_path: Path):
    job = written("hot.fio", tmp_path)
    ftl = module(written("hot_cold.py", tmp_path)).HotCold
    ours = nandlab.run("tiny", job, precondition="steady", ftl=ftl).to_dict()
    # As the suite builds its Rust tests, so that nothing is compiled anew.
    command = ["cargo", "build", "--quiet", "--locked", *INTEGRATION]
    subprocess.run(command, cwd=ROOT, check=True)
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    done = subprocess.run(
        [target / "debug/examples/hot_cold", job],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    theirs = json.loads(done.stdout)
    for part in ("host", "jobs", "settled", "ftl", "nand", "channels", "dies", "buffer", "checks"):
        for key in theirs[part] if isinstance(theirs[part], dict) else range(len(theirs[part])):
            assert ours[part][key] == theirs[part][key], (part, key)
    for key in ("simulated_s", "events", "precondition_write_amplification"):
        assert ours["sim"][key] == theirs["sim"][key]
    assert theirs["ftl"]["gc_copies"] > 0
