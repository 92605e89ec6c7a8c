"""A drive as an object: preconditioned once, cloned, saved, aged, and run again and again."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from nandlab import _core
from nandlab.catalogue import config_of
from nandlab.display.progress import Meter, Progress
from nandlab.drive.exchange import Exchange
from nandlab.drive.power import start_up
from nandlab.drive.result import Result
from nandlab.drive.simulate import MOST_REPLICATES, Source, ready_arrays, simulate
from nandlab.drive.workload import Plan, plan
from nandlab.ftl.bases import Ftl, PageHooks
from nandlab.ftl.given import given_ftl
from nandlab.given.arguments import called, flag, named, number, whole
from nandlab.given.names import names_checked
from nandlab.given.outputs import check_outputs
from nandlab.given.refusal import refusal
from nandlab.options.option import among, filled
from nandlab.options.run import DriveRunOptions, PlanOptions, SimulatedOptions
from nandlab.options.serve import ServiceOptions
from nandlab.options.trace import TraceOptions
from nandlab.process.interrupt import Stop
from nandlab.process.memory import memory_limit_bytes
from nandlab.process.onlooker import Onlooker
from nandlab.report import tables
from nandlab.trace.options import native_options

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from typing_extensions import Unpack

    from nandlab.served.serve import Service
    from nandlab.served.server import Server


class PeCycles(NamedTuple):
    """Program/erase cycles over blocks."""

    min: int
    mean: float
    max: int


class Refreshed(NamedTuple):
    """Work of refresh and patrol while hours passed at once."""

    blocks: int = 0
    units: int = 0
    erases: int = 0
    patrol_reads: int = 0


class Reclaimed(NamedTuple):
    """Work of read reclaim while a host read all data over and over."""

    blocks: int = 0
    units: int = 0
    erases: int = 0
    page_reads: int = 0


#: Passes of reads between two looks at the keyboard.
PASSES_AT_ONCE = 64


class Zone(NamedTuple):
    """A zone of a zoned drive."""

    state: str
    """`empty`, `implicitly open`, `explicitly open`, `closed`, `full`, `read only`, `offline`."""
    start_bytes: int
    """Its first byte on the drive."""
    pointer_bytes: int
    """Bytes from its start to the write pointer."""
    written_bytes: int
    """Bytes that the host has written: fewer than that where the zone was finished."""
    capacity_bytes: int
    """Bytes that it takes."""


class Drive:
    """A drive between runs.

    A run changes its drive: wear, age and stored data carry over to the next one. A clone is
    another drive in the same state, so that one preconditioning serves many runs::

        drive = nandlab.Drive("tiny", set={"ftl.overprovisioning": 0.2})
        drive.precondition("steady")
        fresh = drive.clone().run(job)
        drive.age(hours=8760)
        old = drive.clone().run(job)
        drive.save("old.nldrive")
        same = nandlab.Drive.load("old.nldrive").run(job)

    The first run on a drive, on a clone of it, or on one that was saved and loaded equals
    `nandlab.run` with the same ``precondition``, to the bit.

    Args:
        drive: name of a preset, path of a TOML file, or a mapping of its tables.
        set: parameters to change, as for `nandlab.run`.
        seed: seed of every random stream; goes before the drive's.
        scale: share of the drive that is simulated, as for `nandlab.run`.
        ftl: an FTL in Python, as for `nandlab.run`. A clone of the drive has a deep copy of it.

    Raises:
        NandlabError: a drive, an assignment or an FTL that is refused.
    """

    def __init__(
        self,
        drive: str | PathLike[str] | Mapping[str, Any],
        *,
        set: Mapping[str, object] | Sequence[str] = (),
        seed: int | None = None,
        scale: str | float | None = None,
        ftl: type[Ftl | PageHooks] | Ftl | PageHooks | None = None,
    ) -> None:
        source = Source.of(drive, set, seed, ftl, scale=scale)
        is_named = ftl is None and not isinstance(drive, Mapping)
        self._begin(source, _core.Drive(source.loaded.native, memory_limit_bytes()), "none")
        self._is_new = is_named

    def _begin(self, source: Source, native: _core.Drive, state: str) -> None:
        self._source, self._native, self._state = source, native, state
        self._refreshed, self._reclaimed = Refreshed(), Reclaimed()
        # Made from a name and not used since: so it can be made again.
        self._is_new = False

    def __repr__(self) -> str:
        """The call that makes it, or else its preset or file and how it was preconditioned."""
        name, sets = self._source.name, self._source.sets
        if self._is_new:
            return f"Drive({name!r}{f', set={sets!r}' if sets else ''})"
        changed = f", {', '.join(sets)}" if sets else ""
        return f"<drive {name}{changed}; precondition: {self._state}>"

    @property
    def capacity_bytes(self) -> int:
        """Bytes that a host sees."""
        return self._native.capacity_bytes()

    @property
    def files(self) -> list[Path]:
        """The files that it was made from."""
        return self._source.files

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
        self._state, self._is_new = state, False
        meter = Meter("precondition", progress)
        with Stop() as stop:
            while not self._native.advance():
                if stop.asked:
                    raise KeyboardInterrupt
                meter.tell(*self._native.progress())
        meter.tell(*self._native.progress(), last=True)
        return self

    def clone(self) -> Drive:
        """A copy of the drive with its data, wear and age."""
        drive = Drive.__new__(Drive)
        drive._begin(self._source, self._native.clone(), self._state)
        drive._refreshed, drive._reclaimed = self._refreshed, self._reclaimed
        drive._is_new = self._is_new
        return drive

    def save(self, path: str | PathLike[str]) -> Drive:
        """Writes the drive to a file: its configuration, and all that a clone would have.

        Only the version of nandlab that wrote the file reads it. An old file of this name stays as
        it was until the new one is complete.

        Returns:
            The drive itself.

        Raises:
            NandlabError: a file that cannot be written, or one that the drive was made from; a
                drive whose preconditioning was interrupted, or whose FTL is a Python object
                without the methods ``saved`` and ``restore``.
        """
        file = Path(named("path", path))
        check_outputs({"path": file}, self.files)
        self._native.save(str(file))
        return self

    @classmethod
    def load(
        cls,
        path: str | PathLike[str],
        *,
        ftl: type[Ftl | PageHooks] | Ftl | PageHooks | None = None,
    ) -> Drive:
        """Reads a drive that `save` wrote.

        Args:
            path: of the file.
            ftl: the FTL in Python that the drive was saved with, if it was.

        Raises:
            NandlabError: no such file, no saved drive, one of another version of nandlab, or one
                that was cut short or changed.
        """
        name = named("path", path)
        own = None if ftl is None else given_ftl(ftl)
        native = _core.Drive.load(name, memory_limit_bytes(), own and own.native())
        drive = cls.__new__(cls)
        source = Source(name, [], config_of(native.config()))
        drive._begin(source, native, native.preconditioned_to())
        return drive

    @names_checked
    def age(
        self,
        *,
        hours: float | None = None,
        cycles: int | None = None,
        read_passes: int | None = None,
        request_bytes: int = 16384,
        powered: bool = True,
        progress: Callable[[Progress], object] | None = None,
    ) -> Drive:
        """Ages the drive: by time that passes at once, by writes, or by reads.

        Args:
            hours: everything that is stored is older by these. Where the drive refreshes old data
                (``refresh.after_hours``, ``refresh.rber``), it does so in these hours, without
                time: `refreshed` tells how much, and `pe_cycles` its wear.
            powered: False for a drive on a shelf, which refreshes nothing; what is old by then is
                rewritten in its next run, in the background.
            cycles: what the drive holds is overwritten at random, without time, until its blocks
                have this many more P/E cycles on average. Blocks wear, and their programs
                and erases fail as in a run. It ends early where that leaves a drive that takes no
                more writes (`is_read_only`). ``age.pe_cycles`` sets the cycles of a new drive
                at once.
            read_passes: all that the drive holds is read this many times, without time. Reads
                disturb their blocks; read reclaim (``gc.reclaim_reads``) and the limit of bit
                errors (``refresh.rber``) move data as they do in a run. `reclaimed` tells how
                much.
            request_bytes: size of a request of these reads. Each page that a request touches
                is one read of its block.
            progress: called about ten times a second with the erases or passes done and wanted.

        Returns:
            The drive itself.

        Raises:
            NandlabError: none or several of hours, cycles and read passes are given; hours below
                0, or more than 100 years; cycles for a drive without data; a request that is no
                whole units.
            KeyboardInterrupt: Ctrl-C; the drive has the age that it has got until then.
        """
        given = {"hours": hours, "cycles": cycles, "read_passes": read_passes}
        names = [name for name, value in given.items() if value is not None]
        if len(names) != 1:
            problem = " and ".join(names) or "nothing to age by"
            raise refusal("age", problem, hint=f"give one of {', '.join(given)}")
        if read_passes is not None:
            passes = whole("read_passes", read_passes, 0, 10**6)
            return self._read(passes, whole("request_bytes", request_bytes, 1, 2**20), progress)
        if cycles is not None:
            return self._wear(whole("cycles", cycles, 0, 10**6), progress)
        self._is_new = False
        done = self._native.age(number("hours", hours), flag("powered", powered))
        self._refreshed = Refreshed(*map(sum, zip(self._refreshed, done, strict=True)))
        return self

    @property
    def refreshed(self) -> Refreshed:
        """Work of refresh and patrol in all hours that have passed at once (`age`)."""
        return self._refreshed

    @property
    def reclaimed(self) -> Reclaimed:
        """Work of read reclaim in all passes of reads that have gone by at once (`age`)."""
        return self._reclaimed

    def _read(
        self, passes: int, request_bytes: int, progress: Callable[[Progress], object] | None
    ) -> Drive:
        called("progress", progress)
        self._is_new = False
        meter = Meter("age", progress)
        done = 0
        with Stop() as stop:
            while done < passes:
                if stop.asked:
                    raise KeyboardInterrupt
                step = min(PASSES_AT_ONCE, passes - done)
                work = self._native.age_by_reads(step, request_bytes)
                self._reclaimed = Reclaimed(*map(sum, zip(self._reclaimed, work, strict=True)))
                done += step
                meter.tell(done, passes)
        meter.tell(done, passes, last=True)
        return self

    def _wear(self, cycles: int, progress: Callable[[Progress], object] | None) -> Drive:
        called("progress", progress)
        self._is_new = False
        ageing = self._native.age_by_writes(cycles)
        meter = Meter("age", progress)
        with Stop() as stop:
            while not ageing.advance(self._native):
                if stop.asked:
                    raise KeyboardInterrupt
                meter.tell(*ageing.progress())
        meter.tell(*ageing.progress(), last=True)
        return self

    def cut(self) -> tables.Cut:
        """Cuts the power: memory is gone, and what is on flash stays. `recover` starts it up.

        A cut in the middle of a run is `run` with ``cut_at``.

        Raises:
            NandlabError: a drive without recovery (``recovery.name``), or one that is off.
        """
        self._is_new = False
        return tables.Cut.of(json.loads(self._native.cut()))

    def recover(self, *, progress: Callable[[Progress], object] | None = None) -> tables.Started:
        """Gives the drive its power back, and lets it start up.

        Returns:
            What that took: the time to ready, and the pages read.

        Raises:
            NandlabError: a drive whose power has not been cut.
            KeyboardInterrupt: Ctrl-C; the next call goes on.
        """
        called("progress", progress)
        with Stop() as stop:
            started = start_up(self._native.recover, stop, progress)
        if started is None:
            raise KeyboardInterrupt
        return started

    @property
    def pe_cycles(self) -> PeCycles:
        """Program/erase cycles of the blocks in use."""
        return PeCycles(*self._native.pe_cycles())

    @property
    def block_cycles(self) -> NDArray[np.uint32]:
        """Program/erase cycles of each block, those out of use too, by number."""
        return self._native.block_cycles()

    def zones(self) -> list[Zone]:
        """Its zones, in order; an empty list for a drive without.

        >>> zoned = nandlab.Drive("tiny", set={"ftl.name": "zoned", "ftl.max_active_zones": 4})
        >>> zoned.zones()[0].state
        'empty'
        """
        known = self._native.zones()
        if known is None:
            return []
        zones, first, stride, capacity, unit = known
        return [
            Zone(state, first + number * stride, pointer * unit, written * unit, capacity)
            for number, (state, pointer, written) in enumerate(zones)
        ]

    @property
    def is_read_only(self) -> bool:
        """Whether it takes no more writes: a block has failed, and none was left for it."""
        return self._native.is_read_only()

    @names_checked
    def run(
        self,
        workload: str | PathLike[str] | None = None,
        *,
        trace: str | PathLike[str] | None = None,
        format: str | None = None,
        trace_options: TraceOptions | None = None,
        iodepth: int | None = None,
        skip: str | None = None,
        until: str | None = None,
        tenants: bool | None = None,
        progress: Callable[[Progress], object] | None = None,
        outputs: Mapping[str, Path | None] | None = None,
        requests: bool | str | PathLike[str] = False,
        timeline_spans: int | None = None,
        explain: bool = False,
        timeline: bool | str | PathLike[str] = False,
        timeline_from: float | Literal["slowest"] = 0.0,
        cut_at: float | None = None,
        replicates: int | None = None,
        workers: int | None = None,
        exchange: Exchange | str | None = None,
        fail_die: str | None = None,
        onlooker: Onlooker | None = None,
        is_last: bool = False,
    ) -> Result:
        """Runs a workload on this drive, and leaves it as the run has left it.

        Arguments and errors are those of `nandlab.run`. Time begins at zero in every run. Jobs go
        on with their random numbers: a run does not repeat the addresses of the one before. A run
        that is interrupted takes its drive with it: keep a clone. After a run with `is_last` the
        drive is of no use, which saves a copy of its tables.
        """
        given = {**locals(), "precondition": self._state}
        what = plan(self._source.name, self._source.loaded.run, **among(PlanOptions, given))
        flag("is_last", is_last)
        return simulate(
            self._source,
            what,
            lambda: self._simulation(what, self._native),
            end=None if is_last else self._take_back,
            probe=lambda: self._simulation(what, self._native.clone()),
            **among(SimulatedOptions, given),
        )

    def run_replicate(self, number: int, **given: Unpack[DriveRunOptions]) -> Result:
        """Runs a workload on this drive for the last time, as one replicate of it.

        Number 0 is the run itself. With ``replicates`` of `run` all of them run together.
        """
        self._native.become_replicate(whole("number", number, 0, MOST_REPLICATES))
        return self.run(is_last=True, **given)

    def _simulation(self, what: Plan, native: _core.Drive) -> _core.Simulation:
        """A drive under what is planned; from now on it is no new one."""
        self._is_new = False
        ready_arrays()
        options = native_options(what.format, what.options)
        return _core.Simulation.on(native, what.kind, what.path, options, what.iodepth)

    def _take_back(self, simulation: _core.Simulation) -> None:
        """Leaves the drive as a simulation has left it."""
        simulation.give_back(self._native)

    def serve(
        self,
        *,
        protocol: str = "nbd",
        socket: str | PathLike[str] | None = None,
        port: int | None = None,
        listen_anywhere: bool = False,
        store: str | PathLike[str] | None = None,
        clock: str = "real",
        integrity: str = "model",
        readonly: bool = False,
        record: str | PathLike[str] | None = None,
        requests: bool | str | PathLike[str] = False,
        timeline_spans: int | None = None,
        explain: bool = False,
        timeline: bool = False,
    ) -> Server:
        """Serves this drive over NBD or NVMe: the server, which is under way.

        Arguments and errors are those of `nandlab.serve`. The drive is in use until the server has
        ended, which leaves it as its clients have left it.
        """
        from nandlab.served.serve import service

        return self.serve_as(service(**filled(ServiceOptions, locals())))

    def serve_as(self, how: Service, *, is_last: bool = False) -> Server:
        """The same with checked arguments; as the last use of the drive where it `is_last`."""
        return how.begin(
            self._source,
            self._state,
            lambda what: self._simulation(what, self._native),
            None if is_last else self._take_back,
        )
