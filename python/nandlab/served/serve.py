"""A drive as a block device: clients connect to a socket, and use it as a disk."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

from nandlab import _core
from nandlab.display.progress import Progress
from nandlab.drive.requests import RequestLog
from nandlab.drive.simulate import (
    MOST_SPANS,
    Source,
    facts_of,
    kept_in,
    metadata,
    preconditioned,
    simulation_of,
)
from nandlab.drive.workload import Plan
from nandlab.given.arguments import as_text, called, flag, named, whole
from nandlab.given.names import names_checked
from nandlab.given.outputs import check_kind, check_outputs
from nandlab.given.refusal import refusal
from nandlab.options.option import among
from nandlab.options.run import TIMELINE_SPANS
from nandlab.options.serve import NVME_PORT, SOCKET, ServiceOptions
from nandlab.process.interrupt import Stop
from nandlab.process.memory import memory_limit_bytes
from nandlab.served.requests import columns
from nandlab.served.server import Server
from nandlab.served.store import Claim

if TYPE_CHECKING:
    from typing_extensions import Unpack


@dataclass(frozen=True)
class Address:
    """Address of a server: the path of a socket, a port, or both."""

    socket: Path | None
    port: int | None
    is_open: bool

    @classmethod
    def of(
        cls, socket: object, port: object, listen_anywhere: object, *, is_nvme: bool = False
    ) -> Address:
        """The checked address; where nothing is given, a socket in this folder or NVMe's port."""
        is_open = flag("listen_anywhere", listen_anywhere)
        if is_nvme and port is None:
            port = NVME_PORT
        elif port is None and socket is None:
            socket = SOCKET
        if socket is not None and not isinstance(socket, str | PathLike):
            raise refusal("socket", repr(socket), "the path of a socket")
        if socket is not None and port is not None and not is_nvme:
            raise refusal("", "a socket and a port", hint="give only one of them")
        if port is None and is_open:
            raise refusal("", "listen_anywhere without port", hint="give a port too")
        path = None if socket is None else Path(fspath(socket))
        return cls(path, None if port is None else whole("port", port, 0, 65535), is_open)


@dataclass(frozen=True)
class Service:
    """How a drive is served, checked."""

    address: Address
    store: Path | None
    record: Path | None
    given: ServiceOptions

    def begin(
        self,
        source: Source,
        precondition: str,
        simulation: Callable[[Plan], _core.Simulation],
        end: Callable[[_core.Simulation], object] | None = None,
    ) -> Server:
        """Preconditions the drive, and begins to serve it."""
        given, progress = self.given, self.given["progress"]
        what = Plan("clients", str(self.address.socket or self.address.port), precondition)
        is_logged, requests_path = kept_in("requests", given["requests"])
        if requests_path is not None:
            check_kind("requests", requests_path, [".parquet"])
        inputs = [*source.files, *([] if self.store is None else [self.store])]
        outputs = {"requests": requests_path, "record": self.record, **(given["outputs"] or {})}
        check_outputs(outputs, inputs)
        facts = facts_of(source.name, source.sets, source.loaded, what)
        begun = simulation(what)
        start = perf_counter()
        with Stop() as stop:
            if not preconditioned(begun, stop, progress):
                raise KeyboardInterrupt
        precondition_wall_s = perf_counter() - start
        if is_logged:
            begun.keep_requests()
        if given["explain"]:
            begun.keep_blame()
        if given["timeline"]:
            begun.keep_timeline(given["timeline_spans"] or TIMELINE_SPANS, 0)
        native, claim = self._native(begun, end)
        log = None
        if is_logged:
            about = {**metadata(facts), "clock": given["clock"]}
            log = RequestLog(requests_path, about, columns(explain=given["explain"]))
        return Server(
            begun,
            native,
            source.loaded,
            facts,
            clock=given["clock"],
            integrity=given["integrity"],
            log=log,
            has_timeline=given["timeline"],
            has_blame=given["explain"],
            precondition_wall_s=precondition_wall_s,
            files=[Path(file) for file in (*inputs, *outputs.values()) if file is not None],
            end=end,
            record=self.record,
            claim=claim,
        )

    def _native(
        self, begun: _core.Simulation, end: Callable[[_core.Simulation], object] | None
    ) -> tuple[_core.Server, Claim | None]:
        """The server of a simulation, with its hold on the file of its bytes.

        One that is refused gives its drive back.
        """
        claim = None if self.store is None else Claim(self.store, is_shared=self.given["readonly"])
        try:
            if claim is not None:
                claim.take()
            native = _core.Server(
                begun,
                self.given["protocol"],
                None if self.address.socket is None else str(self.address.socket),
                self.address.port,
                self.address.is_open,
                None if self.store is None else str(self.store),
                self.given["clock"],
                self.given["integrity"],
                None if self.record is None else str(self.record),
                self.given["readonly"],
                memory_limit_bytes(),
            )
            if claim is not None:
                # The engine may have made the file.
                try:
                    claim.take()
                except _core.NandlabError:
                    native.stop(begun)
                    raise
            return native, claim
        except _core.NandlabError:
            if claim is not None:
                claim.release()
            if end is not None:
                end(begun)
            raise


