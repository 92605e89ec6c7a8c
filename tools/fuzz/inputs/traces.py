"""Traces: requests drawn at random, written in every format, plain or compressed."""

from __future__ import annotations

import gzip
import struct
from collections.abc import Callable, Iterator
from typing import NamedTuple

import pyarrow as pa

from fuzz.inputs.damage import damaged
from fuzz.inputs.dice import Dice


class Request(NamedTuple):
    """One request, before it is text."""

    at_ns: int
    device: int
    op: str
    """``read``, ``write``, ``trim`` or ``sync``."""
    offset: int
    length: int


def _letter(request: Request) -> str:
    return "R" if request.op == "read" else "W"


def _msr(_: int, r: Request) -> str:
    kind = "Read" if r.op == "read" else "Write"
    ticks = 128166372003061629 + r.at_ns // 100
    return f"{ticks},host,{r.device},{kind},{r.offset},{r.length},{r.at_ns % 9999}"


def _spc(_: int, r: Request) -> str:
    return f"{r.device},{r.offset // 512},{r.length},{_letter(r)},{r.at_ns / 1e9:.6f}"


def _disksim(_: int, r: Request) -> str:
    flag = int(r.op == "read")
    return f"{r.at_ns / 1e6:.6f} {r.device} {r.offset // 512} {r.length // 512} {flag}"


def _ssdsim(_: int, r: Request) -> str:
    return f"{r.at_ns} {r.device} {r.offset // 512} {r.length // 512} {int(r.op == 'read')}"


def _blkparse(number: int, r: Request) -> str:
    letters = {"read": "R", "write": "W", "trim": "D", "sync": "FWFS"}[r.op]
    return (
        f"259,{r.device}    0 {number:8} {r.at_ns / 1e9:14.9f}  4020  Q {letters:>3} "
        f"{r.offset // 512} + {r.length // 512} [job]"
    )


def _iolog(_: int, r: Request) -> str:
    where = "" if r.op == "sync" else f" {r.offset} {r.length}"
    return f"{r.at_ns // 1000} /dev/d{r.device} {r.op}{where}"


def _iolog_2(number: int, r: Request) -> str:
    pause = f"/dev/d{r.device} wait {r.at_ns // 1000 % 5000} 0\n" if number % 50 == 9 else ""
    where = "0 0" if r.op == "sync" else f"{r.offset} {r.length}"
    return f"{pause}/dev/d{r.device} {r.op} {where}"


def _alibaba(_: int, r: Request) -> str:
    return f"{r.device},{_letter(r)},{r.offset},{r.length},{1577808000000000 + r.at_ns // 1000}"


def _tencent(_: int, r: Request) -> str:
    write = int(r.op != "read")
    at_s = 1538323200 + r.at_ns // 10**9
    return f"{at_s},{r.offset // 512},{r.length // 512},{write},{r.device}"


def _systor(_: int, r: Request) -> str:
    at = f"{1456095145 + r.at_ns // 10**9}.{r.at_ns % 10**9:09}"
    return f"{at},,{_letter(r)},{r.device},{r.offset},{r.length}"


def _fiu(_: int, r: Request) -> str:
    place = f"{r.offset // 512} {r.length // 512}"
    return f"{r.at_ns} 4253 nfsd {place} {_letter(r)} 6 {r.device} {r.at_ns:032x}"


