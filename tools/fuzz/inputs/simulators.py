"""Files of other simulators: their keys by the rosters of the importers, some odd or damaged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fuzz.case import Case, Command
from fuzz.inputs.damage import damaged
from fuzz.inputs.dice import Dice
from nandlab.imported import femu, mqsim
from nandlab.imported.form import Choice, Flag, Form, Numbered, Numbers, Real, Whole
from nandlab.imported.given import Key
from nandlab.imported.simplessd.keys import ROSTERS as SIMPLESSD

#: Values that make a drive small enough to run; those of a key in several sections go for all.
_SMALL: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("Flash_Channel_Count", "Chip_No_Per_Channel", "nchs"), ("1", "2", "4")),
    **dict.fromkeys(("Die_No_Per_Chip", "Plane_No_Per_Die", "luns_per_ch"), ("1", "2")),
    **dict.fromkeys(("Package", "Die", "Plane", "pls_per_lun", "Channel"), ("1", "2")),
    **dict.fromkeys(("Block_No_Per_Plane", "Block", "blks_per_pl"), ("32", "64", "100")),
    **dict.fromkeys(("Page_No_Per_Block", "Page", "pgs_per_blk"), ("24", "48", "96")),
    **dict.fromkeys(("Page_Capacity", "PageSize"), ("4096", "8192")),
    **dict.fromkeys(("Overprovisioning_Ratio", "OverProvisioningRatio"), ("0.2", "0.25", "0.5")),
    **dict.fromkeys(("GC_Exec_Threshold", "GCThreshold"), ("0.03", "0.1")),
    "GC_Hard_Threshold": ("0.01", "0.03"),
    "Data_Cache_Capacity": ("0", "1048576"),
    "CacheSize": ("65536", "4194304"),
    "CMT_Capacity": ("4096", "2097152"),
    "devsz_mb": ("2", "4", "16"),
    "femu_mode": ("1",),
    "secsz": ("512",),
    "secs_per_pg": ("8", "16"),
    "DMASpeed": ("100", "400"),
    "Channel_Transfer_Rate": ("100", "333"),
    **{
        f"{page}{what}": ("50000000",)
        for page in ("LSB", "CSB", "MSB")
        for what in ("Read", "Write")
    },
    "Stop_Time": ("0", "2000000"),
    "Total_Requests_To_Generate": ("1", "500"),
    **dict.fromkeys(("Channel_IDs", "Chip_IDs", "Die_IDs", "Plane_IDs"), (*["0"] * 9, "0,1")),
    "Average_Request_Size": ("8", "16", "7"),
    "Address_Alignment_Unit": ("1", "8", "16"),
    "Average_No_of_Reqs_in_Queue": ("1", "16"),
    "Bandwidth": ("100000000",),
    "File_Path": ("t.trace", "no.trace"),
    "Relay_Count": ("1", "2"),
    "io_size": ("64K", "1M"),
    "readwrite": ("read", "randwrite", "randrw", "readwrite"),
    "blocksize": ("4K", "8K", "512"),
    "blockalign": ("", "4K"),
    "iodepth": ("1", "8"),
    "offset": ("0", "8K"),
    "size": ("", "1M"),
    "time_based": ("0",),
    "runtime": ("1ms",),
    "File": ("t.trace",),
    "Mode": ("0", "0", "1"),
}


def draw(dice: Dice, case: Case) -> None:
    """An import, and a run of what it wrote."""
    case.files["t.trace"] = b"0 0 8 8 0\n900 0 64 16 1\n"
    case.files["job.fio"] = b"[a]\nrw=randrw\nbs=4k\nnumber_ios=200\n"
    name = dice.one(("mqsim", "mqsim", "simplessd", "femu"))
    files = {"mqsim": _mqsim, "simplessd": _simplessd, "femu": _femu}[name](dice)
    for file, text in files.items():
        data = text.encode("utf-8", "replace")
        case.files[file] = damaged(data, dice) if dice.spoils(0.3) else data
    words = ["import", name, *files, "--out", "job.fio" if dice.spoils(0.1) else "new"]
    if dice.chance(0.3):
        words += ["--json", dice.one(("r.json", "-"))]
    limits = ["--until", "200", "--precondition", dice.one(("none", "fill")), "--quiet"]
    own = {"w.xml": "new/scenario_1.toml", "sim.cfg": "new/run.toml"}
    runs = [path for file, path in own.items() if file in files and dice.chance(0.8)]
    run = ["--drive", *runs] if runs else ["--drive", "new/drive.toml", "--workload", "job.fio"]
    case.steps = [Command(words), Command(["run", *run, *limits])]


def _value(dice: Dice, key: Key) -> str:
    """A value of a key, or what is none."""
    if dice.spoils(0.02):
        return dice.odd()
    name = key.name.rpartition(".")[2]
    if name in _SMALL and not dice.spoils(0.05):
        return dice.one(_SMALL[name])
    return _of_form(dice, key.form, key.default or "")


def _of_form(dice: Dice, form: Form, default: str) -> str:
    match form:
        case Choice():
            return dice.one(form.words)
        case Flag():
            return dice.one([word for words in form.words for word in words])
        case Numbered():
            return str(dice.one(list(form.meanings)))
        case Numbers():
            return dice.one(("0", "0,1"))
        case Whole() | Real() if dice.spoils(0.2):
            return dice.one((str(form.least), str(form.most), dice.odd_number()))
        case Real():
            return dice.one((default or "0.5", "0.5"))
        case Whole(least=least):
            return default or str(max(1, least))
    return default


def _drawn(dice: Dice, keys: Sequence[Key]) -> list[tuple[str, str]]:
    """Keys with values: those that make a drive small, and most of the others."""
    found = []
    for key in keys:
        is_small = key.name.rpartition(".")[2] in _SMALL or key.default is None
        if (is_small and not dice.spoils(0.02)) or dice.chance(0.7):
            found.append((key.name, _value(dice, key)))
    if dice.chance(0.1):
        found.append(("Unknown_Key", "1"))
    return found


def _mqsim(dice: Dice) -> dict[str, str]:
    """MQSim's configuration, and often a workload."""
    parts = {
        part: "".join(f"<{key}>{_text(value)}</{key}>\n" for key, value in _drawn(dice, keys))
        for part, keys in mqsim.ROSTERS.items()
        if not part.startswith("IO_Flow")
    }
    flash = f"<Flash_Parameter_Set>{parts['Flash_Parameter_Set']}</Flash_Parameter_Set>"
    config = (
        f"<Execution_Parameter_Set>\n"
        f"<Host_Parameter_Set>{parts['Host_Parameter_Set']}</Host_Parameter_Set>\n"
        f"<Device_Parameter_Set>{parts['Device_Parameter_Set']}{flash}</Device_Parameter_Set>\n"
        "</Execution_Parameter_Set>\n"
    )
    if dice.chance(0.2):
        return {"ssd.xml": config}
    text = ""
    for _ in range(dice.one((1, 1, 2))):
        text += "<IO_Scenario>"
        for _ in range(dice.one((1, 1, 2, 3))):
            part = f"IO_Flow_Parameter_Set_{dice.one(('Synthetic', 'Synthetic', 'Trace_Based'))}"
            keys = _drawn(dice, mqsim.ROSTERS[part])
            inner = "".join(f"<{key}>{_text(value)}</{key}>\n" for key, value in keys)
            text += f"<{part}>{inner}</{part}>"
        text += "</IO_Scenario>"
    return {"ssd.xml": config, "w.xml": f"<MQSim_IO_Scenarios>{text}</MQSim_IO_Scenarios>"}


