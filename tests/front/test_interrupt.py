"""Ctrl-C and progress: a run ends soon, and what was done is kept."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from begun import progressed
from conftest import COMMAND, ENDLESS, MIXED, refused, some

import nandlab


@pytest.mark.parametrize(
    ("precondition", "sent"),
    some([("none", signal.SIGINT), ("none", signal.SIGTERM), ("steady", signal.SIGINT)], 2),
)
def test_a_signal_keeps_what_was_done(folder: Path, precondition: str, sent: signal.Signals):
    """Ctrl-C, or what `kill`, `timeout` and batch systems send."""
    (folder / "endless.fio").write_text(ENDLESS)
    process = progressed(
        [
            *[COMMAND, "run", "--drive", "tiny", "--workload", "endless.fio"],
            *["--precondition", precondition, "--quiet", "--json", "r.json"],
            *["--requests", "r.parquet", "--timeline", "t.json"],
        ],
        "run",
        10_000,
        stderr=subprocess.PIPE,
    )
    process.send_signal(sent)
    asked = time.monotonic()
    _, err = process.communicate(timeout=20)
    # A fifth of a second where the machine is idle; most of it is writing the timeline.
    assert time.monotonic() - asked < 5
    assert (process.returncode, err) == (130, "")
    report = json.loads(Path("r.json").read_text())
    assert report["sim"]["interrupted"]
    assert report["checks"]["conservation"]["ok"]
    assert not report["checks"]["conservation"]["finished"]
    completed = report["host"]["requests_completed"]
    assert pq.ParquetFile("r.parquet").metadata.num_rows == completed > 1000
    assert json.loads(Path("t.json").read_text())["traceEvents"]


@pytest.mark.parametrize("times", some([3, 2]))
def test_further_ctrl_c_takes_nothing_away(folder: Path, times: int):
    """Nor does it reach what is imported only then."""
    (folder / "endless.fio").write_text(ENDLESS)
    process = progressed(
        [COMMAND, "run", "--drive", "tiny", "--workload", "endless.fio", "--json", "r.json"],
        "run",
        10_000,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    for _ in range(times):
        process.send_signal(signal.SIGINT)
        time.sleep(0.03)
    _, err = process.communicate(timeout=20)
    # The last one may come when all is written and the interpreter is on its way out: then the
    # command may still say the one word that it says of an interruption.
    assert process.returncode in (130, -signal.SIGINT), err
    said = [line for line in err.splitlines() if not line.startswith("note: ")]
    assert said in ([], ["interrupted"]), err
    report = json.loads(Path("r.json").read_text())
    assert report["sim"]["interrupted"]
    assert report["host"]["requests_completed"] > 1000


@pytest.mark.parametrize("command", [[COMMAND], [sys.executable, "-m", "nandlab"]])
@pytest.mark.parametrize(
    "module", some(["nandlab.fit", "typer.main", "nandlab.cli", "nandlab.cli.demo"], 2)
)
def test_ctrl_c_while_the_command_is_imported(folder: Path, command: list[str], module: str):
    """One word, and none of the imports' traceback."""
    # A start-up file of Python's that sends the signal where a module is looked for.
    Path("sitecustomize.py").write_text(f"""
import signal, sys
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            signal.raise_signal(signal.SIGINT)
sys.meta_path.insert(0, Finder())
""")
    paths = os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")])
    ended = subprocess.run(
        [*command, "run", "--drive", "tiny", "--workload", "mixed.fio"],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": paths},
        check=False,
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (130, "", "interrupted\n")


FIT = ["fit", "data.csv", "--law", "exponential"]


@pytest.mark.parametrize("sent", some(["SIGINT", "SIGTERM"]))
@pytest.mark.parametrize(
    ("command", "module"),
    [
        (FIT, "scipy.optimize"),
        (["endurance", "tlc_3d"], "scipy.special"),
        (["cell", "tlc_3d", "--plot", "x.png"], "matplotlib"),
        (["board", "latency_map", "--chip", "wang2014_mlc", "--plot", "x.png"], "matplotlib"),
    ],
)
def test_every_command_ends_alike(folder: Path, sent: str, command: list[str], module: str):
    """One line and 130, while it is at work: sent where it first looks for a module."""
    Path("data.csv").write_text("pe_cycles,rber\n0,1e-5\n1000,2e-4\n3000,1e-3\n")
    Path("sitecustomize.py").write_text(f"""
import signal, sys
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            signal.raise_signal(signal.{sent})
sys.meta_path.insert(0, Finder())
""")
    ended = subprocess.run(
        [COMMAND, *command],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(folder)},
        check=False,
    )
    assert (ended.returncode, ended.stderr) == (130, "interrupted\n")
    assert not Path("x.png").exists()


def interrupting(after_s: float) -> tuple[Callable[[nandlab.Progress], None], list[float]]:
    """A callback that has Ctrl-C come so long after a run has begun, and when it came."""
    sent: list[float] = []

    def send() -> None:
        sent.append(time.perf_counter())
        signal.raise_signal(signal.SIGINT)

    later = threading.Timer(after_s, send)

    def look(progress: nandlab.Progress) -> None:
        if progress.phase == "run" and later.ident is None:
            later.start()

    return look, sent


