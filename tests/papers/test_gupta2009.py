"""Gupta et al. (ASPLOS'09): DFTL, a page map whose entries are cached on demand."""

from __future__ import annotations

import runpy
from collections.abc import Callable
from pathlib import Path

import pytest
from reproduced import EXPERIMENTS, Reproduced, on_traces

from nandlab.papers import paper


class TestGupta2009(Reproduced):
    name = "gupta2009"
    witnesses = (
        "page_read_us",
        "page_map_percent",
    )
    least_met = 1 / 4

    def test_dftl_answers_sooner_than_fast(self):
        """With one of the seeds of the row."""
        response = paper(self.name, EXPERIMENTS).load().financial_response(seed=1)
        assert response == pytest.approx(-97.62, abs=0.01)


@pytest.mark.long
def test_rows_of_real_traces():
    """DFTL against FAST on a piece of Financial1: as `gupta2009/README.md` says."""
    ran = on_traces("gupta2009")
    assert [name for name, outcome in ran.items() if outcome.fails] == []
    assert ran["piece_response"].ours == pytest.approx(-61, abs=1)
    assert ran["few_logs_response"].ours == pytest.approx(-82, abs=1)


@pytest.mark.long
@pytest.mark.parametrize("workload", ["financial", "tpch"])
def test_the_table_of_gupta2009_is_what_its_script_prints(workload: str):
    """Its first rows: the others take half a minute."""
    folder = EXPERIMENTS / "gupta2009"
    run = paper("gupta2009", EXPERIMENTS).load()
    script = runpy.run_path(str(folder / "sensitivity.py"))
    assert all(run.Assumed(**assumed) for assumed in script["ASSUMED"].values())
    base = next(iter(script["ASSUMED"]))
    row = script["line"](run.NAMES[workload], base, [run.generated(workload, f) for f in run.FTLS])
    assert row in (folder / "README.md").read_text(encoding="utf-8")


@pytest.mark.long
def test_a_full_drive_turns_the_answer_round(real_trace: Callable[[str], Path]):
    """With 3 % spare and nothing else free, DFTL answers more slowly than FAST."""
    run = paper("gupta2009", EXPERIMENTS).load()
    path = real_trace("spc_financial1.head50k.flashsim.lossy.txt")
    dftl, fast = (run.replayed(path, ftl, is_sized=True) for ftl in ("dftl", "fast"))
    assert dftl.mean_ms > 5 * fast.mean_ms
