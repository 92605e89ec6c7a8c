"""What a notebook shows: each thing once, as a table, a picture, or a line that says what it is."""

import builtins
import importlib.util
import re
from html import escape
from typing import Any

import numpy as np
import pytest

import nandlab

JOB = "[a]\nrw=randrw\nnumber_ios=300\n"


@pytest.fixture(scope="module")
def shown() -> list[Any]:
    """A result, a comparison, an explanation, a study without rows."""
    runs = [
        nandlab.run("tiny", JOB, precondition="fill", explain=True, set={"gc.name": name})
        for name in ("greedy", "fifo")
    ]
    study = nandlab.Study("tiny", JOB, axes={"gc.name": ["greedy", "fifo"]})
    return [runs[0], nandlab.compare(runs), runs[0].explain(90), study]


@pytest.fixture
def displayed(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What rich displays by itself, where it believes to be in a notebook."""
    import rich.jupyter

    seen: list[Any] = []
    shell = type("ZMQInteractiveShell", (), {})()
    monkeypatch.setattr(builtins, "get_ipython", lambda: shell, raising=False)
    monkeypatch.setattr("rich.console.get_ipython", lambda: shell, raising=False)
    monkeypatch.setattr(rich.jupyter, "display", lambda *parts: seen.append(parts))
    return seen


def test_each_is_shown_once(shown: list[Any], displayed: list[Any]):
    """As HTML that is not empty, and rich shows nothing beside it."""
    from rich.console import Console

    assert Console().is_jupyter
    for one in shown:
        assert re.search(r"<pre[^>]*>.*\S.*</pre>", one._repr_html_(), flags=re.S)
        assert str(one).strip()
    assert displayed == []


def luminance(colour: str) -> float:
    """Relative luminance of ``#rrggbb``, as WCAG 2 has it."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return float(np.dot(linear, (0.2126, 0.7152, 0.0722)))


def test_colours_stand_out_from_light_and_dark_pages(shown: list[Any]):
    colours = {found for one in shown for found in re.findall(r"#[0-9a-f]{6}", one._repr_html_())}
    assert len(colours) >= 3
    for colour in colours:
        bright = luminance(colour)
        assert 1.05 / (bright + 0.05) >= 3, colour
        assert (bright + 0.05) / (luminance("#1e1e1e") + 0.05) >= 3, colour
    assert not any("background" in one._repr_html_() for one in shown)


def test_text_is_shown_as_it_is():
    """Neither as HTML nor as the markup of rich."""
    name = "<i>[bold]x:smile:"
    result = nandlab.run({"drive_preset": "tiny", "summary": name}, JOB)
    assert escape(name) in result._repr_html_()
    other = nandlab.run("tiny", f"[{name[8:]}]\nrw=randread\nnumber_ios=20\n").to_dict()
    other["nandlab"]["config"]["gc"]["name"] = name
    compared = nandlab.compare([result, other])
    assert name in str(compared)
    assert escape(name) in compared._repr_html_()


def test_a_plot_at_the_end_of_a_cell_is_drawn(shown: list[Any]):
    result, compared, _, _ = shown
    for figure in (result.plot(), result.plot_latency(), compared.plot()):
        assert figure._repr_png_().startswith(b"\x89PNG")


@pytest.mark.skipif(importlib.util.find_spec("IPython") is None, reason="no IPython")
def test_ipython_shows_each_once(shown: list[Any], displayed: list[Any]):
    from IPython.core.interactiveshell import InteractiveShell

    formatter = InteractiveShell.instance().display_formatter
    formatter.active_types = ["text/plain", "text/html", "image/png"]
    for one in shown:
        assert set(formatter.format(one)[0]) == {"text/plain", "text/html"}
    assert set(formatter.format(shown[0].plot())[0]) == {"text/plain", "image/png"}
    assert displayed == []


def test_a_new_drive_is_the_call_that_makes_it():
    for made in (nandlab.Drive("tiny"), nandlab.Drive("tiny", set={"gc.name": "fifo"}, seed=3)):
        again = eval(repr(made), {"Drive": nandlab.Drive})
        assert repr(again) == repr(made) == repr(made.clone())
        assert again.run(JOB).to_dict()["host"] == made.run(JOB).to_dict()["host"]
    for used in (made, nandlab.Drive("tiny").precondition("fill"), nandlab.Drive({**TABLES})):
        assert re.fullmatch(r"<drive .*>", repr(used))


TABLES = {"drive_preset": "tiny"}


def test_what_cannot_be_typed_says_what_it_is(shown: list[Any]):
    result, compared, _, study = shown
    for one in (result, result.read, result.flush, result.blame, compared, study):
        assert re.fullmatch(r"<[a-z]+ (of|over) .+>", repr(one))


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
    assert ">power_law fitted to data: " in shown
    assert shown.endswith("a &lt; b</pre>")
    for one in (nandlab.endurance("tlc_planar", retention_hours=24), nandlab.tvr()):
        assert one._repr_html_().endswith(f">{escape(str(one))}</pre>")
