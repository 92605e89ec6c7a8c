"""`./lab`: gets what is missing into `.lab/`, or says in three lines what is, and ends with 2."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT, carries

PROGRAMS = (
    *("sh", "cat", "dirname", "sed", "rm", "mkdir", "chmod", "sort", "tr", "xargs", "cksum"),
    *("cut", "find", "cp", "grep"),
)

#: A Python without `venv` that installs, in the place of packages, programs that note their calls.
PYTHON = """
case "$*" in
    -c*) exit 0 ;;
    *"-m venv"*) echo "No module named venv"; exit 1 ;;
    *"-m pip --version"*) exit 0 ;;
    *"--target .lab/uv uv"*) mkdir -p .lab/uv/bin; cp "$STUBS/uv" .lab/uv/bin/uv ;;
    *) exit 1 ;;
esac
"""
#: A uv that makes an environment with that Python, and installs a rustup.
UV = """
echo "uv $*" >>"$STUBS/calls"
case "$*" in
    "venv "*) mkdir -p .venv/bin; cp "$STUBS/python3" .venv/bin/python ;;
    *"--target .lab/rustup rustup"*) mkdir -p .lab/rustup/bin; cp "$STUBS/rustup" .lab/rustup/bin ;;
    *) exit 1 ;;
esac
"""
#: A rustup that says where it keeps what it installs, and whose cargo is not there.
RUSTUP = """
echo "rustup $* in $RUSTUP_HOME and $CARGO_HOME" >>"$STUBS/calls"
[ "$*" = "toolchain install" ]
"""


def lab(
    tmp_path: Path, *arguments: str, programs: dict[str, str], may_install: bool = False
) -> tuple[int, str]:
    """Runs a copy of ./lab where only some programs exist; exit code and standard error."""
    checkout, stubs = tmp_path / "checkout", tmp_path / "stubs"
    for folder in (checkout, stubs):
        folder.mkdir()
    for name in ("lab", "rust-toolchain.toml"):
        shutil.copy(ROOT / name, checkout / name)
    for name in PROGRAMS:
        found = next(
            Path(folder, name) for folder in ("/bin", "/usr/bin") if Path(folder, name).exists()
        )
        (stubs / name).symlink_to(found)
    for name, script in programs.items():
        (stubs / name).write_text(f"#!/bin/sh\n{script}\n")
        (stubs / name).chmod(0o755)
    # Those that are installed into `.lab` are no programs of the path.
    path = tmp_path / "path"
    path.mkdir()
    for name in (*PROGRAMS, *(name for name in programs if name in ("python3", "cargo"))):
        (path / name).symlink_to(stubs / name)
    environment = {"PATH": str(path), "HOME": str(tmp_path / "home"), "STUBS": str(stubs)}
    if not may_install:
        environment["LAB_NO_INSTALL"] = "1"
    ended = subprocess.run(
        [str(checkout / "lab"), *arguments],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert not (tmp_path / "home").exists()
    return ended.returncode, ended.stderr


def test_old_python(tmp_path: Path):
    code, err = lab(tmp_path, "demo", programs={"python3": "exit 1", "cargo": "exit 0"})
    assert (code, len(err.splitlines())) == (2, 3)
    carries(err, "3.10", "PYTHON=/path/to/python3")


@pytest.mark.parametrize("command", ["demo", "test"])
def test_no_cargo(tmp_path: Path, command: str):
    code, err = lab(tmp_path, command, programs={"python3": "exit 0"})
    assert (code, len(err.splitlines())) == (2, 3)
    carries(err, "cargo", "1.90", "rustup.rs")


def test_no_venv(tmp_path: Path):
    """Its own message, then what to do."""
    programs = {"python3": PYTHON, "cargo": "echo cargo 1.95.0"}
    code, err = lab(tmp_path, "demo", programs=programs)
    assert code == 2
    carries(err, "No module named venv", "python3-venv", "uv")


def test_what_is_missing_goes_into_the_checkout(tmp_path: Path):
    """Neither a cargo nor a `venv`: both come into `.lab`, and it is said before they do."""
    programs = {"python3": PYTHON, "uv": UV, "rustup": RUSTUP}
    code, err = lab(tmp_path, "demo", programs=programs, may_install=True)
    version = (ROOT / "rust-toolchain.toml").read_text().split('channel = "')[1].split('"')[0]
    carries(err, "no cargo", version, "installing uv into .lab/", "LAB_NO_INSTALL=1")
    calls = (tmp_path / "stubs/calls").read_text().splitlines()
    kept = (tmp_path / "checkout/.lab").resolve()
    assert calls[0] == "uv venv --quiet --python python3 .venv"
    carries(calls[1], "uv pip install", "--target .lab/rustup", "rustup>=1.29,<2")
    assert calls[2] == f"rustup toolchain install in {kept}/rust and {kept}/cargo"
    # This rustup has no cargo: so much is said at the end.
    assert code == 2
    carries(err, ".lab/", "rustup.rs")


#: A Python with `venv`, whose pip notes what it is to install, and fails at all but uv.
PYTHON_WITH_VENV = """
case "$*" in
    *"-m venv"*) mkdir -p .venv/bin; cp "$STUBS/python3" .venv/bin/python ;;
    *"-m pip config list"*) echo "$SETTINGS" ;;
    *"--target .lab/uv uv"*) mkdir -p .lab/uv/bin; cp "$STUBS/uv" .lab/uv/bin/uv ;;
    *"-m pip install"*) echo "pip $*" >>"$STUBS/calls"; exit 1 ;;
