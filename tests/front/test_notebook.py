"""What a notebook shows: one line of a thing, or its table, and never its fields."""

import re
from html import escape

import numpy as np

import nandlab


def test_one_line_says_what_it_is():
    endurance = nandlab.endurance("tlc_planar", retention_hours=[24, 168])
    sweep = nandlab.board("latency_map", "wang2014_mlc")
    curve = nandlab.ecc_curve(
        "bch_512_t40", rber=[0.008], channel="bsc", errors=10, max_frames=100, threads=1
    )
    over = nandlab.cell("slc").endurance(retention_hours=[1.0, 10.0], temperature_c=[30.0])
    said = {
        repr(endurance): "<endurance of tlc_planar: points: 2>",
        repr(sweep): "<latency_map of wang2014_mlc: 128 of 128 steps, 128 rows>",
        repr(curve): "<curve of bch_512_t40 over bsc: points: 1>",
        repr(over): "<endurance of cell slc: 1 temperatures x 2 retentions>",
        repr(nandlab.tvr()): "<tvr of 4 levels: 19 to 9.5 steps, 1,246,891 to 1,335,338 cycles>",
    }
    assert list(said) == list(said.values())


def test_tables_are_shown_as_they_print():
    cycles = np.array([500, 1000, 2000, 3000, 4000, 6000])
    data = {"pe_cycles": cycles, "bits_read": [10**8] * 6, "bit_errors": cycles // 10}
    fit = nandlab.fit(data, "power_law", without="epsilon")
    assert re.fullmatch(
        r"<fit of power_law to data: 1,650 errors of 6e\+08 bits in 6 rows, 2 parameters>",
        repr(fit),
    )
    fit.notes.append("a < b")
    shown = fit._repr_html_()
    assert shown.startswith("<pre>power_law fitted to data: ")
    assert shown.endswith("a &lt; b</pre>")
    for one in (nandlab.endurance("tlc_planar", retention_hours=24), nandlab.tvr()):
        assert one._repr_html_() == f"<pre>{escape(str(one))}</pre>"
