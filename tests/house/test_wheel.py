"""The wheel: it installs where there is no Rust, and runs a drive and the demo from there."""

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import time
import venv
from pathlib import Path

import pytest
from conftest import ROOT

DEMO_S = 20
"""Seconds within which the demo of an installed wheel is done."""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel that `./lab` has just built, or one that is built now."""
    built = list((ROOT / ".lab" / "wheel").glob("nandlab-*.whl"))
    if not built:
        folder = tmp_path_factory.mktemp("wheel")
        maturin = Path(sys.executable).parent / "maturin"
        subprocess.run(
            [maturin, "build", "--profile", "dev", "--out", folder], cwd=ROOT, check=True
        )
        built = list(folder.glob("*.whl"))
    [found] = built
    return found


def installed(wheel: Path, folder: Path, *, with_dependencies: bool) -> Path:
    """A fresh environment with the wheel; without dependencies, those of this one are borrowed."""
    venv.create(folder, with_pip=False)
    packages = next(folder.glob("lib*/python*/site-packages"))
    options = [] if with_dependencies else ["--no-deps"]
    python = folder / "bin" / "python"
    # An environment that uv has made has no pip.
    pip = [sys.executable, "-m", "pip", "--python", python, "install"]
    if uv := shutil.which("uv"):
        pip = [uv, "pip", "install", "--python", python]
    subprocess.run([*pip, "--quiet", *options, wheel], check=True)
    if not with_dependencies:
        # Behind its own packages: what is installed here is found there first.
        (packages / "borrowed.pth").write_text(sysconfig.get_paths()["purelib"] + "\n")
    return folder / "bin"


def outside(programs: Path, folder: Path, *command: str) -> str:
    """Output of a program of that environment, without Rust on the path and outside a checkout."""
    ended = subprocess.run(
        [programs / command[0], *command[1:]],
        cwd=folder,
        env={"PATH": f"{programs}:/usr/bin:/bin", "HOME": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def holds(programs: Path, folder: Path) -> None:
    """Runs a drive and the demo, both from the environment's own package."""
    code = "import nandlab; print(nandlab.__file__); print(nandlab.run('tiny', '[a]\\nrw=write\\n"
    code += "number_ios=1000\\n').checks.ok)"
    file, is_ok = outside(programs, folder, "python", "-c", code).split()
    assert file.startswith(str(programs.parent)), file
    assert is_ok == "True"
    began = time.monotonic()
    assert "IOPS" in outside(programs, folder, "nandlab", "demo")
    assert time.monotonic() - began < DEMO_S
    assert (folder / "demo" / "latency.png").stat().st_size > 10_000


def test_wheel_is_of_the_stable_abi(wheel: Path):
    """One wheel for every Python from 3.10 on."""
    assert "-cp310-abi3-" in wheel.name


def test_the_recipe_of_wheels_is_of_the_oldest_python():
    """The stable ABI of that Python is the engine's, and what a wheel is tried with is there."""
    tomllib = pytest.importorskip("tomllib")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    engine = tomllib.loads((ROOT / "crates/py/Cargo.toml").read_text())
    oldest = project["project"]["requires-python"].removeprefix(">=3.")
    recipe = project["tool"]["cibuildwheel"]
    assert recipe["build"] == f"cp3{oldest}-*"
    assert f"abi3-py3{oldest}" in engine["dependencies"]["pyo3"]["features"]
    [job] = re.findall(r"\{project\}/(\S+)", recipe["test-command"])
    assert (ROOT / job).is_file()
    assert "python -m cibuildwheel" in (ROOT / ".github/workflows/wheels.yml").read_text()


def test_wheel_runs_where_there_is_no_rust(wheel: Path, tmp_path: Path):
    programs = installed(wheel, tmp_path / "env", with_dependencies=False)
    holds(programs, tmp_path)


@pytest.mark.long
def test_wheel_brings_what_it_needs(wheel: Path, tmp_path: Path):
    """Into an environment that has nothing; needs the network."""
    programs = installed(wheel, tmp_path / "env", with_dependencies=True)
    holds(programs, tmp_path)
    assert not os.path.exists(tmp_path / "env" / "bin" / "pytest")
