"""The C interface: its example is a run of the same requests, and its header suits compilers."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import ROOT, carries

import nandlab

TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")).resolve()
HEADER = ROOT / "crates/c/include"
SETS = ["drive.queue_depth=8", "gc.name=d_choices"]
#: Sections of a report that tell what the drive did.
SECTIONS = ("host", "ftl", "nand", "channels", "dies", "front", "ecc", "buffer", "energy")

pytestmark = pytest.mark.skipif(
    not (shutil.which("cc") and shutil.which("cargo")), reason="no cc, or no cargo"
)


@pytest.fixture(scope="module")
def library() -> Path:
    """Folder of the libraries, built as the Rust tests are."""
    command = ["cargo", "build", "--quiet", "--locked", "--package", "nandlab-c"]
    subprocess.run(command, cwd=ROOT, env={**os.environ, "CARGO_TARGET_DIR": TARGET}, check=True)
    return TARGET / "debug"


@pytest.fixture(scope="module")
def dynamic(library: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example, as its Makefile builds it."""
    if shutil.which("make") is None:
        pytest.skip("no make")
    out = tmp_path_factory.mktemp("dynamic")
    given = [f"NANDLAB={library}", f"OUT={out}", "CFLAGS=-O1 -std=c11 -Wall -Wextra -Werror"]
    subprocess.run(["make", "--quiet", *given], cwd=ROOT / "examples/c", check=True)
    return out / "lockstep"


@pytest.fixture(scope="module")
def static(library: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example with the engine inside."""
    program = tmp_path_factory.mktemp("static") / "lockstep"
    source = ROOT / "examples/c/lockstep.c"
    command = ["cc", f"-I{HEADER}", source, "-o", program, library / "libnandlab.a"]
    subprocess.run([*command, "-lpthread", "-ldl", "-lm"], check=True)
    return program


def requests() -> str:
    """A trace in the format of MQSim: bursts, pauses, and requests of one moment."""
    draw = random.Random(5)
    at, lines = 0, []
    for _ in range(5000):
        sectors = 8 * draw.randint(1, 8)
        sector = 8 * draw.randrange(0, 20_000)
        lines.append(f"{at} 0 {sector} {sectors} {draw.randint(0, 1)}\n")
        at += draw.choice([0, 700, 40_000, 300_000])
    return "".join(lines)


@pytest.mark.parametrize("linked", ["dynamic", "static"])
def test_the_example_is_a_run_to_the_bit(
    linked: str, request: pytest.FixtureRequest, tmp_path: Path
):
    program = request.getfixturevalue(linked)
    trace = tmp_path / "requests.txt"
    trace.write_text(requests())
    with trace.open() as given:
        ended = subprocess.run(
            [program, "tiny", "steady", *SETS],
            stdin=given,
            capture_output=True,
            text=True,
            check=False,
        )
    assert ended.returncode == 0, ended.stderr
    carries(ended.stderr, "5000 requests", f"nandlab {nandlab.__version__}")
    report = json.loads(ended.stdout)
    run = nandlab.run("tiny", trace=trace, format="mqsim", set=SETS, precondition="steady")
    expected = json.loads(json.dumps(run.report))
    # The command computes the peak power from its own series.
    expected["nand"].pop("peak_power_w")
    for section in SECTIONS:
        assert report[section] == expected[section], section
    assert report["sim"]["simulated_s"] == expected["sim"]["simulated_s"]
    assert report["checks"]["conservation"]["ok"]


def test_a_refusal_is_one_line_with_code_2(static: Path):
    for arguments, parts in [
        (["tinny", "fill"], ["tinny", "did you mean `tiny`"]),
        (["tiny", "full"], ["precondition", "full"]),
        (["tiny", "fill", "gc.d=0"], ["gc.d=0"]),
    ]:
        ended = subprocess.run(
            [static, *arguments], input="", capture_output=True, text=True, check=False
        )
        assert (ended.returncode, ended.stdout) == (2, "")
        carries(ended.stderr, *parts)
        assert ended.stderr.count("\n") == 1
    ended = subprocess.run(
        [static, "tiny", "none"], input="0 0 3 0 1\n", capture_output=True, text=True, check=False
    )
    assert ended.returncode == 2
    carries(ended.stderr, "length", "512")


@pytest.mark.parametrize("flags", [["-xc", "-std=c99"], ["-xc", "-std=c17"], ["-xc++"]])
def test_the_header_suits_compilers(flags: list[str], tmp_path: Path):
    if "-xc++" in flags and shutil.which("c++") is None:
        pytest.skip("no c++")
    source = tmp_path / "source"
    source.write_text('#include "nandlab.h"\nint main(void) { return NANDLAB_OUTCOME_OK; }\n')
    strict = ["-fsyntax-only", "-Wall", "-Wextra", "-pedantic", "-Werror"]
    compiler = "c++" if "-xc++" in flags else "cc"
    subprocess.run([compiler, *strict, f"-I{HEADER}", *flags, source], check=True)