def test_long_requests_do_not_keep_a_signal_waiting(folder: Path):
    """Reads of 1 MiB in real cells: each takes a long time to decode, and few are ever complete."""
    sets = ["chip.cell_bits=3", "chip.cell.preset=tlc_3d", "chip.page_order=one_shot"]
    sets += ["chip.geometry.pages_per_block=96", "chip.geometry.spare_bytes=0"]
    sets += ["chip.timing.t_read_us=50", "chip.timing.t_program_us=1000"]
    sets += ["chip.array.name=cells", "ecc.model=exact", "ecc.code=ldpc_1k_r90"]
    sets += ["age.pe_cycles=3000", "age.retention_hours=2000"]
    job = "[a]\nrw=randread\nbs=1m\niodepth=256\ntime_based\nruntime=1000000\n"
    look, sent = interrupting(0.5)
    with pytest.raises(nandlab.Interrupted) as stopped:
        nandlab.run("tiny", job, set=sets, precondition="fill", progress=look)
    assert time.perf_counter() - sent[0] < 2.0
    assert stopped.value.result.interrupted


def test_ctrl_c_of_a_program_that_imports_us_is_its_own(folder: Path):
    code = "import signal, nandlab; print(signal.getsignal(2) is signal.default_int_handler)"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stdout == "True\n"


@pytest.mark.parametrize("raised", ["KeyboardInterrupt", "typer.Abort"])
def test_ctrl_c_behind_the_end_of_a_command(folder: Path, raised: str):
    """What typer makes of it there is no traceback either."""
    code = f"""
import typer
from nandlab.cli import commands

def app(standalone_mode):
    raise {raised}

commands.program = lambda first: app
commands.main()
"""
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (ended.returncode, ended.stdout, ended.stderr) == (130, "", "interrupted\n")


@pytest.mark.parametrize("sent", ["SIGINT", "SIGTERM"])
def test_ctrl_c_when_all_is_written_changes_no_exit_code(folder: Path, sent: str):
    """While Python ends: it would end with the signal otherwise."""
    code = f"""
import atexit, os, signal, sys
sys.argv = ["nandlab", "show", "tiny"]
sys.orig_argv = [sys.argv[0], "-m", "nandlab"]
from nandlab.cli import main
atexit.register(os.kill, os.getpid(), signal.{sent})
main()
"""
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert "[drive]" in ended.stdout


def test_ctrl_c_during_preconditioning(folder: Path):
    """No figures of nothing, no picture."""

    def stop(progress: nandlab.Progress) -> None:
        raise KeyboardInterrupt

    with pytest.raises(nandlab.Interrupted) as stopped:
        nandlab.run("tiny", MIXED, precondition="steady", progress=stop)
    result = stopped.value.result
    assert result.to_dict()["sim"]["begun"] is False
    said = result._repr_html_()
    assert "preconditioning" in said
    assert "written by the host" not in said
    with refused("no results", "hint: "):
        result.plot("x.png")
    assert not Path("x.png").exists()


def test_engine_stops_within_a_tenth_of_a_second():
    """From the signal to the exception, writing nothing."""
    look, sent = interrupting(0.2)
    with pytest.raises(nandlab.Interrupted) as stopped:
        nandlab.run("tiny", ENDLESS, progress=look)
    took_s = time.perf_counter() - sent[0]
    assert stopped.value.result.interrupted
    assert stopped.value.result.latency.count > 0
    # 0.1 s is the goal on an idle machine; the tests share theirs.
    assert took_s < 0.5
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_ctrl_c_while_a_trace_is_read(folder: Path):
    """Reading is one long call of the engine; it is left behind."""
    with open("long.csv", "w") as file:
        for _ in range(20):
            file.write("128166372003061629,hm,0,Read,4096,4096,100\n" * 100_000)
    whole = time.perf_counter()
    nandlab.trace_info("long.csv", format="msr")
    whole = time.perf_counter() - whole
    threading.Timer(whole / 10, signal.raise_signal, [signal.SIGINT]).start()
    start = time.perf_counter()
    with pytest.raises(KeyboardInterrupt):
        nandlab.trace_info("long.csv", format="msr")
    assert time.perf_counter() - start < 0.9 * whole


def test_interrupt_from_the_callback_keeps_the_result():
    def stop(progress: nandlab.Progress) -> None:
        if progress.done > 1000:
            raise KeyboardInterrupt

    with pytest.raises(nandlab.Interrupted) as stopped:
        nandlab.run("tiny", ENDLESS, progress=stop, requests=True)
    result = stopped.value.result
    assert result.interrupted
    assert result.requests().num_rows == result.latency.count > 1000


def test_error_in_the_callback_comes_out():
    def fail(progress: nandlab.Progress) -> None:
        raise ZeroDivisionError(progress.phase)

    with pytest.raises(ZeroDivisionError, match="precondition"):
        nandlab.run("tiny", MIXED, precondition="fill", progress=fail)


def test_progress_counts_to_the_end():
    seen: list[nandlab.Progress] = []
    nandlab.run("tiny", MIXED, precondition="fill", progress=seen.append)
    assert [progress.phase for progress in seen] == sorted(p.phase for p in seen)
    last = {progress.phase: progress for progress in seen}
    assert last["run"].done == last["run"].total == 5000
    assert last["run"].eta_s == 0
    assert last["run"].per_s > 0
    assert last["precondition"].done == last["precondition"].total == 204800


def test_unknown_end_has_no_time_left():
    seen: list[nandlab.Progress] = []
    workload = "[a]\nrw=randread\ntime_based\nruntime=100ms\n"
    nandlab.run("tiny", workload, progress=seen.append)
    assert seen[-1].total is None
    assert seen[-1].eta_s is None


def test_runs_in_threads_side_by_side():
    """The engine releases the GIL; signals are left to the main thread."""
    results: list[nandlab.Result] = []
    threads = [
        threading.Thread(target=lambda: results.append(nandlab.run("tiny", MIXED)))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({json.dumps(result.to_dict()["host"]) for result in results}) == 1