def _blktrace(number: int, r: Request) -> bytes:
    category = {"read": 1 << 16, "write": 1 << 17, "trim": 1 << 17 | 1 << 29}[r.op]
    place, device = (r.at_ns, r.offset // 512, r.length), 259 << 20 | r.device
    return struct.pack(
        "<IIQQIIIIIHH", 0x65617407, number, *place, category | 1, 21, device, 0, 0, 0
    )


def _vscsi(number: int, r: Request) -> bytes:
    command = 0x28 if r.op == "read" else 0x2A
    return struct.pack(
        "<IIIHHQQ", number, r.length, 1, command, 0x100, r.offset // 512, r.at_ns // 1000
    )


def _oracle_general(_: int, r: Request) -> bytes:
    return struct.pack("<IQIq", r.at_ns // 10**9, r.offset // 4096, r.length, -1)


class Writer(NamedTuple):
    """How a format is written."""

    line: Callable[[int, Request], str] = _msr
    head: tuple[str, ...] = ()
    """Lines before the first one; with `{}` one for each device."""
    ops: tuple[str, ...] = ("read", "write")
    record: Callable[[int, Request], bytes] | None = None
    """Of a binary format, in place of a line."""


_FIO = ("read", "write", "trim", "sync")

#: Writers by the name of their format; `fio_iolog` has two versions.
WRITERS: dict[str, tuple[Writer, ...]] = {
    "msr": (Writer(_msr),),
    "spc": (Writer(_spc),),
    "disksim": (Writer(_disksim),),
    "ssdsim": (Writer(_ssdsim),),
    "mqsim": (Writer(_ssdsim),),
    "blkparse": (Writer(_blkparse, ops=("read", "write", "trim")),),
    "blktrace": (Writer(record=_blktrace, ops=("read", "write", "trim")),),
    "fio_iolog": (
        Writer(_iolog, ("fio version 3 iolog", "0 /dev/d{} add", "0 /dev/d{} open"), _FIO),
        Writer(_iolog_2, ("fio version 2 iolog", "/dev/d{} add", "/dev/d{} open"), _FIO),
    ),
    "alibaba": (Writer(_alibaba),),
    "tencent": (Writer(_tencent),),
    "systor": (Writer(_systor, ("Timestamp,Response,IOType,LUN,Offset,Size",)),),
    "fiu": (Writer(_fiu),),
    "vscsi": (Writer(record=_vscsi),),
    "oracle_general": (Writer(record=_oracle_general, ops=("read",)),),
}


def file(dice: Dice, span: int = 800 << 20) -> tuple[str, str, bytes]:
    """Format, name and content of a trace whose addresses lie below `span` bytes."""
    name = dice.one(tuple(WRITERS))
    writer = dice.one(WRITERS[name])
    devices = dice.one((1, 1, 1, 2, 5))
    lines = [
        text.format(device)
        for text in writer.head
        for device in range(devices if "{}" in text else 1)
    ]
    requests = _requests(dice, writer.ops, devices, span)
    if writer.record is not None:
        data = b"".join(writer.record(number, r) for number, r in enumerate(requests, 1))
    else:
        lines += [writer.line(number, r) for number, r in enumerate(requests, 1)]
        data = "\n".join(lines).encode() + b"\n"
    if dice.spoils(0.7):
        data = damaged(data, dice)
    how = dice.random()
    ending = ""
    if how < 0.1:
        data, ending = gzip.compress(data, 1, mtime=0), ".gz"
    elif how < 0.2:
        data, ending = pa.compress(data, "zstd", asbytes=True), ".zst"
    if ending and dice.spoils(0.4):
        data = damaged(data, dice)
    return name, f"t.{name}{ending}", data


def _requests(dice: Dice, ops: tuple[str, ...], devices: int, span: int) -> Iterator[Request]:
    at_ns = dice.one((0, 0, 5_000, 10**12))
    gap_ns = dice.one((0, 1_000, 100_000, 5_000_000, 10**9))
    lengths = dice.one(((4096,), (512, 4096, 65536), (512, 1536, 1 << 20)))
    extent = max(1, span // devices // 4096 - 256)
    goes_back = dice.one((0.0, 0.05)) if dice.is_wild else 0.0
    for _ in range(dice.one((1, 3, 50, 500, 2000))):
        at_ns = max(0, at_ns + int(dice.random() * 2 * gap_ns))
        if dice.chance(goes_back):
            at_ns = max(0, at_ns - 3 * gap_ns)
        yield Request(
            at_ns,
            dice.randrange(devices),
            dice.one(ops) if dice.chance(0.1) else dice.one(ops[:2]),
            dice.randrange(extent) * 4096 + dice.one((0, 0, 0, 512)),
            dice.one(lengths),
        )
