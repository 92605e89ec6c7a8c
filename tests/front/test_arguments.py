"""What Python's doors are given: other kinds are refused in words, numpy's numbers are numbers."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import carries

import nandlab
from nandlab import NandlabError
from nandlab.ecc import Code, ldpc
from nandlab.ecc.uber import Ecc, rber_limit, uber
from nandlab.given.arguments import number, whole

BCH, MLC, JOB = "bch_512_t40", "wang2014_mlc", "[a]\nrw=read\nnumber_ios=1\n"
WORN = {"pe_cycles": [0, 1e3, 3e3], "rber": [1e-5, 2e-4, 1e-3]}
KEPT = {"pe_cycles": [1, 9, 99], "retention_hours": [1, 9, 99], "rber": [1e-5, 2e-4, 1e-3]}
CELLS = {"vth_v": range(7), "cells": [10, 100, 10, 1, 10, 100, 10]}
SHORT = {"rber": 0.01, "channel": "bsc", "max_frames": 100}
CELL = nandlab.cell("slc")
FITTED = nandlab.fit(WORN, "exponential")
RESULT = nandlab.run("tiny", JOB)

DOORS: list[tuple[Callable[..., object], dict[str, Any], str]] = [
    (nandlab.run, {"drive": "tiny", "workload": JOB}, "drive workload set precondition seed"),
    (nandlab.run, {"drive": "tiny", "workload": JOB}, "requests timeline progress"),
    (nandlab.run, {"drive": "tiny", "trace": "x"}, "trace format trace_options iodepth"),
    (nandlab.run, {"drive": "tiny", "workload": JOB, "timeline": True}, "timeline_spans"),
    (
        nandlab.board,
        {"procedure": "latency_map", "chip": MLC},
        "procedure chip set seed out resume",
    ),
    (nandlab.board, {"procedure": "latency_map", "chip": MLC}, "progress"),
    (nandlab.presets, {}, "kind"),
    (nandlab.show, {}, "name"),
    (nandlab.bibliography, {}, "drive"),
    (nandlab.trace_info, {"path": "x"}, "path format options"),
    (nandlab.cell, {"name": "slc"}, "name set page_order"),
    (CELL.levels, {}, "state pe_cycles retention_hours reads reprograms temperature_c"),
    (CELL.equivalent_hours, {"hours": 1, "temperature_c": 25}, "hours temperature_c"),
    (CELL.density, {"voltages_v": 1.0}, "voltages_v level state"),
    (CELL.rber, {"page_type": 0}, "page_type shifts_v pe_cycles retention_hours reads"),
    (CELL.soft, {"page_type": 0}, "page_type count offsets_v shifts_v state"),
    (CELL.times, {}, "pe_cycles"),
    (CELL.endurance, {}, "retention_hours temperature_c reads t codeword_bits uber is_best"),
    (CELL.plot, {}, "path state"),
    (CELL.plot_rber, {}, "path over state"),
    (CELL.animate, {"path": "x.gif"}, "path over state frames"),
    (nandlab.ecc_curve, {"code": BCH, **SHORT}, "code rber channel levels errors max_frames"),
    (nandlab.ecc_curve, {"code": BCH, **SHORT}, "threads seed decoder set out progress"),
    (nandlab.ecc_speed, {"code": BCH, "rber": 0.01}, "code rber levels channel decoder set frames"),
    (nandlab.ecc_speed, {"code": BCH, "rber": 0.01}, "seed"),
    (nandlab.ecc_profile, {"code": BCH, "out": "x.toml"}, "code out levels errors max_frames"),
    (nandlab.ecc_profile, {"code": BCH, "out": "x.toml"}, "threads seed decoder set progress"),
    (Code, {"code": BCH}, "code decoder set"),
    (nandlab.fit, {"data": WORN, "law": "exponential"}, "data law level each page_bits"),
    (nandlab.fit, {"data": WORN, "law": "exponential"}, "least_squares"),
    (nandlab.fit, {"data": KEPT, "law": "retention_law"}, "reference_c"),
    (nandlab.fit, {"data": KEPT, "law": "power_law"}, "without"),
    (nandlab.fit, {"data": CELLS, "law": "gaussian"}, "states reference_v"),
    (FITTED.draws, {"count": 1}, "count seed"),
    (FITTED.chip_toml, {}, "chip"),
    (FITTED.plot, {}, "path"),
    (nandlab.endurance, {"chip": "tlc_3d"}, "chip retention_hours temperature_c t codeword_bits"),
    (nandlab.endurance, {"chip": "tlc_3d"}, "user_bits uber rber_spread reads page_type"),
    (nandlab.endurance, {"chip": {"name": "power_law"}}, "reference_c activation_ev"),
    (nandlab.endurance, {"chip": FITTED}, "level"),
    (nandlab.tvr, {}, "mu_v sigma_v rber_limit rule step_v beta law"),
    (nandlab.tvr, {}, "coupling_bitline coupling_wordline"),
    (ldpc.make, {"z": 64, "block_rows": 4, "block_columns": 10}, "z block_rows block_columns"),
    (ldpc.make, {"z": 64, "block_rows": 4, "block_columns": 10}, "column_weight seed draws"),
    (ldpc.make, {"z": 64, "block_rows": 4, "block_columns": 10}, "parity_rows summary crc_bytes"),
    (ldpc.import_file, {"path": "x"}, "path form z summary payload_bytes metadata_bytes"),
    (ldpc.export, {"name": "ldpc_1k_r90"}, "name form"),
    (ldpc.facts, {"name": "ldpc_1k_r90"}, "name absorbing_bits check"),
    (uber, {"rber": 1e-3, "ecc": Ecc()}, "rber ecc rber_spread"),
    (rber_limit, {"target": 1e-15, "ecc": Ecc()}, "target ecc rber_spread"),
    (RESULT.to_json, {}, "path"),
    (RESULT.sql, {}, "query"),
    (RESULT.plot, {}, "path"),
    (RESULT.plot_latency, {}, "axes label"),
    (RESULT.plot_throughput, {}, "axes label"),
]


@pytest.mark.parametrize(
    ("door", "rest", "name"), [(door, rest, one) for door, rest, s in DOORS for one in s.split()]
)
def test_what_no_argument_can_be(
    door: Callable[..., object], rest: dict[str, Any], name: str, folder: Path
):
    before = set(folder.iterdir())
    for wrong in (object(), 1j, b"x", 10**400, [None], np.array([["x"]])):
        with pytest.raises(NandlabError):
            door(**{**rest, name: wrong})
    assert set(folder.iterdir()) == before


@pytest.mark.parametrize(
    ("call", "parts"),
    [
        (lambda: nandlab.ecc_curve(BCH, rber=True), ["rber: True", "number"]),
        (lambda: nandlab.ecc_curve(BCH, rber=[]), ["rber: none", "one or more"]),
        (lambda: nandlab.ecc_curve(BCH, rber=0.01, channel=3), ["channel: 3", "bsc, awgn"]),
        (lambda: nandlab.ecc_curve(BCH, rber=0.01, decoder=5), ["decoder: 5", "decoder's"]),
        (lambda: nandlab.ecc_curve(BCH, rber=0.01, out=5), ["out: 5", "path"]),
        (lambda: nandlab.ecc_speed(BCH, rber=0.01, levels=2.5), ["levels: 2.5", "whole number"]),
        (lambda: nandlab.ecc_speed(BCH, rber=0.01, levels=3), ["levels: 3", "0, 2, 4, 6"]),
        (lambda: nandlab.ecc_speed(BCH, rber=0.01, seed="1"), ["seed: '1'", "whole number"]),
        (lambda: nandlab.ecc_profile(BCH, out=3), ["out: 3", "path"]),
        (lambda: nandlab.ecc_profile(BCH, out="x", levels=[]), ["levels: none", "one or"]),
        (lambda: ldpc.make("256", 4, 10), ["recipe.z: '256'", "whole number"]),
        (
            lambda: ldpc.make(64, 4, 10, payload_bytes=5.5),
            ["payload_bytes: 5.5", "whole number"],
        ),
        (lambda: ldpc.export("ldpc_1k_r90", 3), ["form: 3", "base, alist"]),
        (lambda: ldpc.export("ldpc_1k_r90", "matrix"), ["matrix"]),
        (lambda: ldpc.facts(3), ["code: 3", "preset's name", "path"]),
        (
            lambda: ldpc.facts("ldpc_1k_r90", absorbing_bits="3"),
            ["absorbing_bits: '3'", "whole"],
        ),
        (
            lambda: nandlab.fit(WORN, "exponential", page_bits=1.5),
            ["page_bits: 1.5", "whole"],
        ),
        (lambda: nandlab.fit(KEPT, "retention_law", reference_c="x"), ["reference_c: 'x'"]),
        (lambda: nandlab.endurance(FITTED, level=2), ["level = 2", "0.5"]),
        (lambda: nandlab.run("tiny", JOB, progress=3), ["progress: 3", "function", "None"]),
        (lambda: CELL.rber(0.5), ["page_type: 0.5", "whole number", "0 to 0"]),
    ],
)
def test_what_messages_say(call: Callable[..., object], parts: list[str]):
    with pytest.raises(NandlabError) as caught:
        call()
    message = carries(caught.value, *parts)
    assert any(word in message for word in ("expected: ", "hint: "))


#: All but `board`, which hands on what it is given to its procedures.
FUNCTIONS = [
    name
    for name in nandlab.__all__
    if inspect.isfunction(getattr(nandlab, name)) and name != "board"
]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_name_that_no_argument_has(name: str):
    """Refused before all else, with the names that there are."""
    function = getattr(nandlab, name)
    with pytest.raises(NandlabError) as caught:
        function(never_heard_of=1)
    of_function = inspect.signature(function).parameters.values()
    names = [one.name for one in of_function if one.kind is not one.VAR_POSITIONAL]
    carries(caught.value, name, "`never_heard_of`", *names)


@pytest.mark.parametrize(
    ("call", "given", "meant"),
    [
        (CELL.rber, {"page_type": 0, "hours": 24}, "retention_hours"),
        (CELL.endurance, {"hours": 24}, "retention_hours"),
        (CELL.levels, {"hours": 24}, "retention_hours"),
        (nandlab.endurance, {"chip": "tlc_3d", "hours": 24}, "retention_hours"),
        (nandlab.life, {"drive": "tiny", "hours": 24}, "retention_hours"),
        (nandlab.Drive("tiny").age, {"retention_hours": 24}, "hours"),
    ],
)
def test_the_name_that_is_meant(call: Callable[..., object], given: dict[str, Any], meant: str):
    with pytest.raises(NandlabError) as caught:
        call(**given)
    assert str(caught.value).endswith(f"did you mean `{meant}`?")


def test_other_kinds_of_numbers():
    """Whole numbers also as 2.0 and numpy's; several also as arrays."""
    for one in (3, 3.0, np.int64(3), np.float64(3), np.array(3), np.uint8(3)):
        assert (whole("x", one, 0, 5), number("x", one)) == (3, 3.0)
    two: Any = 2.0
    plain = nandlab.ecc_curve(BCH, rber=[0.008, 0.01], levels=2, max_frames=100)
    given: Any = {"levels": two, "seed": 1.0, "max_frames": np.int64(100)}
    assert nandlab.ecc_curve(BCH, rber=np.array([0.008, 0.01]), **given).rows() == plain.rows()
    made = ldpc.make(64, 4, 10, column_weight=3, draws=1, parity_rows=[0, 1, 2])
    shape: Any = (np.int64(64), 4.0, np.int32(10))
    rows: Any = np.array([0, 1, 2])
    assert ldpc.make(*shape, column_weight=np.int64(3), draws=1, parity_rows=rows) == made


def test_a_profile_of_hard_reads(folder: Path):
    """One level alone, as a number."""
    text = nandlab.ecc_profile(BCH, out="hard.toml", levels=0, errors=1, max_frames=100)
    assert text == (folder / "hard.toml").read_text()
    assert re.findall(r"^levels = (\d+)", text, re.M) == ["0"]
