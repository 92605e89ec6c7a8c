"""The paper's implications in a drive: `python experiments/wang2014/implications.py`.

Content-aware coding (3.2, 4.2: data at lower levels) and order-aware placing (4.2: fast pages for
who waits), on the MLC chip of the paper in the drive of section 5.5. `erase_speed.py` beside it has
victims by erase speed. `run.py` takes its rows from here.
"""

import random
import struct
from functools import cache
from pathlib import Path
from runpy import run_path

import nandlab
from nandlab.endurance.tvr import VoltageLaw

HERE = Path(__file__).resolve().parent

# --- Content-aware coding ------------------------------------------------------------------------

CODINGS = ("scrambled", "plain", "inverted")
BYTES = 2**21
SEGMENT_BYTES = 8


def text(draw):
    """Words of letters as frequent as in English."""
    letters, weights = "etaoinshrdlucmfwypvbgkjqxz", range(26, 0, -1)
    words = ("".join(draw.choices(letters, weights, k=draw.randint(2, 9))) for _ in range(400_000))
    return " ".join(words).encode()


def records(draw):
    """Rows of a table: a counter, two small numbers, a measured value, a padded name."""
    rows = (
        struct.pack(
            "<IHHd12s",
            row,
            draw.randint(0, 50),
            draw.randint(0, 1),
            draw.gauss(20.0, 5.0),
            b"sensor%d" % draw.randint(1, 99),
        )
        for row in range(BYTES // 28 + 1)
    )
    return b"".join(rows)


def executable(draw):
    """Instructions in the format of RISC-V: few operations, low registers, small values."""
    operations, often = (0x13, 0x03, 0x23, 0x63, 0x33, 0x6F, 0x37), (30, 25, 15, 12, 10, 5, 3)
    registers, used = range(32), [32 - register for register in range(32)]
    count = BYTES // 4
    parts = zip(
        draw.choices(operations, often, k=count),
        *(draw.choices(registers, used, k=count) for _ in range(2)),
        strict=True,
    )
    codes = (
        operation | target << 7 | source << 15 | min(4095, int(draw.expovariate(1 / 40))) << 20
        for operation, target, source in parts
    )
    return b"".join(struct.pack("<I", code) for code in codes)


def sparse(draw):
    """A file with holes: three quarters of its 16 KiB pieces are zeros."""
    pieces = (bytes(16384) if draw.random() < 0.75 else draw.randbytes(16384) for _ in range(128))
    return b"".join(pieces)


#: Data of our own, by seed.
DATA = {
    "random (packed, encrypted)": lambda draw: draw.randbytes(BYTES),
    "text": text,
    "records": records,
    "executable": executable,
    "sparse file": sparse,
    "zeros": lambda _: bytes(BYTES),
}
ORDINARY = ("text", "records", "executable")
#: All but those that nobody would write.
COMMON = tuple(name for name in DATA if name != "zeros")


@cache
def content(name, coding, seed=1):
    """Levels that the data need, by the seed of the data."""
    data = DATA[name](random.Random(seed))[:BYTES]
    return nandlab.content(data, "wang2014_mlc", coding=coding, segment_bytes=SEGMENT_BYTES)


def wordline_percent(name, seed=1):
    """Program time of a wordline of the code without the highest level, against scrambled data."""
    coded, random_ = (sum(content(name, how, seed).program_us) for how in ("top_free", "scrambled"))
    return 100 * (coded / random_ - 1)


def byte_percent(name, seed=1):
    """Program time of a byte of data in that code, against scrambled data."""
    rate = content(name, "top_free", seed).rate
    return 100 * ((1 + wordline_percent(name, seed) / 100) / rate - 1)


def capacity_percent(name):
    """Bits of data that a wordline holds in that code, against all of its bits and flags."""
    return 100 * (content(name, "top_free").rate - 1)


def life_percent(name, coding, seed=1):
    """Against random data, by the cell: cycles until it is as worn."""
    return 100 * (1 / content(name, coding, seed).cycle_weight - 1)


def printed_life_percent(name, coding):
    """Against random data, by equation 8 at the mean of the programmed cells."""
    volts = [level.mean_v for level in nandlab.cell("chip/wang2014_mlc").levels()]

    def cycles(shares):
        programmed = sum(shares[1:])
        mean_v = sum(s * v for s, v in zip(shares[1:], volts[1:], strict=True)) / programmed
        return VoltageLaw().pe_cycles(mean_v, 4.5e-4)

    shares = content(name, coding).level_shares
    # Nothing is programmed: the law says nothing of '11' (3.3).
    return 100 * (cycles(shares) / cycles([0.25] * 4) - 1) if sum(shares[1:]) > 1e-3 else None


@cache
def drive():
    """The study of section 5.5."""
    return run_path(str(HERE / "drive.py"))


@cache
def response_us(name, coding, seed=1):
    """Mean response time of the made Financial1 on a drive that holds these data."""
    path = drive()["folder"]() / f"{name.split()[0]}_{coding}_{seed}.toml"
    content(name, coding, seed).write(path)
    given = {"chip.preset": str(path), **drive()["MLC"]}
    run = nandlab.Drive(drive()["DRIVE"], set=given, seed=seed).precondition("fill")
    return run.run(**drive()["workload"]("financial1 (made)")).latency.mean


def gain_percent(name, coding, seed=1):
    """Of the mean response time, against scrambled data."""
    return 100 * (1 - response_us(name, coding, seed) / response_us(name, "scrambled", seed))


# --- Order-aware placing -------------------------------------------------------------------------

PLACING = """[global]
rw=randwrite
bs=2k
iodepth=64
norandommap=1
rate_process=poisson
[waits]
prio=0
rate_iops={waits}
number_ios={waits_ios}
size=2g
[others]
rate_iops={others}
number_ios={others_ios}
size=2g
"""
#: Writes a second: a third of what the drive can take.
RATE, WRITES = 2500, 60_000


@cache
def placed_us(share, is_placed, seed=1):
    """Mean latency of writes that somebody waits for, of the others, and of all."""
    waits = round(RATE * share)
    job = PLACING.format(
        waits=waits,
        others=RATE - waits,
        waits_ios=round(WRITES * share),
        others_ios=round(WRITES * (1 - share)),
    )
    given = {**drive()["mlc"](), "ftl.fast_pages": is_placed}
    run = nandlab.Drive(drive()["DRIVE"], set=given, seed=seed).precondition("fill").run(job)
    means = [each.write.lat_ns.mean / 1e3 for each in run.report.jobs]
    return *means, run.latency.mean


def placing_percent(share, which, seed=1):
    """What placing changes for 0: who waits, 1: the others, 2: all."""
    after, before = (placed_us(share, is_placed, seed)[which] for is_placed in (True, False))
    return 100 * (after / before - 1)


def main():
    columns = ("data", "coding", "cells by level (%)", "program (us)", "erase (us)")
    columns += ("life, by the cell", "life, by eq. 8", "mean response time")
    print("| " + " | ".join(columns) + " |\n|" + "---|" * len(columns))
    for name in DATA:
        for coding in CODINGS:
            made = content(name, coding)
            levels = ", ".join(f"{100 * share:.0f}" for share in made.level_shares)
            times = ", ".join(f"{us:.0f}" for us in made.program_us)
            life = printed_life_percent(name, coding)
            said = "none" if life is None else f"{life:+.1f} %"
            us, change = response_us(name, coding), -gain_percent(name, coding)
            print(
                f"| {name} | {coding} | {levels} | {times} | {made.erase_us:.0f} |"
                f" {life_percent(name, coding):+.1f} % | {said} | {us:,.0f} us,"
                f" {change:+.1f} % |",
                flush=True,
            )
    columns = (
        "data",
        "cells by level (%)",
        "program of a wordline",
        "capacity",
        "program of a byte",
    )
    print("\n| " + " | ".join(columns) + " |\n|" + "---|" * len(columns))
    for name in DATA:
        levels = ", ".join(f"{100 * s:.0f}" for s in content(name, "top_free").level_shares)
        print(
            f"| {name} | {levels} | {wordline_percent(name):+.1f} % |"
            f" {capacity_percent(name):+.1f} % | {byte_percent(name):+.1f} % |"
        )
    print("\n| share of writes that wait | who waits | others | all |\n|---|---|---|---|")
    for share in (0.1, 0.25, 0.5):
        cells = [
            f"{placed_us(share, False)[i]:,.0f} to {placed_us(share, True)[i]:,.0f} us,"
            f" {placing_percent(share, i):+.1f} %"
            for i in range(3)
        ]
        print(f"| {100 * share:.0f} % | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
