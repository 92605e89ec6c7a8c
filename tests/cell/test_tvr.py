"""Threshold voltage reduction: the paper's figures, its laws, and what is refused."""

from pathlib import Path
from statistics import NormalDist

import pytest
from conftest import carries

import nandlab
from nandlab.endurance.tvr import MLC_RULE, MU_V, SIGMA_V, PageRule, VoltageLaw, coupling_shift_v


def test_the_printed_distances():
    """Wang 2014, section 5.2: 1.40; 0.36 (1, 4, 5); 0.34 (2, 3)."""
    result = nandlab.tvr()
    assert [round(v, 2) for v in result.below_v] == [1.40, 0.34, 0.36]
    assert [round(v, 2) for v in result.above_v] == [0.36, 0.34, 0.36]


def test_the_printed_steps():
    """Section 5.3: 22 and 16 become 11 and 8, half the time."""
    result = nandlab.tvr()
    assert [(p.name, p.steps, p.reduced_steps) for p in result.pages] == [
        ("MSB", 22, 11),
        ("LSB", 16, 8),
    ]
    assert (result.steps, result.reduced_steps, result.program_time_change) == (19, 9.5, -0.5)


def test_the_printed_lives():
    """Section 5.4: 12.469e5 becomes 13.35e5, 7.1 % more."""
    result = nandlab.tvr()
    assert round(result.pe_cycles / 1e5, 3) == 12.469
    assert round(result.reduced_pe_cycles / 1e5, 2) == 13.35
    assert round(100 * result.life_change, 1) == 7.1


def test_the_printed_coupling():
    """Section 2.3: 2 V less of 5.4 V are 37 % less."""
    before, after = (coupling_shift_v(0.02, 0.006, swing) for swing in (5.4, 3.4))
    assert round(before, 3) == 0.173
    assert round(100 * (after / before - 1)) == -37


def test_pages_err_exactly_at_the_limit():
    """The three steps undone: tails of the reduced states at its references add up to the limit."""
    limit = 1e-3
    result = nandlab.tvr(rber_limit=limit)
    tail = NormalDist()
    for page in MLC_RULE:
        rber = 0.0
        for i in page.references:
            for state in (i, i + 1):
                way = abs(result.references_v[i] - result.reduced_mu_v[state])
                rber += tail.cdf(-way / SIGMA_V[state]) / len(MU_V)
        assert rber == pytest.approx(limit, rel=1e-9)


def test_the_law_and_its_inverse_agree():
    law = VoltageLaw()
    cycles = law.pe_cycles(2.658, 4.5e-4)
    assert law.errors(2.658, cycles) == pytest.approx(4.5e-4 * 16384, rel=1e-9)
    assert law.errors(2.658, 0) == 0.0


def test_a_way_of_whole_steps_takes_no_step_more():
    """Ten steps of 1.14 times 0.2 V are 2.28 V; the least more takes an eleventh."""
    for way, steps in ((2.28, 10), (2.28 + 1e-6, 11)):
        result = nandlab.tvr((-1.14, 0.0, way - 1.14, way), (0.1,) * 4)
        assert result.pages[0].steps == steps


def test_another_cell():
    """Three bits: seven references, 1-2-4."""
    rule = [
        PageRule("lower", (3,), ((0, 4),)),
        PageRule("middle", (1, 5), ((0, 2),)),
        PageRule("upper", (0, 2, 4, 6), ((0, 1),)),
    ]
    result = nandlab.tvr(range(-2, 6), [0.1] * 8, rule=rule)
    assert len(result.references_v) == 7
    assert all(a < b for a, b in zip(result.reduced_mu_v, result.reduced_mu_v[1:], strict=False))
    assert "upper page, steps" in str(result)


def test_names_of_pages_are_explained_where_they_mislead():
    """The paper calls the page that is programmed first MSB."""
    carries(nandlab.tvr(), "lower page MSB", "upper page LSB")
    renamed = [MLC_RULE[0]._replace(name="lower"), MLC_RULE[1]._replace(name="upper")]
    assert "MSB" not in str(nandlab.tvr(rule=renamed))


def test_what_is_said_of_reduced_levels_below_zero_helps():
    narrow = [0.1085] * 4
    for change in (
        {"mu_v": (-1.0, 1.29, 2.658, 4.03), "sigma_v": narrow},
        {"sigma_v": (0.4217, *narrow[1:])},
        {"sigma_v": narrow, "rber_limit": 1e-20},
    ):
        assert nandlab.tvr(**change).reduced_pe_cycles > 0


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        ({"mu_v": (0, 2, 1, 3)}, ["mu_v", "order"]),
        ({"mu_v": (0, 1, 2)}, ["3 means", "4 deviations"]),
        ({"sigma_v": (0.1, 0.1, 0.1, 0)}, ["sigma_v"]),
        ({"rber_limit": 0}, ["rber_limit"]),
        ({"rber_limit": 0.3}, ["below 0.25"]),
        ({"rule": MLC_RULE[:1]}, ["reference", "0 to 2"]),
        ({"step_v": -1}, ["step_v"]),
        ({"step_v": 1e-320}, ["step_v = 9.99989e-321"]),
        ({"mu_v": "abc"}, ["mu_v: 'abc'", "number"]),
        ({"sigma_v": 0.1}, ["4 means", "1 deviations"]),
        ({"sigma_v": (0.42, 0.35, 0.35, 0.35)}, ["no margin"]),
        ({"beta": float("nan")}, ["beta"]),
        ({"coupling_wordline": 2}, ["coupling_wordline"]),
        ({"mu_v": (-9, -7, -5, -3)}, ["programmed levels", "-5.00 V"]),
        ({"sigma_v": [0.1085] * 4}, ["reduced", "-0.85 V"]),
    ],
)
def test_refusals(arguments: dict[str, object], parts: list[str]):
    with pytest.raises(nandlab.NandlabError) as caught:
        nandlab.tvr(**arguments)
    message = carries(caught.value, *parts)
    assert any(word in message for word in ("expected: ", "hint: "))


def test_picture(tmp_path: Path):
    figure = nandlab.tvr().plot(tmp_path / "tvr.png")
    assert (tmp_path / "tvr.png").stat().st_size > 10_000
    assert [axes.get_ylabel() for axes in figure.axes] == ["density (1/V)"] * 2
    assert figure.axes[1].get_xlabel() == "threshold voltage (V)"
