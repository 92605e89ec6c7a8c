"""Jobs: fio job files with options of every kind, allowed or not."""

from __future__ import annotations

from fuzz.inputs.dice import Dice

_SIZES = ("0", "512", "1k", "4k", "8k", "64k", "1M", "16M", "100M", "1g", "10%", "100%", "3333")
_TIMES = ("0", "1", "1us", "500us", "3ms", "20ms", "1s", "10m", "3d")
_SHARES = ("0", "1", "30", "50", "99", "100")
#: Options of jobs on zones.
_OF_ZONES = {
    "size": ("1z", "4z", "20%"),
    "offset": ("1z", "3z"),
    "max_open_zones": ("1", "3", "8"),
    "job_max_open_zones": ("1", "2"),
    "zone_reset_threshold": ("0.1", "0.5", "1"),
    "zone_reset_frequency": ("0.01", "0.5"),
    "zonesize": ("4m", "1m"),
    "write_zone_remainder": ("1",),
    "nandlab_rewrite": ("20", "90"),
    "rwmixread": ("30", "80"),
    "fsync": ("10",),
    "stonewall": ("1",),
}

_COUNTS = ("0", "1", "2", "3", "7", "64", "1000")

#: Options and what they may be; sane values only: others are drawn in their place.
OPTIONS: dict[str, tuple[str, ...]] = {
    "bs": ("512", "1k", "4k", "4k", "8k", "16k", "128k", "1M", "4k,8k", "4k,8k,64k", "1536"),
    "bsrange": ("512-4k", "4k-64k", "1k-128k,4k-8k"),
    "bssplit": ("4k/60:64k/40", "512/10:4k/80:1M/", "4k/50:8k/50,1k/100"),
    "bs_unaligned": ("", "1"),
    "ba": ("512", "4k", "64k", "1M"),
    "size": _SIZES,
    "offset": _SIZES,
    "offset_align": ("512", "4k", "1M"),
    "offset_increment": ("1M", "10%"),
    "io_size": _SIZES[1:9],
    "loops": ("1", "2", "5"),
    "iodepth": ("1", "2", "7", "32", "256", "4096"),
    "numjobs": ("1", "2", "5", "40"),
    "ramp_time": _TIMES,
    "startdelay": (*_TIMES, "1ms-5ms"),
    "rwmixread": _SHARES,
    "rwmixwrite": _SHARES,
    "random_distribution": (
        *("random", "zipf:1.2", "zipf:0.5:0.3", "pareto:0.2", "normal:20", "zipf:0", "pareto:1"),
        *("zoned:60/10:30/20:10/70", "zoned_abs:50/1M:50/10M", "normal:0", "zipf:20"),
    ),
    "percentage_random": (*_SHARES, "10,90", "50,0,100"),
    "norandommap": ("", "1", "0"),
    "randseed": ("0", "1", "12345678901234"),
    "rate": ("1M", "10M", "100k,200k", "1g"),
    "rate_iops": ("1", "100", "10000", "1000,50", "1000000000"),
    "rate_process": ("linear", "poisson"),
    "thinktime": _TIMES[:6],
    "thinktime_blocks": _COUNTS[1:],
    "fsync": _COUNTS,
    "fdatasync": _COUNTS,
    "end_fsync": ("0", "1"),
    "fsync_on_close": ("0", "1"),
    "sync": ("0", "1", "sync", "dsync", "none"),
    "write_hint": ("short", "medium", "long", "extreme", "none"),
    "dataplacement": ("fdp", "fdp", "none", "streams"),
    "fdp": ("", "1", "0"),
    "plids": ("0", "0,1", "0-3", "1", "3-1", "15", "99"),
    "plid_select": ("roundrobin", "random", "scheme"),
    "prio": ("0", "3", "4", "7", "8"),
    "prioclass": ("0", "1", "2", "3", "4"),
    "rw_sequencer": ("sequential", "identical"),
    "stonewall": ("",),
    "name": ("a b", "x"),
    "direct": ("1",),
    "ioengine": ("libaio",),
    "group_reporting": ("",),
    "randrepeat": ("0", "1"),
    "replay_no_stall": ("1",),
    "zonemode": ("none", "none", "zbd"),
    "kb_base": ("1024",),
}

#: Lines that are refused, or may be one day.
_REFUSED = (
    *("ss=iops:5%", "ss_dur=1s", "steadystate=iops:5%", "zonemode=strided", "kb_base=1000"),
    *("include x", "bs=${BS}", "latency_target=5ms", "flow=1", "verify_only", "profile=tiobench"),
)

_KINDS = (
    *("read", "write", "trim", "randread", "randwrite", "randtrim", "rw", "readwrite", "randrw"),
    *("trimwrite", "randtrimwrite", "randread:8", "write:4k", "rw:64k", "randrw:2"),
)