def _text(value: str) -> str:
    """A value as text of XML."""
    return value.replace("&", "&amp;").replace("<", "&lt;")


def _simplessd(dice: Dice) -> dict[str, str]:
    """SimpleSSD's configuration, and often that of Standalone."""
    files = {"ssd.cfg": ""}
    if dice.chance(0.7):
        files["sim.cfg"] = ""
    for section, keys in SIMPLESSD.items():
        name = "sim.cfg" if section in ("global", "generator", "trace") else "ssd.cfg"
        if name in files:
            lines = [f"{key.rpartition('.')[2]} = {value}\n" for key, value in _drawn(dice, keys)]
            files[name] += f"[{section}]\n{''.join(lines)}"
    return files


def _femu(dice: Dice) -> dict[str, str]:
    """A script that starts FEMU: the options in the command, or in variables."""
    drawn = _drawn(dice, femu.ROSTER)
    if dice.chance(0.5):
        variables = "".join(f"{key}={value}\n" for key, value in drawn)
        options = ",".join(f"{key}=${{{key}}}" for key, _ in drawn)
        return {"run.sh": f'{variables}O="-device femu,{options}"\nqemu -m 4G \\\n  $O\n'}
    return {"run.sh": f"qemu -device femu,{','.join(f'{key}={value}' for key, value in drawn)}\n"}
