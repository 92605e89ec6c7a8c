"""Profiles of codes: measured failures and iterations for drives."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from nandlab import _core
from nandlab._core import NandlabError
from nandlab.ecc.codec import codec, sorted_sets
from nandlab.ecc.curve import Goal, soft_levels
from nandlab.given.arguments import called, named, path_of, seeded
from nandlab.given.names import names_checked
from nandlab.given.outputs import check_outputs
from nandlab.given.refusal import refusal
from nandlab.given.replacement import write_text
from nandlab.given.toml import parse_toml
from nandlab.process.interrupt import Stop

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

UNFINISHED = ".unfinished"
"""Suffix of the file of an unfinished profile."""


class ProfileUnfinished(KeyboardInterrupt):
    """Ctrl-C ended a profile early. The same call resumes the file `kept`."""

    def __init__(self, kept: Path | None, rates: int) -> None:
        super().__init__("interrupted")
        self.kept = kept
        """None if no rate is kept: before the first rate, or if `out` is a pipe."""
        self.rates = rates
        """Of which anything is known."""


@names_checked
def ecc_profile(
    code: str | PathLike[str],
    *,
    out: str | PathLike[str],
    levels: ArrayLike = (0, 2, 4),
    errors: int = 100,
    max_frames: int = 1_000_000,
    threads: int | None = None,
    seed: int = 1,
    decoder: str | None = None,
    set: Mapping[str, object] | Sequence[str] = (),
    progress: Callable[[int, float, int, int], object] | None = None,
) -> str:
    """Measures the profile of a code and its decoder on the channel ``awgn``, and writes its file.

    Rates are chosen by themselves, from where nearly every codeword fails down to where none of
    `max_frames` does, and on to where iterations are few. The format is described in
    docs/formats/curve.md. What is measured lies in the file `out` with ``.unfinished`` behind its
    name until it is whole; the same call goes on with it, on any number of threads, and ends in the
    same file as one that was never stopped. A file `out` that this call would not write is refused.

    Args:
        code: code preset or file.
        out: the file, by custom ``params/codes/NAME.profile.toml``.
        levels: extra references of soft reads: 0 is a hard read, 2 one soft read.
        errors: failed codewords that are enough for a rate.
        max_frames: codewords that are enough.
        threads: default: one for each processor.
        seed: of data and errors.
        decoder: another than that of the code's file.
        set: ``decoder.…`` or ``code.…`` by their path.
        progress: called with extra references, rate, codewords and failures until now.

    Returns:
        The text of the file.

    Raises:
        NandlabError: an input that is refused, or a file `out` of another call, whole or not.
        ProfileUnfinished: Ctrl-C; the measured rates are kept.
        OSError: a file cannot be read or written.
    """
    code, path = named("code", code), path_of("out", out)
    called("progress", progress)
    is_file = path.is_file() or not path.exists()
    kept = path.with_name(path.name + UNFINISHED) if is_file else None
    check_outputs({"out": path, "out (unfinished)": kept}, [code])
    goal = Goal(errors, max_frames, threads)
    seed, several = seeded(seed), sorted({*soft_levels(levels)})
    sets = sorted_sets(set, ("decoder", "code"))
    all_sets = sets["code"] + sets["decoder"]
    one = codec(code, decoder=decoder, set=all_sets)
    used = f"--errors {goal.errors} --max-frames {goal.max_frames}"
    used += f" --levels {','.join(map(str, several))}"
    other = [f"--decoder {decoder}"] if decoder is not None else []
    other += [f"--set {text}" for text in all_sets]
    command = " ".join(["nandlab ecc profile --code", one.name, used, *other])
    survey = one.native.survey(
        one.name, "awgn", several, goal.errors, goal.max_frames, goal.threads, seed, command
    )
    for file in (path, kept) if kept is not None else ():
        if file.exists():
            survey.go_on(_profile_text(file), str(file))
    is_whole = False
    try:
        with Stop() as stop:

            def watch(level: int, rber: float, frames: int, failed: int) -> bool:
                if progress is not None:
                    progress(level, rber, frames, failed)
                return not stop.asked

            while not (is_whole or stop.asked):
                is_whole = not survey.advance(watch)
                _keep(survey, kept)
    except KeyboardInterrupt:
        pass
    finally:
        _keep(survey, kept)
    if not is_whole:
        raise ProfileUnfinished(kept if survey.rates() else None, survey.rates())
    text = survey.text()
    write_text(path, text)
    if kept is not None:
        kept.unlink(missing_ok=True)
    return text


def _profile_text(path: Path) -> str:
    """The text of a profile, complete or not; other files are not resumed or overwritten."""
    text = path.read_text(encoding="utf-8", errors="replace")
    try:
        tables = parse_toml(text, str(path))
    except NandlabError:
        tables = {}
    if not {"hash", "measured_with", "level"} <= tables.keys():
        raise refusal(
            "out",
            f"{path} exists and is not a profile",
            "a new file, or the profile that the same command wrote",
        )
    return text


def _keep(survey: _core.Survey, kept: Path | None) -> None:
    """Writes the measured rates; the old file stays until the new one is complete."""
    if kept is not None and survey.rates():
        write_text(kept, survey.text())
