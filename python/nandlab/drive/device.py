"""A drive as an object: preconditioned once, cloned, aged, and run again and again."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from os import PathLike

from nandlab import _core
from nandlab.display.progress import Meter, Progress
from nandlab.drive.result import Result
from nandlab.drive.simulate import Source, ready_arrays, simulate
from nandlab.drive.workload import plan
from nandlab.given.arguments import called
from nandlab.given.refusal import refusal
from nandlab.process.interrupt import Stop
from nandlab.process.memory import memory_limit_bytes
from nandlab.trace.options import TraceOptions, native_options


class Drive:
    """A drive between runs.

    A run changes its drive: wear, age and what is stored go on into the next one. A clone is
    another drive in the same state, so that one preconditioning serves many runs::

        drive = nandlab.Drive("tiny", set={"ftl.overprovisioning": 0.2})
        drive.precondition("steady")
        fresh = drive.clone().run(job)
        drive.age(hours=8760)
        old = drive.clone().run(job)

    The first run on a drive, or on a clone of it, equals `nandlab.run` with the same
    ``precondition``, to the bit.

    Args:
        drive: name of a preset, or path of a TOML file.
        set: parameters to change, as for `nandlab.run`.
        seed: seed of every random stream; goes before the drive's.

    Raises:
        NandlabError: a drive or an assignment that is refused.
    """

    def __init__(
        self,
        drive: str | PathLike[str],
        *,
        set: Mapping[str, object] | Sequence[str] = (),
        seed: int | None = None,
    ) -> None:
        source = Source.of(drive, set, seed)
        self._begin(source, _core.Drive(source.loaded.native, memory_limit_bytes()), "none")

    def _begin(self, source: Source, native: _core.Drive, state: str) -> None:
        self._source, self._native, self._state = source, native, state

    def __repr__(self) -> str:
        """Its preset or file, and how it was preconditioned."""
        return f"Drive({self._source.name!r}, precondition={self._state!r})"

    @property
    def capacity_bytes(self) -> int:
        """Bytes that a host sees."""
        return self._native.capacity_bytes()

    def precondition(
        self, state: str, *, progress: Callable[[Progress], object] | None = None
    ) -> Drive:
        """Brings a new drive into a state: ``fill``, ``steady`` or ``rested`` (see `nandlab.run`).

        Returns:
            The drive itself.

        Raises:
            NandlabError: no such state, or a drive that has been written to.
            KeyboardInterrupt: Ctrl-C; the drive is left half done, and of no use.
        """
        called("progress", progress)
        self._native.precondition(state)
        self._state = state
        meter = Meter("precondition", progress)
        with Stop() as stop:
            while not self._native.advance():
                if stop.asked:
                    raise KeyboardInterrupt
                meter.tell(*self._native.progress())
        meter.tell(*self._native.progress(), last=True)
        return self

    def clone(self) -> Drive:
        """The same drive once more: what it stores, its wear, its age."""
        drive = Drive.__new__(Drive)
        drive._begin(self._source, self._native.clone(), self._state)
        return drive

    def age(self, *, hours: float) -> Drive:
        """Lets so many hours pass at once: all that is stored is older by them.

        Returns:
            The drive itself.

        Raises:
            NandlabError: hours below 0, or more than 100 years.
        """
        if isinstance(hours, bool) or not isinstance(hours, int | float):
            raise refusal("hours", f"{hours!r}", "a number of hours")
        self._native.age(float(hours))
        return self

    def run(
        self,
        workload: str | PathLike[str] | None = None,
        *,
        trace: str | PathLike[str] | None = None,
        format: str | None = None,
        trace_options: TraceOptions | None = None,
        iodepth: int | None = None,
        requests: bool | str | PathLike[str] = False,
        timeline: bool | str | PathLike[str] = False,
        timeline_spans: int | None = None,
        progress: Callable[[Progress], object] | None = None,
    ) -> Result:
        """Runs a workload on this drive, and leaves it as the run has left it.

        Arguments and errors are those of `nandlab.run`. Time begins at zero in every run. A run
        that is interrupted takes its drive with it: keep a clone.
        """
        what = plan(
            self._source.name,
            self._source.loaded.run,
            workload=workload,
            trace=trace,
            format=format,
            trace_options=trace_options,
            iodepth=iodepth,
            precondition=self._state,
        )

        def begin() -> _core.Simulation:
            ready_arrays()
            options = native_options(what.format, what.options)
            return _core.Simulation.on(self._native, what.kind, what.source, options, what.iodepth)

        return simulate(
            self._source,
            what,
            begin,
            requests=requests,
            timeline=timeline,
            timeline_spans=timeline_spans,
            progress=progress,
            end=lambda simulation: simulation.give_back(self._native),
        )