def file(dice: Dice) -> bytes:
    """A job file."""
    wild = dice.one((0.0, 0.0, 0.05, 0.2)) if dice.is_wild else 0.0
    lines = []
    if dice.chance(0.3):
        lines += ["[global]", *_options(dice, wild, 4)]
    for number in range(dice.one((1, 1, 1, 1, 2, 2, 3, 6))):
        lines.append(dice.odd() if dice.spoils(0.05) else f"[job{number}]")
        lines.append(f"rw={dice.one(_KINDS)}")
        lines += _end(dice)
        lines += _options(dice, wild, 8)
    if dice.spoils(0.1):
        lines.insert(dice.randint(0, len(lines)), dice.odd())
    return ("\n".join(lines) + "\n").encode("utf-8", "replace")


def of_zones(dice: Dice) -> bytes:
    """Jobs for a drive with zones: also more writers than zones may be open, beside each other."""
    lines = ["[global]", "zonemode=zbd"]
    for number in range(dice.one((1, 1, 2, 3, 6))):
        rw = dice.one(("write", "randwrite", "randwrite", "read", "randread", "randrw", "trim"))
        lines += [f"[job{number}]", f"rw={rw}", f"iodepth={dice.one((1, 4, 32))}"]
        lines += [f"number_ios={dice.one((10, 300, 2000))}"]
        if dice.chance(0.3):
            lines.append(f"numjobs={dice.one((2, 4, 12))}")
        lines += [f"bs={'4m' if rw == 'trim' else dice.one(('4k', '16k', '128k', '20k'))}"]
        if rw == "trim" and dice.chance(0.6):
            lines.append(f"nandlab_{dice.one(('finish', 'open', 'close'))}=1")
        if "w" in rw and dice.chance(0.4):
            lines.append("nandlab_append=1")
        for option, values in _OF_ZONES.items():
            if dice.chance(0.25):
                lines.append(f"{option}={dice.one(values)}")
    return ("\n".join(lines) + "\n").encode()


def of_tenants(dice: Dice) -> bytes:
    """Jobs that share a drive, with classes of their own."""
    lines = ["[global]", "bs=4k", "norandommap"]
    for number in range(dice.one((1, 2, 2, 3))):
        lines += [
            f"[job{number}]",
            f"rw={dice.one(('randread', 'randread', 'randwrite', 'randrw'))}",
        ]
        lines += [f"iodepth={dice.one((1, 8, 64))}", f"number_ios={dice.one((30, 1000, 3000))}"]
        for option in ("prio", "prioclass"):
            if dice.chance(0.5):
                lines.append(f"{option}={dice.one(('0', '1', '2', '3'))}")
        if dice.chance(0.2):
            lines += ["rate_iops=5000", "rate_process=poisson"]
        if dice.chance(0.2):
            lines.append(dice.one(("numjobs=3", "name=job0", "stonewall", "thinktime=1ms")))
    return ("\n".join(lines) + "\n").encode()


def of_namespaces(dice: Dice, count: int) -> bytes:
    """Jobs for a drive with this many namespaces, now and then for one that it has not."""
    lines = ["[global]", "norandommap"]
    for number in range(dice.one((1, 2, 3))):
        named = count + 1 if dice.spoils(0.1) else 1 + dice.randrange(count)
        lines += [f"[job{number}]", f"filename=/dev/{dice.one(('nvme0n', 'ng0n'))}{named}"]
        lines += [
            f"rw={dice.one(('randread', 'randwrite', 'randwrite', 'randrw', 'write', 'trim'))}"
        ]
        lines += [f"bs={dice.one(('4k', '4k', '64k', '512'))}", f"iodepth={dice.one((1, 8, 64))}"]
        lines.append(f"number_ios={dice.one((30, 1000, 5000))}")
        for option in (
            *("fsync=7", "offset=25%", "write_hint=short", "size=50%", "rate_iops=5000"),
            *("zonemode=zbd", "zonemode=zbd", "nandlab_rewrite=30"),
        ):
            if dice.chance(0.1):
                lines.append(option)
    return ("\n".join(lines) + "\n").encode()


def _end(dice: Dice) -> list[str]:
    """What makes a job end soon."""
    how = dice.random()
    if how < 0.75:
        return [f"number_ios={dice.one((1, 2, 10, 300, 1000, 2000, 5000))}"]
    if how < 0.9:
        return ["time_based", f"runtime={dice.one(('1ms', '20ms', '300us', '1s'))}"]
    if how < 0.97:
        return [f"io_size={dice.one(('64k', '1M', '16M'))}"]
    return []


def _options(dice: Dice, wild: float, most: int) -> list[str]:
    """Some options, a few of them with values that few would write."""
    lines = []
    for option in dice.some(tuple(OPTIONS), most):
        value = dice.odd() if dice.chance(wild) else dice.one(OPTIONS[option])
        name = dice.odd() if dice.chance(wild / 10) else option
        lines.append(f"{name}={value}" if value or dice.chance(0.2) else name)
    if dice.spoils(0.05):
        lines.append(dice.one(_REFUSED))
    return lines
