"""A drive as a block device: clients connect to a socket, and use it as a disk."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path
from time import perf_counter
from types import TracebackType
from typing import Any

from nandlab import _core
from nandlab.catalogue import Config
from nandlab.display.progress import Progress
from nandlab.drive.requests import RequestLog
from nandlab.drive.result import Result
from nandlab.drive.simulate import (
    MOST_SPANS,
    TIMELINE_SPANS,
    Source,
    facts_of,
    kept_in,
    metadata,
    preconditioned,
    result_of,
    simulation_of,
)
from nandlab.drive.workload import Plan
from nandlab.given.arguments import called, flag, whole
from nandlab.given.outputs import check_kind, check_outputs
from nandlab.given.refusal import refusal
from nandlab.process.interrupt import Stop
from nandlab.process.memory import memory_limit_bytes, peak_rss_mb

SOCKET = "nandlab.sock"
"""Where a server listens if nothing else is said."""

CLOCK = "real"


@dataclass(frozen=True)
class Address:
    """Where a server listens: at the path of a socket, or at a port."""

    socket: Path | None
    port: int | None
    is_open: bool

    @classmethod
    def of(cls, socket: object, port: object, listen_anywhere: object) -> Address:
        """The checked address; a socket in this folder where nothing is given."""
        is_open = flag("listen_anywhere", listen_anywhere)
        if socket is not None and port is not None:
            raise refusal("", "a socket and a port", hint="give only one of them")
        if port is None:
            if is_open:
                raise refusal("", "listen_anywhere without port", hint="give a port too")
            if socket is not None and not isinstance(socket, str | PathLike):
                raise refusal("socket", repr(socket), "the path of a socket")
            return cls(Path(fspath(socket) if socket is not None else SOCKET), None, False)
        return cls(None, whole("port", port, 0, 65535), is_open)


@dataclass(frozen=True)
class ServerStatus:
    """How a server is doing."""

    clients: int
    """Clients that are connected."""
    under_way: int
    """Their requests that are under way."""
    completed: int
    """Requests of the drive that are complete."""
    now_ns: int
    """Simulated time in ns."""
    failed: int
    """Requests of clients that have failed."""
    write_amplification: float
    reclaimed_blocks: int
    """Blocks that garbage collection has freed."""
    late_answers: int
    """Answers that were more than 50 us later than their time."""
    has_failed: bool
    """The drive cannot go on: `stop` tells why."""


class Server:
    """A drive that is served until `stop`, or until the ``with`` that it is used in ends.

    Clients are served by threads of their own, whatever Python does.
    """

    def __init__(
        self,
        simulation: _core.Simulation,
        native: _core.Server,
        loaded: Config,
        facts: dict[str, Any],
        *,
        clock: str,
        log: RequestLog | None,
        has_timeline: bool,
        precondition_wall_s: float,
        end: Callable[[_core.Simulation], object] | None,
    ) -> None:
        self._simulation, self._native = simulation, native
        self._loaded, self._facts, self._clock = loaded, facts, clock
        self._log, self._has_timeline, self._end = log, has_timeline, end
        self._precondition_wall_s, self._start = precondition_wall_s, perf_counter()
        self._result: Result | None = None

    @property
    def uri(self) -> str:
        """Its address, as clients name it: ``nbd+unix:///?socket=nandlab.sock``."""
        return self._native.uri

    def status(self) -> ServerStatus:
        """How it is doing.

        Raises:
            NandlabError: it has ended.
        """
        return ServerStatus(**self._native.status())

    def notes(self) -> list[str]:
        """Lines for the user since the last call: clients that were dropped, and why."""
        return self._native.notes()

    def save_requests(self) -> None:
        """Moves the requests that are complete to where they are kept: from time to time."""
        if self._log is not None:
            self._log.add(self._native.take_requests())

    def stop(self) -> Result:
        """Takes no more requests, answers those that are under way, and ends.

        Returns:
            The result of all that clients have asked for, as that of a run. Its report has the key
            ``device``.

        Raises:
            NandlabError: the drive, or the file of its bytes, has failed.
        """
        if self._result is not None:
            return self._result
        self.save_requests()
        try:
            device = json.loads(self._native.stop(self._simulation))
        except BaseException:
            if self._log is not None:
                self._log.discard()
            raise
        wall_s = perf_counter() - self._start
        if self._log is not None:
            self._log.add(self._simulation.take_requests())
        kept = self._log.close() if self._log is not None else None
        report = json.loads(self._simulation.report(wall_s, peak_rss_mb()))
        report["device"] = {"uri": self.uri, "clock": self._clock, **device}
        report["sim"] |= {
            "begun": True,
            "interrupted": False,
            "precondition_wall_s": self._precondition_wall_s,
        }
        self._result = result_of(
            self._simulation,
            report,
            self._loaded,
            self._facts,
            requests=kept,
            has_timeline=self._has_timeline,
            blame=None,
        )
        if self._end is not None:
            self._end(self._simulation)
        return self._result

    def __enter__(self) -> Server:
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        self.stop()


