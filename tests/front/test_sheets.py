"""Tables for papers: LaTeX that LaTeX takes, numbers with the digits that they have."""

from __future__ import annotations

import re

import pytest
from matplotlib.mathtext import MathTextParser

from nandlab.display.label import label_of
from nandlab.display.sheet import Number, Sheet, csv_text, escaped, latex


def cell(number: Number) -> str:
    """A number as a table has it."""
    return latex(Sheet([label_of("x")], [[number]])).splitlines()[5].removesuffix(r" \\")


@pytest.mark.parametrize(
    ("number", "said"),
    [
        (Number(12.31, 11.9, 12.72), r"$12.3 \pm 0.4$"),
        (Number(12.314, 12.2, 12.428), r"$12.31 \pm 0.11$"),
        (Number(29118.0, 28000.0, 30236.0), r"$29\,100 \pm 1100$"),
        (Number(29118.0, 28118.0, 30118.0), r"$29\,100 \pm 1000$"),
        (Number(5.0, 4.02, 5.98), r"$5.0 \pm 1.0$"),
        (Number(0.1, -5.0, 5.2), r"$0 \pm 5$"),
        (Number(2e-8, 1.9e-8, 2.1e-8), r"$(2.00 \pm 0.10) \times 10^{-8}$"),
        (Number(2.0, 2.0, 2.0), "$2$"),
        (Number(0.97363, 0.9424, 1.0059, is_ratio=True), "$0.9736$ ($0.9424$ to $1.006$)"),
        (Number(905.2, mark="*"), "$905.2^{*}$"),
        (Number(64), "$64$"),
        (Number(1048576), r"$1\,048\,576$"),
        (Number(0), "$0$"),
        (Number(0.1, is_given=True), "$0.1$"),
        (Number(0.123456, is_given=True), "$0.123456$"),
        (Number(2**26, is_given=True), r"$6.711 \times 10^{7}$"),
        (Number(-0.25), "$-0.2500$"),
        (Number(2.4e9), r"$2.400 \times 10^{9}$"),
        (Number(None), "--"),
    ],
)
def test_numbers(number: Number, said: str):
    assert cell(number) == said
    for part in re.findall(r"\$.*?\$", said):
        MathTextParser("agg").parse(part)


def test_latex_takes_every_letter():
    """No letter that means something to LaTeX stands alone, and rows are as wide as the heading."""
    text = "50 % of a_b & c#d $x {y} ~ ^ \\ < µs"
    table = Sheet([label_of("read_us_p99"), label_of("gc.name")], [[Number(1), text]], [text])
    lines = latex(table).splitlines()
    assert lines[1] == r"\begin{tabular}{rl}"
    assert lines[3] == r"read p99 ($\mu$s) & gc.name \\"
    assert lines[-1] == r"\end{tabular}"
    assert [line for line in lines if line.endswith("rule")] == [
        r"\toprule", r"\midrule", r"\bottomrule"
    ]  # fmt: skip
    bare = re.sub(r"\\[&%$#_{}]|\\[a-z]+(\{\})?|\$[^$]*\$", "", escaped(text))
    assert not set(bare) & set("\\&%$#_{}~^<>")


@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("read_us_p99", "read p99 (µs)"),
        ("read_us_p99_9", "read p99.9 (µs)"),
        ("bandwidth_mb_s", "bandwidth (MB/s)"),
        ("write_amplification", "write amplification"),
        ("kiops", "kIOPS"),
        ("capacity_mib", "capacity (MiB)"),
        ("chip.timing.t_read_us", "chip.timing.t_read (µs)"),
        ("host.read.latency_us.p99", "host.read.latency.p99 (µs)"),
        ("buffer.bytes", "buffer (bytes)"),
        ("age.pe_cycles", "age.pe_cycles"),
        ("ftl.overprovisioning", "ftl.overprovisioning"),
        ("host.iops / 1000", "host.iops / 1000"),
        ("s", "s"),
    ],
)
def test_labels_have_the_units_of_names(name: str, label: str):
    assert str(label_of(name)) == label


def test_csv_keeps_all_digits():
    rows = [{"a": 0.1 + 0.2, "b": None, "c": True, "d": [1, 2]}]
    assert csv_text(list(rows[0]), rows) == 'a,b,c,d\n0.30000000000000004,,true,"[1, 2]"\n'
    assert csv_text(["a", "b"], []) == "a,b\n"
