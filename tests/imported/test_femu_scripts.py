"""Import of FEMU's parameters: scripts of several shapes, the drive, refusals."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import Ended, carries, refused

import nandlab as lab
from nandlab.catalogue import load_config
from nandlab.imported.femu import ROSTER

VARIABLES = {
    "secsz": 512,
    "secs_per_pg": 8,
    "pgs_per_blk": 64,
    "blks_per_pl": 40,
    "pls_per_lun": 1,
    "luns_per_ch": 2,
    "nchs": 4,
    "pg_rd_lat": 30000,
    "pg_wr_lat": 300000,
    "blk_er_lat": 1500000,
    "ch_xfer_lat": 25000,
    "gc_thres_pcent": 75,
    "gc_thres_pcent_high": 90,
}

#: A script with a variable for each option, and the size of the drive under another name.
SCRIPT = (
    "#!/bin/bash\n"
    + "".join(f"{name}={value} # our own\n" for name, value in VARIABLES.items())
    + 'ssd_size=60 # MiB\nOPTIONS="-device femu"\n'
    + 'OPTIONS=${OPTIONS}",devsz_mb=${ssd_size},femu_mode=1"\n'
    + "".join(f'OPTIONS=${{OPTIONS}}",{name}=${{{name}}}"\n' for name in VARIABLES)
    + "if [[ ! -e x ]]; then\n\techo nothing\nfi\n"
    + "sudo qemu-system-x86_64 \\\n    -m 4G \\\n    ${OPTIONS} \\\n    -nographic 2>&1 | tee log\n"
)

#: The same device as one command line.
LINE = "qemu-system-x86_64 -m 4G -device femu,devsz_mb=60,femu_mode=1," + ",".join(
    f"{name}={value}" for name, value in VARIABLES.items()
)


def read(text: str) -> lab.Imported:
    """An import of a script into the folder `out`."""
    Path("run.sh").write_text(text)
    return lab.import_drive("femu", "run.sh", out="out")


def test_the_drive_has_the_numbers_of_its_script(folder: Path):
    made = read(SCRIPT)
    drive = load_config("out/drive.toml").config
    assert (drive["drive"]["channels"], drive["drive"]["dies_per_channel"]) == (4, 2)
    timing = drive["chip"]["timing"]
    assert (timing["t_read_us"], timing["t_program_us"], timing["t_erase_us"]) == (30, 300, 1500)
    assert (
        drive["chip"]["geometry"] | {"page_bytes": 4096, "blocks_per_plane": 40}
        == (drive["chip"]["geometry"])
    )
    # A quarter and a tenth of 40 lines, and the one that is opened.
    assert drive["gc"]["background_free_blocks"] == 11
    assert drive["gc"]["start_free_blocks"] == 5
    assert lab.ftls("out/drive.toml")[0].capacity_bytes == 60 << 20
    place = {row.key: row.line for row in made.moved}
    # Where the number stands, not where the option does.
    assert place["secsz"] == 2
    assert SCRIPT.splitlines()[place["devsz_mb"] - 1].startswith("ssd_size=60")
    assert {row.key for row in made.unmatched} == {"ch_xfer_lat"}


def test_the_same_drive_in_other_words(folder: Path):
    of_script = load_config({"drive_preset": str(_file(SCRIPT))}).config_hash
    only_variables = "".join(f"{name}={value}\n" for name, value in VARIABLES.items())
    for text in (
        LINE,
        LINE.replace("-device femu", "-device 'femu'"),
        f"exec {LINE} | tee log",
        'A="' + LINE.split("-device ")[1] + '"\nqemu -device $A\n',
        f"{only_variables}devsz_mb=60\n",
    ):
        assert load_config({"drive_preset": str(_file(text))}).config_hash == of_script, text


def _file(text: str) -> Path:
    Path("run.sh").write_text(text)
    made = lab.import_drive("femu", "run.sh")
    path = Path("drive.toml")
    path.write_text(made.files["drive.toml"])
    return path


def test_it_runs(nandlab: Callable[..., Ended], folder: Path):
    """Random reads of a full drive take a page read each: channels and host take no time."""
    Path("run.sh").write_text(SCRIPT)
    ended = nandlab("import", "femu", "run.sh", "--out", "out", "--json", "-").succeeded()
    assert ended.json["files"] == ["drive.toml"]
    assert ended.json["runs"] == []
    job = "[r]\nrw=randread\nbs=4k\nnumber_ios=500\n"
    result = lab.run("out/drive.toml", job, precondition="fill")
    # A page crosses the fastest bus in 41 ns.
    assert 30_000 <= result.read.mean * 1000 <= 30_100
    steady = lab.run("out/drive.toml", job.replace("randread", "randwrite"), precondition="steady")
    assert steady.checks.ok
    assert steady.write_amplification > 1.1


def test_no_option_is_dropped_in_silence(folder: Path):
    every = {key.name: key.default for key in ROSTER if key.default} | VARIABLES
    every |= {"femu_mode": 1, "devsz_mb": 60, "gc_policy": 3}
    options = ",".join(f"{name}={value}" for name, value in every.items())
    made = read(f"qemu -device femu,{options},fdp\n")
    listed = {row.key: row.why for row in made.unmatched}
    assert all(listed.values())
    assert set(every) | {"fdp"} == {row.key for row in made.moved} | set(listed)
    assert {"gc_policy", "fdp"} <= set(listed)
    known = {key.name: key.becomes.split(", ") for key in ROSTER}
    assert [row for row in made.moved if row.becomes not in known[row.key]] == []
    head = made.files["drive.toml"].partition("\nsummary")[0]
    assert all(key in head for key in listed)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("", ["run.sh", "-device femu"]),
        ("qemu -device nvme,serial=1\n", ["run.sh", "-device femu"]),
        (SCRIPT.replace("nchs=4 ", "nchs=four "), ["run.sh:8", "nchs", "`four`", "1 to 65536"]),
        (SCRIPT.replace("nchs=4 ", "nchs=$(nproc) "), ["run.sh:8", "nchs"]),
        (SCRIPT.replace("femu_mode=1", "femu_mode=3"), ["femu_mode", "`3`", "zones", "1"]),
        (SCRIPT.replace("ssd_size=60", "ssd_size=90"), ["run.sh:15", "devsz_mb"]),
        ("A=aaaaaaaa\n" + "A=$A$A$A$A\n" * 40, ["run.sh", "characters"]),
    ],
)
def test_what_is_refused(nandlab: Callable[..., Ended], folder: Path, text: str, parts: list[str]):
    Path("run.sh").write_text(text)
    nandlab("import", "femu", "run.sh", "--out", "out").refused(*parts)
    assert not Path("out").exists()


def test_files_and_folders(nandlab: Callable[..., Ended], folder: Path):
    read(SCRIPT)
    before = Path("out/drive.toml").read_text()
    again = nandlab("import", "femu", "run.sh", "--out", "out")
    again.refused("--out", "drive.toml", "exists")
    assert Path("out/drive.toml").read_text() == before
    nandlab("import", "femu", "run.sh", "--out", "no/such").refused("--out", "no")
    nandlab("import", "femu", "run.sh", "--out", "run.sh").refused("--out", "run.sh", "folder")
    nandlab("import", "femu", "none.sh", "--out", "new").refused("none.sh")
    carries(nandlab("import", "femu", "run.sh").err, "--out")
    with refused("import_drive", "'fem'", "`femu`"):
        lab.import_drive("fem", "run.sh")
    with refused("import_drive", "2", "FEMU"):
        lab.import_drive("femu", ["run.sh", "run.sh"])
    with refused("import_drive", "files"):
        lab.import_drive("femu", 7)  # type: ignore[arg-type]