@dataclass(frozen=True)
class Service:
    """How a drive is served, checked."""

    address: Address
    store: Path | None
    clock: str
    readonly: bool
    record: Path | None
    requests: bool | str | PathLike[str]
    timeline: bool
    timeline_spans: int | None
    progress: Callable[[Progress], object] | None
    outputs: Mapping[str, Path | None]

    def begin(
        self,
        source: Source,
        precondition: str,
        simulation: Callable[[Plan], _core.Simulation],
        end: Callable[[_core.Simulation], object] | None = None,
    ) -> Server:
        """Preconditions the drive, and begins to serve it."""
        what = Plan("clients", str(self.address.socket or self.address.port), precondition)
        is_logged, requests_path = kept_in("requests", self.requests)
        if requests_path is not None:
            check_kind("requests", requests_path, [".parquet"])
        check_outputs(
            {"requests": requests_path, "record": self.record, **self.outputs}, source.files
        )
        facts = facts_of(source.name, source.sets, source.loaded, what)
        begun = simulation(what)
        start = perf_counter()
        with Stop() as stop:
            if not preconditioned(begun, stop, self.progress):
                raise KeyboardInterrupt
        precondition_wall_s = perf_counter() - start
        if is_logged:
            begun.keep_requests()
        if self.timeline:
            begun.keep_timeline(self.timeline_spans or TIMELINE_SPANS, 0)
        native = _core.Server(
            begun,
            None if self.address.socket is None else str(self.address.socket),
            self.address.port,
            self.address.is_open,
            None if self.store is None else str(self.store),
            self.clock,
            None if self.record is None else str(self.record),
            self.readonly,
            memory_limit_bytes(),
        )
        log = RequestLog(requests_path, metadata(facts)) if is_logged else None
        return Server(
            begun,
            native,
            source.loaded,
            facts,
            clock=self.clock,
            log=log,
            has_timeline=self.timeline,
            precondition_wall_s=precondition_wall_s,
            end=end,
        )


def service(
    *,
    socket: str | PathLike[str] | None = None,
    port: int | None = None,
    listen_anywhere: bool = False,
    store: str | PathLike[str] | None = None,
    clock: str = CLOCK,
    readonly: bool = False,
    record: str | PathLike[str] | None = None,
    requests: bool | str | PathLike[str] = False,
    timeline: bool = False,
    timeline_spans: int | None = None,
    progress: Callable[[Progress], object] | None = None,
    outputs: Mapping[str, Path | None] | None = None,
) -> Service:
    """How a drive is to be served; see `serve` for the arguments."""
    called("progress", progress)
    flag("timeline", timeline)
    if timeline_spans is not None:
        whole("timeline_spans", timeline_spans, 1, MOST_SPANS)
    if not isinstance(clock, str):
        raise refusal("clock", repr(clock), "fast, real or scaled=K")
    return Service(
        Address.of(socket, port, listen_anywhere),
        None if store is None else Path(fspath(store)),
        clock,
        flag("readonly", readonly),
        None if record is None else Path(fspath(record)),
        requests,
        timeline,
        timeline_spans,
        progress,
        outputs or {},
    )


def serve(
    drive: str | PathLike[str] | Mapping[str, Any],
    *,
    set: Mapping[str, object] | Sequence[str] = (),
    precondition: str = "none",
    seed: int | None = None,
    socket: str | PathLike[str] | None = None,
    port: int | None = None,
    listen_anywhere: bool = False,
    store: str | PathLike[str] | None = None,
    clock: str = CLOCK,
    readonly: bool = False,
    record: str | PathLike[str] | None = None,
    requests: bool | str | PathLike[str] = False,
    timeline: bool = False,
    timeline_spans: int | None = None,
    progress: Callable[[Progress], object] | None = None,
    outputs: Mapping[str, Path | None] | None = None,
) -> Server:
    """Serves a drive as a network block device (NBD), which clients use as a disk.

    ::

        with nandlab.serve("tiny", socket="tiny.sock", clock="fast") as server:
            subprocess.run(["nbdinfo", server.uri])

    Args:
        drive: preset, file or tables, as for `nandlab.run`.
        set: parameters to change.
        seed: of every random stream.
        precondition: ``none``, ``fill``, ``steady`` or ``rested``, as for `nandlab.run`. What the
            drive holds then reads as zeros.
        socket: path of the socket (``nandlab.sock``); only this user may connect to it.
        port: TCP port instead, of this machine alone; 0 is one that is free.
        listen_anywhere: other machines may connect too. There is no password and no encryption.
        store: file that keeps the bytes; it is made where it is missing. Left out, they are kept in
            memory.
        clock: ``real``: a request is answered when its simulated time has come. ``scaled=10``: the
            drive is ten times as slow. ``fast``: answers come at once, and simulated time is kept.
        readonly: clients may not write.
        record: trace of all that clients ask for, which `nandlab.run` replays: one of fio's I/O
            logs; ``.gz`` and ``.zst`` are compressed.
        requests: keeps every request for `Result.requests`, as for `nandlab.run`.
        timeline: keeps spans for `Result.timeline`.
        timeline_spans: how many spans are kept (200,000).
        progress: called while the drive is preconditioned.
        outputs: files that the caller will write afterwards, as for `nandlab.run`.

    Returns:
        The server, which is under way.

    Raises:
        NandlabError: an input is refused; a zoned drive; a socket or port that is taken.
        KeyboardInterrupt: Ctrl-C while the drive is preconditioned.
    """
    how = service(
        socket=socket,
        port=port,
        listen_anywhere=listen_anywhere,
        store=store,
        clock=clock,
        readonly=readonly,
        record=record,
        requests=requests,
        timeline=timeline,
        timeline_spans=timeline_spans,
        progress=progress,
        outputs=outputs,
    )
    source = Source.of(drive, set, seed)
    return how.begin(source, precondition, lambda what: simulation_of(source.loaded, what))