esac
"""


@pytest.mark.parametrize(
    ("settings", "asked"),
    [
        ("global.timeout='60'", ["uv", "pip"]),
        ("global.index-url='https://example.org/simple'", ["pip"]),
    ],
)
def test_uv_gets_packages(tmp_path: Path, settings: str, asked: list[str]):
    """Pip does where uv fails, and where it is told of an index that uv would not ask."""
    python = PYTHON_WITH_VENV.replace("$SETTINGS", settings)
    programs = {"python3": python, "uv": UV, "cargo": "echo cargo 1.95.0"}
    code, _ = lab(tmp_path, "demo", programs=programs, may_install=True)
    assert code == 1
    calls = (tmp_path / "stubs/calls").read_text().splitlines()
    assert [call.split()[0] for call in calls] == asked
    assert all("maturin" in call for call in calls)


@pytest.mark.long
def test_demo_runs_where_there_is_neither(tmp_path: Path):
    """For real: a copy of the checkout, no Rust, a Python without `venv`; needs the network."""
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    checkout = tmp_path / "checkout"
    for name in listed.stdout.split("\0")[:-1]:
        (checkout / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, checkout / name)
    path = tmp_path / "path"
    path.mkdir()
    real = Path(sys.base_prefix) / "bin" / "python3"
    without = f'#!/bin/sh\n[ "$1 $2" != "-m venv" ] || exit 1\nexec {real} "$@"\n'
    (path / "python3").write_text(without)
    (path / "python3").chmod(0o755)
    home = tmp_path / "home"
    home.mkdir()
    environment = {
        **{name: value for name, value in os.environ.items() if name.startswith(("PIP", "SSL"))},
        "PATH": f"{path}:/usr/bin:/bin",
        "HOME": str(home),
    }
    ended = subprocess.run(
        ["./lab", "demo"],
        cwd=checkout,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if "could not be installed" in ended.stderr:
        pytest.skip(f"no network for Rust: {ended.stderr[-300:]}")
    assert ended.returncode == 0, ended.stderr
    assert (checkout / "demo/latency.png").stat().st_size > 10_000
    assert (checkout / ".lab/rust/toolchains").is_dir()
    assert list(home.glob(".cargo")) == list(home.glob(".rustup")) == []


@pytest.mark.parametrize("arguments", [[], ["dmeo"], ["test", "--fast"], ["check", "--full"]])
def test_usage(tmp_path: Path, arguments: list[str]):
    code, err = lab(tmp_path, *arguments, programs={})
    assert code == 2
    carries(err, "./lab demo", "./lab check", "./lab test")
