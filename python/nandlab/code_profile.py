"""Profiles of codes: failures and iterations as a drive plays them back."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from pathlib import Path

from nandlab import _core
from nandlab.codec import codec, sorted_sets
from nandlab.curve import Goal, check_point
from nandlab.interrupt import Stop
from nandlab.outputs import check_outputs


def ecc_profile(
    code: str | PathLike[str],
    *,
    out: str | PathLike[str],
    levels: Sequence[int] = (0, 2, 4),
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
    docs/formats/curve.md.

    Args:
        code: code preset or file.
        out: the file, by custom ``params/codes/NAME.profile.toml``.
        levels: soft levels.
        errors: failed codewords that are enough for a rate.
        max_frames: codewords that are enough.
        threads: as many as processors where left out.
        seed: of data and errors.
        decoder: another than that of the code's file.
        set: ``decoder.…`` or ``code.…`` by their path.
        progress: called with levels, rate, codewords and failures until now.

    Returns:
        The text of the file.

    Raises:
        NandlabError: an input that is refused.
        KeyboardInterrupt: Ctrl-C; nothing is written then, since half a profile is none.
        OSError: a file cannot be read or written.
    """
    path = Path(out)
    check_outputs({"out": path}, [str(code)])
    goal = Goal(errors, max_frames, threads)
    check_point(levels, seed)
    sets = sorted_sets(set, ("decoder", "code"))
    all_sets = sets["code"] + sets["decoder"]
    one = codec(code, decoder=decoder, set=all_sets)
    used = f"--errors {errors} --max-frames {max_frames} --levels {','.join(map(str, levels))}"
    other = [f"--decoder {decoder}"] if decoder is not None else []
    other += [f"--set {text}" for text in all_sets]
    command = " ".join(["nandlab ecc profile --code", one.name, used, *other])
    with Stop() as stop:

        def watch(level: int, rber: float, frames: int, failed: int) -> bool:
            if progress is not None:
                progress(level, rber, frames, failed)
            return not stop.asked

        try:
            text = one.native.profile(
                one.name,
                "awgn",
                list(levels),
                goal.errors,
                goal.max_frames,
                goal.threads,
                seed,
                command,
                watch,
            )
        except _core.NandlabError:
            if stop.asked:
                raise KeyboardInterrupt from None
            raise
    path.write_text(text, encoding="utf-8")
    return text
