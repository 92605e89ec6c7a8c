"""Control of a server from outside: one line of JSON asks, one line answers.

Whoever asks with ``GET /metrics`` is answered by HTTP, as Prometheus wants it.
"""

from __future__ import annotations

import json
import os
import socket
import tempfile
import threading
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import Any

from nandlab._core import NandlabError
from nandlab.given.refusal import refusal
from nandlab.served.measures import prometheus
from nandlab.served.server import Server

COMMANDS = (
    "status",
    "top",
    "metrics",
    "cut",
    "restore",
    "age HOURS",
    "exchange DIE",
    "fail_die DIE",
    "snapshot FILE",
)
"""What can be asked for."""

_LONGEST = 65536
_LONGEST_ANSWER = 1 << 24
_PATIENCE_S = 5.0


class Control:
    """While it is entered, a socket of its own takes commands, for this user."""

    def __init__(self, server: Server, path: Path) -> None:
        self._server, self._path = server, path
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._thread = threading.Thread(target=self._serve, name="nandlab control", daemon=True)
        self._has_ended = threading.Event()

    def __enter__(self) -> Control:
        # Nobody else can find it before it has its mode.
        with tempfile.TemporaryDirectory(prefix=".nandlab-", dir=self._path.parent) as folder:
            inside = Path(folder) / "s"
            self._socket.bind(str(inside))
            inside.chmod(0o600)
            self._socket.listen()
            inside.replace(self._path)
        self._socket.settimeout(0.1)
        self._thread.start()
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        self._has_ended.set()
        self._thread.join()
        self._socket.close()
        self._path.unlink(missing_ok=True)

    def _serve(self) -> None:
        while not self._has_ended.is_set():
            try:
                client, _ = self._socket.accept()
            except TimeoutError:
                continue
            with client:
                client.settimeout(_PATIENCE_S)
                try:
                    client.sendall(self._answered(client))
                except OSError:
                    # It has gone, or says nothing.
                    continue

    def _answered(self, client: socket.socket) -> bytes:
        line = _line(client)
        if not line.startswith(b"GET "):
            return json.dumps(self._answer(line)).encode() + b"\n"
        path = line.split()[1:2]
        return _http(prometheus(self._server.measures()) if path == [b"/metrics"] else None)

    def _answer(self, line: bytes) -> dict[str, Any]:
        try:
            words = json.loads(line)
            return {"status": self._do(words)}
        except NandlabError as error:
            return {"error": str(error)}
        except (ValueError, TypeError, KeyError):
            return {"error": "control: no command; expected: JSON with a list of words"}

    def _do(self, words: list[str]) -> dict[str, Any]:
        match words:
            case ["cut"]:
                self._server.cut()
            case ["restore"]:
                self._server.restore()
            case ["age", hours]:
                self._server.age(_hours(hours))
            case ["exchange", die, way, pe_cycles]:
                self._server.exchange(_whole(die), way=way, pe_cycles=_whole(pe_cycles))
            case ["fail_die", die]:
                self._server.fail_die(_whole(die, "fail_die"))
            case ["snapshot", path]:
                self._server.snapshot(path)
            case ["status"]:
                pass
            case ["measures"]:
                return self._server.measures()
            case _:
                raise refusal("control", f"`{' '.join(map(str, words))}`", ", ".join(COMMANDS))
        return asdict(self._server.status())


def _hours(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise refusal("age", f"`{text}`", "a number of hours") from None


def _whole(text: str, place: str = "exchange") -> int:
    try:
        return int(text)
    except ValueError:
        raise refusal(place, f"`{text}`", "a whole number") from None


def _http(text: str | None) -> bytes:
    """An answer by HTTP: a text of Prometheus, or that there is none."""
    status, body = ("200 OK", text) if text is not None else ("404 Not Found", "/metrics\n")
    content = body.encode()
    head = (
        f"HTTP/1.0 {status}\r\nContent-Type: text/plain; version=0.0.4\r\n"
        f"Content-Length: {len(content)}\r\n\r\n"
    )
    return head.encode() + content


def _line(connection: socket.socket, longest: int = _LONGEST) -> bytes:
    """Bytes up to the end of a line; the whole head of a request by HTTP."""
    data = b""
    while len(data) < longest:
        end = b"\r\n\r\n" if data.startswith(b"GET ") else b"\n"
        if data.endswith(end):
            break
        more = connection.recv(1 << 16)
        if not more:
            break
        data += more
    return data


def path_of(server_socket: Path) -> Path:
    """The control socket that belongs to the socket of a server.

    Raises:
        NandlabError: the path names none.
    """
    if not server_socket.name:
        raise refusal(str(server_socket), "a folder", "the path of a socket")
    return server_socket.with_name(server_socket.name + ".ctl")


def check_free(name: str, path: Path) -> None:
    """Refuses the place of a control socket where something else is, or where a server listens.

    Raises:
        NandlabError: there is no such folder, another file, or a server.
    """
    _check_system(name)
    if not path.parent.is_dir():
        raise refusal(name, f"no folder {path.parent}", "an existing folder")
    if not os.path.lexists(path):
        return
    if not path.is_socket():
        raise refusal(name, f"{path} is not a socket", hint="name a path that does not exist")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        try:
            connection.connect(os.fspath(path))
        except OSError:
            # A server has left it behind.
            return
    raise refusal(name, f"a server listens at {path}", hint="name another path")


def _check_system(name: str) -> None:
    """Refuses a control socket where the system has none.

    Raises:
        NandlabError: so.
    """
    if not hasattr(socket, "AF_UNIX"):
        raise refusal(name, "not supported: sockets of the file system on Windows")


def ask(server_socket: Path, words: list[str]) -> dict[str, Any]:
    """Asks the server at a socket for something: how it is doing after that.

    Args:
        server_socket: of the server, whose control socket lies beside it; or a control socket.
        words: the command.

    Raises:
        NandlabError: no server, or one that refuses.
    """
    _check_system(str(server_socket))
    beside = path_of(server_socket)
    path = server_socket if server_socket.is_socket() and not beside.exists() else beside
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        try:
            connection.connect(os.fspath(path))
            connection.sendall(json.dumps(words).encode() + b"\n")
            answer = json.loads(_line(connection, _LONGEST_ANSWER))
        except (OSError, ValueError) as error:
            hint = "start one with `nandlab nbd --socket`, or with --control"
            raise refusal(str(path), f"no server answers: {error}", hint=hint) from None
    if "error" in answer:
        raise NandlabError(answer["error"])
    status: dict[str, Any] = answer["status"]
    return status