def service(**given: Unpack[ServiceOptions]) -> Service:
    """How a drive is to be served, from all of its options."""
    called("progress", given["progress"])
    given["timeline"] = flag("timeline", given["timeline"])
    given["readonly"] = flag("readonly", given["readonly"])
    given["explain"] = flag("explain", given["explain"])
    if given["timeline_spans"] is not None:
        whole("timeline_spans", given["timeline_spans"], 1, MOST_SPANS)
    protocol = named("protocol", given["protocol"], "nbd or nvme")
    as_text("clock", given["clock"], "fast, real or scaled=K")
    as_text("integrity", given["integrity"], "model or exact")
    store, record = given["store"], given["record"]
    address = Address.of(
        given["socket"], given["port"], given["listen_anywhere"], is_nvme=protocol == "nvme"
    )
    return Service(
        address,
        None if store is None else Path(fspath(store)),
        None if record is None else Path(fspath(record)),
        given,
    )


@names_checked
def serve(
    drive: str | PathLike[str] | Mapping[str, Any],
    *,
    set: Mapping[str, object] | Sequence[str] = (),
    seed: int | None = None,
    scale: str | float | None = None,
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
    progress: Callable[[Progress], object] | None = None,
    outputs: Mapping[str, Path | None] | None = None,
    precondition: str | None = None,
) -> Server:
    """Serves a drive as a network block device (NBD) or an NVMe drive, which clients use as a disk.

    ::

        with nandlab.serve("tiny", socket="tiny.sock", clock="fast") as server:
            subprocess.run(["nbdinfo", server.uri])

    Args:
        drive: preset, file or tables, as for `nandlab.run`.
        set: As for `nandlab.run`.
        seed: As for `nandlab.run`.
        scale: As for `nandlab.run`.
        protocol: Protocol of the clients: ``nbd`` (network block device) or ``nvme`` (NVMe over
            TCP).
        socket: Path of the socket of NBD; only this user may connect to it. Beside NVMe hosts at a
            port, NBD clients use the same drive. Left out: nandlab.sock; NVMe: none.
        port: TCP port, only for this machine; 0 chooses a free port. Left out, NBD has a socket
            instead, and NVMe port 4420.
        listen_anywhere: Lets other machines connect too, without password or encryption.
        store: File for the bytes of the drive; created if missing. Two servers may share a file
            only if both are `readonly`. Left out: memory.
        clock: When a request is answered: at its simulated time, K times as late, or at once.
            ``real``, ``scaled=10`` (the drive is ten times slower) or ``fast`` (simulated time
            advances with the requests).
        integrity: model: a model decides which reads fail; exact: bytes are encoded and decoded.
            ``exact``: a program encodes the bytes, and a read returns the output of the decoder; it
            needs ``ecc.model = "exact"``.
        readonly: Clients may not write.
        record: Trace of all client requests, which `nandlab run` replays; .gz and .zst are
            compressed. It is a fio I/O log. It also has ageing, power cuts and exchanges, which a
            replay repeats.
        requests: As for `nandlab.run`.
        timeline_spans: As for `nandlab.run`.
        explain: As for `nandlab.run`.
        timeline: Timeline of requests and flash operations, as JSON for ui.perfetto.dev. True keeps
            it: `Result.timeline` writes it.
        progress: As for `nandlab.run`.
        outputs: As for `nandlab.run`.
        precondition: State of the drive before serving; its data read as zeros. ``none``, ``fill``,
            ``steady`` or ``rested``, as for `nandlab.run`. Left out: none.

    Returns:
        The server, which is under way.

    Raises:
        NandlabError: an input is refused; a zoned drive over NBD; a socket, a port or a
            store that is taken.
        KeyboardInterrupt: Ctrl-C while the drive is preconditioned.
    """
    how = service(**among(ServiceOptions, locals()))
    source = Source.of(drive, set, seed, scale=scale)
    state = "none" if precondition is None else precondition
    return how.begin(source, state, lambda what: simulation_of(source.loaded, what))
