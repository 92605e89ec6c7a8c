"""Server: a drive that clients use as a disk, until it is stopped."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from os import PathLike
from pathlib import Path
from time import perf_counter
from types import TracebackType
from typing import Any

from nandlab import _core
from nandlab.catalogue import Config
from nandlab.drive.blame import Blame
from nandlab.drive.exchange import WAYS
from nandlab.drive.requests import RequestLog
from nandlab.drive.result import Result
from nandlab.drive.simulate import result_of
from nandlab.given.arguments import named, number, whole
from nandlab.given.outputs import check_outputs
from nandlab.process.memory import peak_rss_mb
from nandlab.report import read
from nandlab.report.tables import Device, Exchange
from nandlab.served.requests import rows
from nandlab.served.store import Claim
from nandlab.trace.recording import Command, append


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
    power: str
    """``on``, ``off``, or ``starting up``."""
    exchange: Exchange | None
    """The last exchange of a die, with the keys of the report's ``exchange``."""
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
        integrity: str,
        log: RequestLog | None,
        has_timeline: bool,
        has_blame: bool,
        precondition_wall_s: float,
        files: Sequence[Path],
        end: Callable[[_core.Simulation], object] | None,
        record: Path | None = None,
        claim: Claim | None = None,
    ) -> None:
        self._simulation, self._native = simulation, native
        self._loaded, self._facts = loaded, facts
        self._how = {"clock": clock, "integrity": integrity}
        self._log, self._end = log, end
        self._has_timeline, self._has_blame = has_timeline, has_blame
        self._precondition_wall_s, self._start = precondition_wall_s, perf_counter()
        self._files, self._record, self._claim = files, record, claim
        self._commands: list[Command] = []
        self._result: Result | None = None
        self._has_ended = False

    def __repr__(self) -> str:
        state = "ended" if self._has_ended else f"at {self.uri}"
        return f"<server of {self._facts['drive']}: {state}>"

    @property
    def uri(self) -> str:
        """Its address, as clients name it: ``nbd+unix:///?socket=nandlab.sock``."""
        return self.uris[0]

    @property
    def uris(self) -> tuple[str, ...]:
        """All of its addresses: of a drive with NVMe hosts and NBD clients, that of NVMe first."""
        return tuple(self._native.uris)

    def status(self) -> ServerStatus:
        """How it is doing.

        Raises:
            NandlabError: it has ended.
        """
        facts = self._native.status()
        exchange = json.loads(facts["exchange"])
        return ServerStatus(**{**facts, "exchange": exchange and Exchange.of(exchange)})

    def measures(self) -> dict[str, Any]:
        """All that `nandlab ctl top` shows, since it began: the keys of `status`, and others.

        ``counts`` has the counts of the time series by their names, ``bytes`` and ``latency_ns``
        the completed requests by operation, ``late_ns`` the lateness of answers. Latencies are
        buckets 0.1 % wide: highest latency and number. ``oldest_hours`` is the age of the oldest
        data in any block, ``wall_s`` the time since the server began.

        Raises:
            NandlabError: it has ended.
        """
        told = {**asdict(self.status()), **json.loads(self._native.measures())}
        return {**told, "wall_s": perf_counter() - self._start}

    @property
    def native(self) -> _core.Server:
        """The server of the engine, for who looks on."""
        return self._native

    def notes(self) -> list[str]:
        """Lines for the user since the last call: clients that were dropped, and why."""
        return self._native.notes()

    def cut(self) -> None:
        """Cuts the power of the drive: clients are cut off, and nothing under way is answered.

        New clients wait until `restore` has been called and the drive has started up.

        Raises:
            NandlabError: a drive without recovery (``recovery.name``), or one that is off.
        """
        self._command("cut", self._native.cut)

    def restore(self) -> None:
        """Gives the drive its power back: it starts up, in simulated time.

        Raises:
            NandlabError: a drive whose power has not been cut.
        """
        self._command("restore", self._native.restore)

    def age(self, hours: float) -> None:
        """Lets hours pass at once for what is stored, as on a shelf: nothing is refreshed.

        Raises:
            NandlabError: hours below 0, or more than 100 years.
        """
        given = number("hours", hours)
        self._command("age", lambda: self._native.age(given), f"{given:.12g}")

    def exchange(
        self,
        die: int,
        *,
        way: str = "in_service",
        pe_cycles: int = 0,
    ) -> None:
        """Begins to exchange a die; `status` says how far that is.

        With the clock ``fast`` it goes on while clients ask for something.

        Args:
            die: its number: 0 is the first one of channel 0, 1 that of channel 1, and so on.
            way: ``in_service``, beside the clients, or ``suspended``: requests wait meanwhile.
            pe_cycles: program/erase cycles of the new chip.

        Raises:
            NandlabError: no such die or way, a drive that cannot exchange it (its FTL, its
                recovery, its spare), or one that exchanges another die.
        """
        number_of = whole("exchange.die", die, 0, 2**32 - 1)
        cycles = whole("exchange.pe_cycles", pe_cycles, 0, 2**32 - 1)
        chosen = named("exchange.way", way, " or ".join(WAYS))
        begin = self._native.exchange
        value = str(number_of)
        value += "" if chosen == WAYS[0] else f",{chosen}"
        value += f",pe_cycles={cycles}" if cycles else ""
        self._command("exchange", lambda: begin(number_of, chosen, cycles), value)

    def fail_die(self, die: int) -> None:
        """Lets a die fail: what it held is rebuilt from the others (``parity.pages``).

        Args:
            die: its number: 0 is the first one of channel 0, 1 that of channel 1, and so on.

        Raises:
            NandlabError: no such die, one that has failed already, a drive without parity, or one
                whose other dies have no room for its data.
        """
        number_of = whole("fail_die", die, 0, 2**32 - 1)
        self._command("fail_die", lambda: self._native.fail_die(number_of), str(number_of))

    def _command(self, name: str, done: Callable[[], object], value: str = "") -> None:
        """Does something that is no request, which the recording is to have too."""
        before_ns = self._native.status()["now_ns"]
        done()
        # Without a clock the drive has started up by then.
        is_before = name == "restore"
        now_ns = before_ns if is_before else self._native.status()["now_ns"]
        self._commands.append(Command(now_ns, name, value))

    def snapshot(self, path: str | PathLike[str]) -> None:
        """Saves the drive with its bytes to a file, and goes on.

        Requests that are under way are answered first, and the drive comes to rest: the data of
        its buffer go to flash, and collection under way ends. Requests that come meanwhile wait.
        `nandlab.Drive.load(path)` and ``nandlab nbd --from`` give the drive back, and serve the
        bytes as they were.

        Raises:
            NandlabError: a drive that is off or starts up, or exchanges a die; a file that cannot
                be written, or that the drive or the server uses.
        """
        file = Path(named("path", path))
        check_outputs({"snapshot": file}, self._files)
        self._native.snapshot(str(file))

    def save_requests(self) -> None:
        """Moves the requests that are complete to where they are kept: from time to time."""
        if self._log is not None:
            self._log.add(rows(self._native.take_requests()))

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
        self._has_ended = True
        try:
            device = json.loads(self._native.stop(self._simulation))
        except BaseException:
            if self._log is not None:
                self._log.discard()
            raise
        finally:
            if self._claim is not None:
                self._claim.release()
        if self._record is not None:
            append(self._record, self._commands)
        wall_s = perf_counter() - self._start
        if self._log is not None:
            # The last of them were answered when their threads ended.
            self._log.add(rows(self._native.take_requests()))
        kept = self._log.close() if self._log is not None else None
        report = read(self._simulation.report(wall_s, peak_rss_mb()))
        report.device = Device.of({"uri": self.uri, **self._how, **device})
        report.sim.begun, report.sim.interrupted = True, False
        report.sim.precondition_wall_s = self._precondition_wall_s
        self._result = result_of(
            self._simulation,
            report,
            self._loaded,
            self._facts,
            own=report,
            requests=kept,
            has_timeline=self._has_timeline,
            blame=Blame.of(self._simulation) if self._has_blame else None,
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
        # Where `stop` has failed, that is the error to see.
        if not self._has_ended:
            self.stop()
