"""Kinds of cases: the roster of what is drawn, each kind with its weight."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable
from typing import NamedTuple

from fuzz.case import Case, Command, Damage
from fuzz.inputs import (
    actions,
    answers,
    drives,
    jobs,
    measured,
    options,
    parameters,
    simulators,
    studies,
    tables,
    traces,
)
from fuzz.inputs.damage import damaged
from fuzz.inputs.dice import Dice
from fuzz.inputs.parameters import PRESETS, RECOVERIES
from nandlab import catalogue
from nandlab.keys import keys

_CTL_COMMANDS = (
    *(("status",), ("cut",), ("restore",), ("age", "1"), ("age", "1e9"), ("age", "x")),
    *(("exchange", "1"), ("exchange", "1"), ("exchange", "99"), ("exchange", "-"), ("exchange",)),
    *(("snapshot", "s.nldrive"), ("snapshot", "s.nldrive"), ("snapshot", "no/s.nldrive")),
)
"""What `nandlab ctl` is asked for."""

_OUTPUTS = ("--json", "--requests", "--series", "--timeline", "--plot")


class Kind(NamedTuple):
    """A kind of cases."""

    draw: Callable[[Dice, Case], None]
    weight: float
    is_same: bool = True
    """Two runs of a case give the same output."""


def draw(seed: int, number: int, only: str | None = None) -> Case:
    """The case of a seed and a number: the same on every machine."""
    dice = Dice(f"{seed}/{number}")
    name = only or dice.weighted({name: kind.weight for name, kind in KINDS.items()})
    case = Case(seed, number, name)
    kind = KINDS[name]
    kind.draw(dice, case)
    ways = dice.random()
    commands = [step for step in case.steps if isinstance(step, Command)]
    if ways < 0.03:
        chosen = dice.one(commands)
        chosen.interrupt_s = dice.one((0.05, 0.3, 0.6, 1.0, 1.5)) * (0.7 + 0.6 * dice.random())
        chosen.signal = dice.one(("SIGINT", "SIGINT", "SIGTERM"))
        chosen.is_fresh = dice.chance(0.2)
    elif ways < 0.06:
        for each in commands:
            each.is_fresh = True
    elif ways < 0.08:
        commands[-1].is_out_full = True
    case.is_repeated = kind.is_same and 0.08 <= ways < 0.16
    return case


def _sets(texts: list[str]) -> dict[str, list[str]]:
    return {"--set": texts} if texts else {}


def _outputs(dice: Dice, case: Case) -> dict[str, list[str]]:
    """Outputs of a run; now and then one has the name of an input."""
    given: dict[str, list[str]] = {"--json": ["r.json"]}
    for name in dice.some(_OUTPUTS, 2):
        given[name] = [dice.one(options.VALUES[name])]
    if case.files and dice.spoils(0.1):
        given[dice.one(_OUTPUTS[:4])] = [dice.one(sorted(case.files))]
    if dice.spoils(0.05):
        # Two outputs in one file.
        given["--timeline"] = given["--json"]
    if dice.chance(0.7):
        given["--quiet"] = []
    if "--plot" in given and dice.chance(0.3):
        given["--style"] = [dice.one(options.VALUES["--style"])]
    return given


def _paper(dice: Dice) -> dict[str, list[str]]:
    """A table and a picture in a style, as a paper has them: now and then one of them, or both."""
    given: dict[str, list[str]] = {}
    for names in (("--table",), ("--plot", "--style")):
        if dice.chance(0.3):
            given |= {name: [dice.one(options.VALUES[name])] for name in names}
    return given


def _drive(dice: Dice, case: Case, run: dict[str, str]) -> tuple[dict[str, list[str]], list[str]]:
    """A drive, by name or as a file, as options and arguments."""
    name, sets = drives.small(dice)
    if name != "tiny" or dice.chance(0.6):
        return {"--drive": [name], **_sets(sets)}, []
    data = drives.file(dice, sets, run)
    case.files["drive.toml"] = damaged(data, dice) if dice.spoils(0.4) else data
    if run or dice.chance(0.5):
        return {}, ["--drive", "drive.toml"]
    return {"--drive": ["drive.toml"]}, []


def _run(dice: Dice, case: Case) -> None:
    """A fio job on a drive."""
    job = jobs.file(dice)
    case.files["job.fio"] = damaged(job, dice) if dice.spoils(0.4) else job
    if dice.chance(0.05):
        _, name, case.files[name] = traces.file(dice)
        case.files["job.fio"] += f"\n[replay]\nread_iolog={name}\n".encode()
    is_told = dice.chance(0.1)
    given, arguments = _drive(dice, case, {"workload": "job.fio"} if is_told else {})
    if not is_told or "--drive" in given:
        given["--workload"] = ["job.fio"]
    if dice.chance(0.6):
        given["--precondition"] = [dice.one(options.VALUES["--precondition"])]
    given |= _outputs(dice, case)
    without: tuple[str, ...] = (
        "--trace",
        "--format",
        "--action",
        "--device",
        "--namespace",
        "--address",
        "--time",
        "--time-scale",
    )
    without += ("--sector-bytes", "--size-unit-bytes", "--time-unit", "--on-bad-line", "--urgent")
    if not dice.spoils(0.1):
        without += ("--sort-window", "--iodepth", "--drive", "--workload", "--timeline-spans")
    case.steps = [
        Command(options.line(dice, "run", given, tuple(arguments), most=1, without=without))
    ]


def _zones(dice: Dice, case: Case) -> None:
    """Jobs on a drive with zones."""
    case.files["job.fio"] = jobs.of_zones(dice)
    sets = ["ftl.name=zoned", f"ftl.max_active_zones={dice.one((2, 8, 14))}"]
    for one in (
        *("ftl.erase=before_open", "ftl.zone_dies=2", "ftl.reset_us=500", "ftl.append_us=2"),
        *("ftl.max_open_zones=2", "chip.fault.program_failure_chance=0.0001", "ftl.zones=40"),
        *("ftl.reset_us_per_gib=10000", "ftl.finish_us=9", "buffer.bytes=4194304"),
        *("ftl.zrwa_bytes=131072", "ftl.zrwa_bytes=65536", "ftl.commit_us=4"),
    ):
        if dice.chance(0.2):
            sets.append(one)
    is_cut = dice.chance(0.2)
    if is_cut:
        sets.append(f"recovery.name={dice.one(RECOVERIES)}")
    given = {"--drive": ["tiny"], "--workload": ["job.fio"], **_sets(sets)}
    if is_cut:
        given["--cut-at"] = [dice.one(("0", "0.0005", "0.01"))]
    if dice.chance(0.6):
        given["--precondition"] = [dice.one(("none", "fill", "steady"))]
    given |= _outputs(dice, case)
    case.steps = [Command(options.line(dice, "run", given, most=0))]


def _tenants(dice: Dice, case: Case) -> None:
    """Jobs with priorities on a drive with weights and limits."""
    case.files["job.fio"] = jobs.of_tenants(dice)
    sets = [f"drive.queue_depth={dice.one((1, 4, 32))}"]
    if dice.chance(0.7):
        sets.append("host.arbitration=weighted_round_robin")
    for one in (
        *("host.arbitration_burst=3", "host.arbitration_burst=0", "host.weight_low=9"),
        *("host.limit_iops=5000", "host.limit_mb_s=20", "host.limit_burst_us=0"),
        *("host.jobs.job0.weight=3", "host.jobs.job0.limit_iops=900", "host.jobs.x.weight=2"),
        *("host.jobs.job1.priority=urgent", "host.jobs.job1.limit_mb_s=0", "ftl.fast_pages=true"),
    ):
        if dice.chance(0.2):
            sets.append(one)
    given = {"--drive": ["tiny"], "--workload": ["job.fio"], **_sets(sets)}
    given |= {"--precondition": [dice.one(("fill", "steady"))], **_outputs(dice, case)}
    if dice.chance(0.6):
        given["--tenants"] = []
    case.steps = [Command(options.line(dice, "run", given, most=0))]


def _namespaces(dice: Dice, case: Case) -> None:
    """Jobs, or a trace, on namespaces with dies and FTLs of their own, zones among them."""
    names = [member.name for member in catalogue.roster("ftl") if member.name != "zoned"]
    parts, left = list[list[str]](), 4
    for _ in range(dice.one((1, 2, 2, 3))):
        dies = min(left, dice.one((1, 1, 2, 3)))
        if dies == 0:
            break
        own, left = [f"dies={dies}"], left - dies
        if dice.chance(0.2):
            zone_bytes = dice.one(("", ", zone_capacity_bytes=1048576", ", zrwa_bytes=65536"))
            own.append(f"ftl={{name='zoned', max_active_zones=6{zone_bytes}}}")
        elif dice.chance(0.8):
            keys = [f"overprovisioning={dice.one((0.6, 1.5, 2.5))}"]
            if dice.chance(0.8):
                keys.append(f"name='{dice.one(names)}'")
            own.append(f"ftl={{{', '.join(keys)}}}")
        parts.append(own)
    if left and dice.chance(0.8):
        parts += [["share=0.5"] for _ in range(dice.one((1, 1, 2)))]
    for own in parts:
        own += ["block_bytes=4096"] if dice.chance(0.3) else []
        own += ["windows={deterministic_ms=2, non_deterministic_ms=1}"] if dice.chance(0.1) else []
    if dice.spoils(0.15):
        parts.append([f"dies={dice.odd_number()}"])
    all_of_them = ", ".join(f"{{{', '.join(own)}}}" for own in parts)
    sets = [f"namespace=[{all_of_them}]", "chip.geometry.blocks_per_plane=40"]
    for one in (
        *("ftl.overprovisioning=1.5", "buffer.bytes=0", "ftl.host_streams=3", "gc.name=fifo"),
        *("refresh.after_hours=1", "gc.background_free_blocks=6", "ftl.ram_bytes=1MiB"),
        *("chip.fault.program_failure_chance=0.001", "chip.rated_pe_cycles=2"),
        "windows={deterministic_ms=2, non_deterministic_ms=1, in_turn=true}",
    ):
        if dice.chance(0.15):
            sets.append(one)
    given = {"--drive": ["tiny"], **_sets(sets)}
    is_trace = dice.chance(0.3)
    if is_trace:
        form, name, case.files[name] = traces.file(dice, span=64 << 20)
        given |= {"--trace": [name], "--format": [form]}
        given["--namespace"] = [dice.odd() if dice.spoils(0.2) else dice.one(("1", "2", "3"))]
        given["--address"] = [dice.one(("reject", "wrap", "compact"))]
    else:
        case.files["job.fio"] = jobs.of_namespaces(dice, len(parts))
        given["--workload"] = ["job.fio"]
    if dice.chance(0.3):
        sets.append(f"recovery.name={dice.one(RECOVERIES)}")
        given["--cut-at"] = [dice.one(("0", "0.0005", "0.01"))]
    if dice.chance(0.6):
        given["--precondition"] = [dice.one(("none", "fill", "steady"))]
    given |= _outputs(dice, case)
    case.steps = [Command(options.line(dice, "run", given, most=0))]


def _replay(dice: Dice, case: Case) -> None:
    """A trace on a drive."""
    form, name, case.files[name] = traces.file(dice)
    given, arguments = _drive(dice, case, {})
    given |= {"--trace": [name], **_outputs(dice, case)}
    given |= _reading(dice, form)
    if dice.chance(0.3):
        given["--precondition"] = [dice.one(options.VALUES["--precondition"])]
    if dice.chance(0.4):
        given["--address"] = [dice.one(("wrap", "compact"))]
    of_runs = ("--workload", "--drive", "--timeline-spans", "--sort-window", "--action")
    without = (*of_runs, "--device", "--namespace")
    case.steps = [
        Command(options.line(dice, "run", given, tuple(arguments), most=1, without=without))
    ]


def _reading(dice: Dice, form: str) -> dict[str, list[str]]:
    """Options of the reader of a trace."""
    given = {}
    if dice.chance(0.9):
        given["--format"] = [dice.one(tuple(traces.WRITERS)) if dice.spoils(0.1) else form]
    if dice.chance(0.4):
        given["--on-bad-line"] = ["skip"]
    if dice.chance(0.2):
        marks = (
            ("none", "all", "marked") if form == "blkparse" or dice.spoils(0.1) else ("none", "all")
        )
        given["--urgent"] = [dice.one(marks)]
    if dice.chance(0.3):
        given["--time"] = [dice.one(options.VALUES["--time"])]
    return given


def _trace(dice: Dice, case: Case) -> None:
    """What a trace holds."""
    form, name, case.files[name] = traces.file(dice, 2**40)
    given = _reading(dice, form)
    given.pop("--time", None)
    case.steps = [Command(options.line(dice, "trace info", given, (name,), most=1))]


def _saved(dice: Dice, case: Case) -> None:
    """A drive that is saved, damaged or not, and run."""
    name, sets = drives.small(dice)
    given = {"--drive": [name], **_sets(sets), "--out": ["d.nldrive"]}
    given["--precondition"] = [dice.one(options.VALUES["--precondition"])]
    case.steps = [Command(options.line(dice, "save", given, most=1))]
    if dice.is_wild:
        case.steps.append(Damage("d.nldrive", f"{case.seed}/{case.number}/damage"))
    case.files["job.fio"] = jobs.file(dice)
    words = ["run", "--from", "d.nldrive", "--workload", "job.fio", "--json", "r.json"]
    case.steps.append(Command([*words, "--quiet"]))


def _nbd(dice: Dice, case: Case) -> None:
    """A drive that is served for as long as a command runs."""
    name, sets = drives.small(dice)
    given = {"--drive": [name], **_sets(sets), "--run": [dice.one(("true", "sleep 0.2"))]}
    # Other machines are not let in by chance.
    without: tuple[str, ...] = ("--listen-anywhere",)
    words: tuple[str, ...] = dice.one(_CTL_COMMANDS) if dice.chance(0.8) else (dice.odd(),)
    way = dice.chance(0.5)
    if dice.chance(0.3):
        # A command while the drive is served; then what it may have saved is served.
        place = dice.one(("--socket", "--control"))
        told = ["ctl", "s.sock", *words]
        told += ["--way", dice.one(("in_service", "suspended"))] if way else []
        asking = shlex.join([sys.executable, "-m", "nandlab", *told])
        given |= {place: ["s.sock"], "--run": [f"{asking}; test $? -ne 1"]}
        given |= {"--port": ["0"]} if place == "--control" else {}
        without = (*without, "--socket", "--port", "--control")
    command = "nbd"
    if not {"--socket", "--control"} & given.keys() and dice.chance(0.3):
        command, given, without = "nvme", {**given, "--port": ["0"]}, (*without, "--port")
    case.steps = [Command(options.line(dice, command, given, most=4, without=without))]
    if words[0] == "snapshot" and dice.chance(0.7):
        again = {"--from": ["s.nldrive"], "--run": ["true"]}
        without = (*without, "--set", "--seed", "--precondition", "--drive", "--socket", "--port")
        case.steps.append(Command(options.line(dice, "nbd", again, most=2, without=without)))
    if dice.chance(0.3):
        case.steps.append(Command(options.line(dice, "ctl", {}, ("no.sock", *words), most=1)))


def _dashboard(dice: Dice, case: Case) -> None:
    """A window that cannot be served, whatever else is asked for: one that can would not end."""
    name, sets = drives.small(dice)
    given = {"--drive": [name], **_sets(sets), "--port": ["65536"], "--no-open": []}
    case.steps = [Command(options.line(dice, "dashboard", given, most=3))]


def _needs(dice: Dice, case: Case) -> None:
    """What each FTL needs of a drive."""
    name, sets = drives.small(dice)
    given = {"--drive": [name], **_sets(sets), "--json": ["n.json"]}
    case.steps = [Command(options.line(dice, "ftl", given, most=1))]


def _board(dice: Dice, case: Case) -> None:
    """A procedure on the test board, perhaps resumed."""
    procedure = dice.one([member.name for member in catalogue.roster("procedure")])
    chip = dice.one(("wang2014_mlc", "wang2014_mlc", "tlc_3d", "qlc_3d"))
    if dice.chance(0.4):
        case.files["chip.toml"] = parameters.chip(dice)
        chip = "chip.toml"
    sets = ["chip.geometry.pages_per_block=24"] if dice.chance(0.9) else []
    sets += [
        f"procedure.{key}={dice.one(values)}"
        for key, values in (
            ("points", ("1", "2", "3", "0")),
            ("repeats", ("1", "2")),
            ("retention_hours", options.VALUES["--retention-hours"]),
            ("temperature_c", options.VALUES["--temperature-c"]),
            ("block", ("0", "1", "5", "100000")),
            ("profile", ("client", "bake_52c", "enterprise")),
            ("reads", ("0", "1000", "1000000")),
            ("step_v", ("0.5", "0.05", "0")),
            ("by_factor", ("10", "2", "1", "0")),
        )
        if dice.chance(0.12)
    ]
    given = {"--chip": [chip], **_sets(sets)}
    if dice.chance(0.7):
        given["--out"] = [dice.one(options.OUTS["board"])]
    line = options.line(dice, "board", given, (procedure,), most=3)
    case.steps = [Command(line)]
    if "--out" in line and dice.chance(0.4):
        if dice.is_wild:
            out = line[line.index("--out") + 1]
            case.steps.append(Damage(out, f"{case.seed}/{case.number}/damage"))
        case.steps.append(Command([*line, "--resume"]))


def _fit(dice: Dice, case: Case) -> None:
    """A law fitted to measurements."""
    law = dice.one(tuple(tables.LAWS))
    name, case.files[name] = tables.file(dice, law)
    laws = [law] + ([dice.one(tuple(tables.LAWS))] if dice.chance(0.1) else [])
    given = {"--law": laws}
    names = [name]
    if law == "cell":
        given["--chip"] = [dice.one(_CELLED)]
        if dice.chance(0.4):
            other, content = tables.file(dice, "gaussian")
            names.append(f"levels.{other}")
            case.files[names[-1]] = content
        if dice.chance(0.4):
            given["--retry"] = [dice.one(("1", "3", "0", "17") if dice.is_wild else ("1", "3"))]
    if dice.chance(0.3):
        given |= {"--chip": [dice.one(PRESETS["chip"])], "--toml": ["o.toml"]}
    if dice.chance(0.5):
        given["--json"] = [dice.one(("r.json", "-"))]
    most = 3 if dice.is_wild else 0
    for option in dice.some(("--level", "--each", "--plot"), 2):
        given[option] = [] if option == "--each" else [dice.one(options.VALUES[option])]
    case.steps = [Command(options.line(dice, "fit", given, (*names,), most=most))]
    if "--toml" in given and dice.chance(0.5):
        case.steps.append(Command(["cell", "o.toml", "--json", "cell.json"]))


#: Chips whose pages err, and those that have a cell.
_ERRING = ("tlc_3d", "qlc_3d", "tlc_planar", "wang2014_mlc", "zuolo2016_a_mlc", "zuolo2016_d_tlc")
_CELLED = _ERRING[:4]


def _endurance(dice: Dice, case: Case) -> None:
    """Cycles that a chip stands."""
    chip = dice.one(PRESETS["chip"] if dice.spoils(0.3) else _ERRING)
    if dice.chance(0.5):
        case.files["chip.toml"] = parameters.text(dice, "chip", chip)
        chip = "chip.toml"
    given = {"--json": [dice.one(("r.json", "-"))]} if dice.chance(0.6) else {}
    most = 6 if dice.is_wild else 1
    if not dice.is_wild:
        for name in dice.some(("--uber", "--t", "--rber-spread", "--temperature-c", "--reads"), 4):
            given[name] = [dice.one(options.VALUES[name]) for _ in range(dice.one((1, 1, 2)))]
    without = ("--profile", "--reads") if not dice.is_wild else ()
    line = options.line(dice, "endurance", given, (chip,), most=most, without=without)
    case.steps = [Command(line)]


def _levels(dice: Dice, case: Case) -> None:
    """Chips of which the levels are chosen: by the margins that data need, or by the data."""
    chip = dice.one(PRESETS["chip"]) if dice.spoils(0.3) else "wang2014_mlc"
    given = {"--json": [dice.one(("r.json", "-"))], "--out": ["chip.toml"]}
    if dice.chance(0.5):
        line = options.line(dice, "tvr", given, (chip,), most=2)
    else:
        case.files["data.bin"] = dice.randbytes(dice.one((0, 1, 4096, 20_000)))
        given["--chip"] = [chip]
        line = options.line(dice, "content", given, ("data.bin",), most=2)
    case.steps = [Command(line)]


def _life(dice: Dice, case: Case) -> None:
    """A short life of a small drive."""
    job = f"[w]\nrw={dice.one(('randwrite', 'randrw'))}\nbs=4k\nsize=4m\n"
    case.files["life.fio"] = job.encode()
    line = ["life", "--drive", "tiny", "--workload", "life.fio"]
    line += ["--years", dice.one((*["0.001", "0.002"] * 5, "-1", "x"))]
    line += ["--dwpd", dice.one((*["1", "3"] * 5, "0", "many"))]
    line += ["--windows", dice.one((*["1", "2"] * 5, "0", "1.5"))]
    line += ["--accelerate", dice.one((*["auto", "1"] * 5, "0", "fast"))]
    case.steps = [Command([*line, "--json", "r.json"])]


#: What `cell` may be asked beside a state: options that go together.
_LOOKS: tuple[tuple[str, ...], ...] = (
    (),
    ("--soft",),
    ("--plot",),
    ("--plot", "--picture=rber", "--over"),
    ("--plot", "--picture=program"),
    ("--plot", "--picture=endurance", "--t"),
    ("--plot", "--picture=endurance", "--t", "--codeword-bits", "--uber"),
    ("--retry", "--t", "--codeword-bits"),
    ("--animate", "--frames", "--over"),
)


def _cell(dice: Dice, case: Case) -> None:
    """A cell, its numbers and its pictures."""
    kind = dice.one(("cell", "cell", "chip"))
    name = dice.one(PRESETS["cell"] if kind == "cell" else _CELLED)
    if dice.spoils(0.3):
        kind, name = "drive", dice.one(PRESETS["drive"])
    if dice.chance(0.6):
        case.files["cell.toml"] = parameters.text(dice, kind, name)
        name = "cell.toml"
    given = {"--json": [dice.one(("r.json", "-"))]} if dice.chance(0.7) else {}
    for option in dice.one(_LOOKS):
        option, _, value = option.partition("=")
        given[option] = [value or dice.one(options.VALUES[option])]
    if dice.chance(0.2):
        given["--set"] = [_cell_assignment(dice)]
    state = ("--pe-cycles", "--retention-hours", "--reads", "--reprograms", "--temperature-c")
    for option in dice.some(state, 4):
        given[option] = [dice.one(options.VALUES[option])]
    case.steps = [
        Command(options.line(dice, "cell", given, (name,), most=3 if dice.is_wild else 0))
    ]


def _cell_assignment(dice: Dice) -> str:
    """Another value of a number of a cell."""
    table, found = "", []
    for line in catalogue.show("cell/tlc_3d").splitlines():
        if line.startswith("["):
            table = line[1:-1]
        elif table and " = " in line:
            key, _, rest = line.partition(" = ")
            value = rest.split("#")[0].strip()
            if value.replace(".", "").replace("-", "").replace("e", "").isdigit():
                found.append((f"{table}.{key}", float(value)))
    path, now = dice.one(found)
    return f"{path}={dice.odd_number() if dice.spoils(0.5) else dice.near(now)}"


def _code(dice: Dice, case: Case) -> None:
    """A code that is made, imported, exported or shown."""
    command = dice.one(("make", "import", "export", "show"))
    arguments: tuple[str, ...] = ()
    given: dict[str, list[str]] = {}
    if command == "make":
        given = {name: [dice.one(options.VALUES[name])] for name in ("--rows", "--columns", "--z")}
    elif command == "import":
        name, case.files[name] = parameters.matrix(dice)
        arguments = (name,)
    elif dice.chance(0.5):
        case.files["code.toml"] = parameters.text(dice, "code")
        arguments = ("code.toml",)
    else:
        arguments = (dice.one(PRESETS["code"]),)
    is_shown = command in ("make", "import") and dice.chance(0.4)
    if is_shown:
        given["--out"] = ["made.toml"]
    case.steps = [Command(options.line(dice, f"code {command}", given, arguments))]
    if is_shown:
        case.steps.append(Command(["code", "show", "made.toml", "--json"]))


def _ecc(dice: Dice, case: Case) -> None:
    """Curves and profiles of codes, perhaps gone on with."""
    command = dice.one(("curve", "curve", "profile"))
    code = dice.one(("bch_512_t40", "bch_512_t40", "ldpc_1k_r90", *PRESETS["code"]))
    if dice.chance(0.25):
        case.files["code.toml"] = parameters.text(dice, "code")
        code = "code.toml"
    given = {"--code": [code]}
    if command == "curve":
        given["--rber"] = [dice.one(options.VALUES["--rber"])]
    given["--max-frames"] = [dice.one(("100", "200", "300"))]
    if command == "profile" or dice.chance(0.6):
        given["--out"] = [dice.one(options.OUTS[f"ecc {command}"])]
    line = options.line(dice, f"ecc {command}", given, most=3)
    case.steps = [Command(line)]
    if "--out" in given and dice.chance(0.5):
        if dice.is_wild:
            case.steps.append(Damage(given["--out"][0], f"{case.seed}/{case.number}/damage"))
        case.steps.append(Command(list(line)))


def _speed(dice: Dice, case: Case) -> None:
    """What is timed, or prints times."""
    if dice.chance(0.7):
        given = {"--code": [dice.one(PRESETS["code"])], "--rber": ["0.001"], "--frames": ["2"]}
        case.steps = [Command(options.line(dice, "ecc speed", given, most=2))]
    else:
        command, argument = dice.one((("papers", "wang2014"), ("demo", "out"), ("papers", "x")))
        case.steps = [Command(options.line(dice, command, {}, (argument,), most=1))]


def _word(dice: Dice, case: Case) -> None:
    """Commands of one word, help, and commands that nobody has."""
    paths = [key.path for key in keys()]
    choices: tuple[list[str], ...] = (
        ["presets", dice.one((*PRESETS, dice.odd()))],
        ["show", dice.one((*PRESETS["drive"], *PRESETS["chip"], "chip/tlc_3d", dice.odd()))],
        ["schema"],
        ["cite", "--drive", dice.one((*PRESETS["drive"], dice.odd()))],
        ["explain", dice.one((dice.one(paths), dice.odd()))],
        ["explain", dice.one(paths), "--drive", dice.one(PRESETS["drive"])],
        ["ecc", "list"],
        ["new", dice.one(("drive", "job")), dice.one(("n.toml", "n.fio", "-"))],
        ["new", "study", dice.one(("n.toml", "n.fio", "-"))],
        [*dice.one(tuple(options.commands())).split(), "--help"],
        [dice.odd() for _ in range(dice.randint(0, 3))],
        ["--version"],
    )
    words = dice.one(choices)
    if dice.chance(0.1):
        words.insert(dice.randint(0, len(words)), dice.odd())
    case.steps = [Command([word.replace("\0", "") for word in words])]


def _parts(dice: Dice, case: Case) -> None:
    """A drive of files: a chip, a cell, a code and a host beside it, each changed."""
    lines = ['drive_preset = "tiny"']
    if dice.chance(0.7):
        case.files["chip.toml"] = parameters.chip(dice)
        lines += ['chip.preset = "chip.toml"', "chip.geometry.blocks_per_plane = 16"]
        lines += ["chip.geometry.pages_per_block = 24", "gc.start_free_blocks = 3"]
        lines.append("ftl.overprovisioning = 1.0")
        if dice.chance(0.4):
            case.files["cell.toml"] = parameters.text(dice, "cell")
            lines.append('chip.cell.preset = "cell.toml"')
    if dice.chance(0.3):
        case.files["host.toml"] = parameters.text(dice, "host")
        lines.append('host.preset = "host.toml"')
    if dice.chance(0.3):
        name = dice.one(PRESETS["code"])
        case.files["code.toml"] = parameters.text(dice, "code", name)
        lines.append('ecc.code = "code.toml"')
        if dice.chance(0.6) and f"{name}.profile" in PRESETS["code"]:
            case.files["code.profile.toml"] = parameters.text(dice, "code", f"{name}.profile")
    if dice.spoils(0.2):
        case.files["other.toml"] = b'drive_preset = "drive.toml"\n'
        lines[0] = 'drive_preset = "other.toml"'
    case.files["drive.toml"] = "\n".join(lines).encode()
    case.files["job.fio"] = jobs.file(dice)
    given = {"--workload": ["job.fio"], "--precondition": [dice.one(("none", "fill", "steady"))]}
    given |= _outputs(dice, case)
    case.steps = [Command(options.line(dice, "run", given, ("--drive", "drive.toml"), most=0))]


def _sweep(dice: Dice, case: Case) -> None:
    """A study, and the same again, which has nothing left to do."""
    data = studies.file(dice)
    case.files["study.toml"] = damaged(data, dice) if dice.spoils(0.2) else data
    case.files["drive.toml"] = b'drive_preset = "tiny"\n'
    case.files["job.fio"] = jobs.file(dice)
    own = "concurrent.futures:ThreadPoolExecutor"
    executor = dice.one(("local", dice.odd())) if dice.spoils(0.2) else own
    given = {"--out": ["st"], "--workers": ["2"], "--executor": [executor]}
    given |= _paper(dice)
    most = 4 if dice.is_wild else 1
    line = options.line(dice, "sweep", given, ("study.toml",), most=most)
    case.steps = [Command(line), Command(line)]
    if dice.chance(0.25):
        given = {"--out": ["st"], "--workers": ["2"], "--executor": [own], "--trials": ["3"]}
        given |= {"--batch": ["2"], "--objectives": [dice.one(("max host.iops", "min x", "max"))]}
        given |= _paper(dice)
        line = options.line(dice, "search", given, ("study.toml",), most=most)
        case.steps.append(Command(line))


def _compare(dice: Dice, case: Case) -> None:
    """Reports of two runs side by side."""
    case.files["job.fio"] = jobs.file(dice)
    for number, name in enumerate(("r1.json", "r2.json", "r3.json")):
        seed = ["--seed", str(number), "--set", f"gc.name={('greedy', 'fifo')[number % 2]}"]
        step = ["run", "--drive", "tiny", "--workload", "job.fio", *seed]
        case.steps.append(Command([*step, "--until", "2000", "--quiet", "--json", name]))
    if dice.is_wild:
        case.steps.append(Damage("r2.json", f"{case.seed}/{case.number}/damage"))
    files = tuple(dice.some(("r1.json", "r2.json", "r3.json", "r1.json"), 4))
    case.steps.append(Command(options.line(dice, "compare", _paper(dice), files, most=3)))


def _lint(dice: Dice, case: Case) -> None:
    """Files of every kind that the linter reads, some damaged, with reasons and without."""
    comment = dice.one(
        ("", "# lint: L003 because so\n", "# lint: L010\n", "# lint: L999 because x\n")
    )
    made = {
        "drive.toml": f'{comment}drive_preset = "tiny"\n[run]\nworkload = "job.fio"\n'.encode(),
        "job.fio": jobs.file(dice),
        "study.toml": studies.file(dice),
    }
    for name, data in made.items():
        case.files[name] = damaged(data, dice) if dice.spoils(0.2) else data
    step = ["run", "--drive", "tiny", "--workload", "job.fio", "--until", "2000", "--quiet"]
    if dice.chance(0.3):
        case.steps.append(Command([*step, "--json", "report.json"]))
        if dice.is_wild:
            case.steps.append(Damage("report.json", f"{case.seed}/{case.number}/damage"))
    names = (*made, "report.json", *PRESETS["drive"])
    files = tuple(dice.some(names, 3)) if dice.chance(0.85) else ()
    case.steps.append(Command(options.line(dice, "lint", {}, files, most=2, without=("--show",))))
    if dice.chance(0.1):
        given = {"--show": [dice.one(options.VALUES["--show"])]}
        case.steps.append(Command(options.line(dice, "lint", given, most=1)))


#: Every kind, with its share of the cases.
KINDS: dict[str, Kind] = {
    "run": Kind(_run, 36),
    "zones": Kind(_zones, 5),
    "tenants": Kind(_tenants, 4),
    "namespaces": Kind(_namespaces, 5),
    "actions": Kind(actions.draw, 4, is_same=False),
    "replay": Kind(_replay, 12),
    "parts": Kind(_parts, 10),
    "saved": Kind(_saved, 5),
    "nbd": Kind(_nbd, 1, is_same=False),
    "dashboard": Kind(_dashboard, 1),
    "needs": Kind(_needs, 2),
    "sweep": Kind(_sweep, 4, is_same=False),
    "compare": Kind(_compare, 2),
    "calibrate": Kind(measured.calibration, 2),
    "lint": Kind(_lint, 3),
    "import": Kind(simulators.draw, 3),
    "life": Kind(_life, 1, is_same=False),
    "levels": Kind(_levels, 2),
    "trace": Kind(_trace, 4),
    "board": Kind(_board, 4),
    "fit": Kind(_fit, 9),
    "endurance": Kind(_endurance, 5),
    "cell": Kind(_cell, 7),
    "code": Kind(_code, 5),
    "ecc": Kind(_ecc, 3),
    "speed": Kind(_speed, 0.5, is_same=False),
    "word": Kind(_word, 4),
    "design": Kind(answers.design, 1, is_same=False),
    "why": Kind(answers.why, 1),
}
