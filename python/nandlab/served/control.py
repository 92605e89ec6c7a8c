"""Control of a server from outside: one line of JSON asks, one line answers."""

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
from nandlab.served.server import Server

COMMANDS = ("cut", "restore", "status", "age")
"""What can be asked for."""

_LONGEST = 65536
_PATIENCE_S = 5.0


class Control:
    """While it is entered, a socket beside that of the server takes commands, for this user."""

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
                    answer = self._answer(_line(client))
                    client.sendall(json.dumps(answer).encode() + b"\n")
                except OSError:
                    # It has gone, or says nothing.
                    continue

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
            case ["status"]:
                pass
            case _:
                raise refusal("control", f"`{' '.join(map(str, words))}`", ", ".join(COMMANDS))
        return asdict(self._server.status())


def _hours(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise refusal("age", f"`{text}`", "a number of hours") from None


def _line(connection: socket.socket) -> bytes:
    """What comes up to the end of a line."""
    data = b""
    while not data.endswith(b"\n") and len(data) < _LONGEST:
        more = connection.recv(4096)
        if not more:
            break
        data += more
    return data


def path_of(server_socket: Path) -> Path:
    """The control socket that belongs to the socket of a server."""
    return server_socket.with_name(server_socket.name + ".ctl")


def ask(server_socket: Path, words: list[str]) -> dict[str, Any]:
    """Asks the server at a socket for something: how it is doing after that.

    Raises:
        NandlabError: no server, or one that refuses.
    """
    path = path_of(server_socket)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        try:
            connection.connect(os.fspath(path))
            connection.sendall(json.dumps(words).encode() + b"\n")
            answer = json.loads(_line(connection))
        except (OSError, ValueError) as error:
            hint = "start one with `nandlab nbd --socket`"
            raise refusal(str(path), f"no server answers: {error}", hint=hint) from None
    if "error" in answer:
        raise NandlabError(answer["error"])
    status: dict[str, Any] = answer["status"]
    return status
