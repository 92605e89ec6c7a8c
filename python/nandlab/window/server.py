"""Server of the window: files of the page, and one WebSocket for each page.

Its loop runs in a thread of its own. What pages ask for is done at the desk, by the thread that has
the drive. The protocol is that of docs/window.md.
"""

from __future__ import annotations

import asyncio
import json
import logging
import socket
import threading
from collections.abc import Callable, Collection
from concurrent.futures import Future
from email.utils import formatdate
from http import HTTPStatus
from types import TracebackType
from typing import NamedTuple, TypeVar

from websockets.asyncio.server import ServerConnection, broadcast, serve
from websockets.datastructures import Headers
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request, Response

from nandlab.given.refusal import refusal
from nandlab.window.assets import Assets, kind_of
from nandlab.window.counts import Sections, counted, join, places_of, sections, time_of
from nandlab.window.desk import Closed, Desk, Looked
from nandlab.window.opened import MOST_OWN
from nandlab.window.protocol import (
    HELLO,
    Asked,
    Requests,
    Room,
    binary,
    done,
    greeting,
    has_changed,
    parsed,
    refusal_of,
)
from nandlab.window.security import Gate, headers, is_token, new_token

PATH = "/window"
"""Of the WebSocket."""

FRAMES_PER_S = 30
"""Most frames a second; pages that want one at the same time share it."""

MOST_PAGES = 16

MOST_STRANGERS = 16
"""Connections that have not sent the token yet."""

MOST_BYTES = 4 << 20
"""Of one message of a page."""

PATIENCE_S = 5.0
"""How long a connection may take to ask, and to send the token."""

_T = TypeVar("_T")

_quiet = logging.getLogger("nandlab.window")
_quiet.addHandler(logging.NullHandler())
_quiet.propagate = False


class PageServer:
    """Serves the window of one drive to pages of this machine, while it is entered."""

    def __init__(
        self,
        desk: Desk,
        page: Assets,
        *,
        port: int = 0,
        is_open: bool = False,
        kind: str = "drive",
        refused: Collection[str] = (),
        another: Callable[[], Looked] | None = None,
    ) -> None:
        """Answers with what is done at the desk.

        Args:
            desk: where the thread with the drive works.
            page: files of the page.
            port: TCP port; 0 chooses a free one.
            is_open: lets other machines connect.
            kind: ``drive``, which pages advance, or ``run`` or ``clients``, which go on by
                themselves.
            refused: methods that pages may not call.
            another: makes a session for a page that wants a drive of its own beside the common one.
        """
        self._desk, self._page = desk, page
        self._port, self._is_open = port, is_open
        self._kind, self._refused = kind, frozenset(refused)
        self._another = another
        self._token = new_token()
        self._gate = Gate(port, is_open)
        self._common = _Shown(desk)
        self._room = Room()
        self._pages: dict[ServerConnection, _Shown] = {}
        self._strangers = 0
        self._started: Future[int] = Future()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._ended: asyncio.Event
        self._thread = threading.Thread(target=self._run, name="window", daemon=True)

    def __enter__(self) -> PageServer:
        self._thread.start()
        try:
            self._port = self._started.result()
        except OSError as error:
            raise refusal(
                "--port", f"{self._port}: {error.strerror}", "a free port, or 0"
            ) from error
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        self._desk.close()
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._ended.set)
        self._thread.join(PATIENCE_S)

    @property
    def url(self) -> str:
        """Address of the page, with the token in its fragment."""
        name = socket.gethostname() if self._is_open else "127.0.0.1"
        return f"http://{name}:{self._port}/#token={self._token}"

    @property
    def pages(self) -> int:
        """Pages that are connected."""
        return len(self._pages)

    def _run(self) -> None:
        asyncio.run(self._serve())

    async def _serve(self) -> None:
        self._ended = asyncio.Event()
        try:
            server = await serve(
                self._meet,
                "0.0.0.0" if self._is_open else "127.0.0.1",
                self._port,
                process_request=self._answer,
                compression=None,
                max_size=MOST_BYTES,
                max_queue=4,
                open_timeout=PATIENCE_S,
                close_timeout=1.0,
                server_header=None,
                logger=_quiet,
            )
        except OSError as error:
            self._started.set_exception(error)
            return
        async with server:
            port = next(iter(server.sockets)).getsockname()[1]
            self._gate = Gate(port, self._is_open)
            self._loop = asyncio.get_running_loop()
            self._started.set_result(port)
            await self._ended.wait()

    def _answer(self, _connection: ServerConnection, request: Request) -> Response | None:
        """A file, a refusal, or None where a WebSocket may begin."""
        hosts = request.headers.get_all("Host")
        if not self._gate.admits_host(hosts):
            return _response(HTTPStatus.MISDIRECTED_REQUEST, "", b"not a name of this window\n")
        [host] = hosts
        if getattr(request, "method", "GET") != "GET":
            return _response(HTTPStatus.METHOD_NOT_ALLOWED, host, b"files are only read\n")
        origins = request.headers.get_all("Origin")
        if request.path == PATH:
            if not self._gate.admits_origin(origins, host):
                return _response(HTTPStatus.FORBIDDEN, host, b"not a page of this window\n")
            if self._strangers >= MOST_STRANGERS or self.pages >= MOST_PAGES:
                return _response(HTTPStatus.SERVICE_UNAVAILABLE, host, b"too many pages\n")
            return None
        if origins and not self._gate.admits_origin(origins, host):
            return _response(HTTPStatus.FORBIDDEN, host, b"not a page of this window\n")
        # The path is a key among the files of the page, and no path of a disk.
        path = "index.html" if request.path == "/" else request.path.removeprefix("/")
        content, kind = self._page.get(path), kind_of(path)
        if content is None or kind is None:
            return _response(HTTPStatus.NOT_FOUND, host, b"no such file\n")
        return _response(HTTPStatus.OK, host, content, kind)

    async def _meet(self, connection: ServerConnection) -> None:
        """Talks to a page, once it has sent the token."""
        self._strangers += 1
        try:
            first = await asyncio.wait_for(connection.recv(), PATIENCE_S)
        except (asyncio.TimeoutError, ConnectionClosed):
            await connection.close(1008, "no token")
            return
        finally:
            self._strangers -= 1
        given = parsed(first)
        if not is_token(given.get("token"), self._token):
            await connection.close(1008, "another token")
            return
        # Strangers that connected at the same time may all have become pages meanwhile.
        another = self._another if given.get("own") is True else None
        own = sum(shown is not self._common for shown in self._pages.values())
        if self.pages >= MOST_PAGES or (another is not None and own >= MOST_OWN):
            await connection.close(1013, "too many pages or drives")
            return
        try:
            shown = self._common if another is None else _Shown(self._desk)
            self._pages[connection] = shown
            shown.unseen[connection] = None
            if another is not None:
                shown.own = await shown.do(lambda _: another())
            await self._talk(connection, shown)
        except Closed:
            await connection.close(1001, "it is over")
        except ConnectionClosed:
            pass
        finally:
            if (left := self._pages.pop(connection, None)) is not None:
                left.unseen.pop(connection, None)

    async def _talk(self, page: ServerConnection, shown: _Shown) -> None:
        """Answers a page that has sent the token, one request after another, until it goes."""
        refused = sorted(self._refused)
        requests = Requests(self._room, "load" not in self._refused)
        try:
            await page.send(await shown.do(lambda looked: greeting(looked, self._kind, refused)))
            async for message in page:
                try:
                    asked = requests.of(message)
                except ValueError:
                    await page.close(1003, "not a request")
                    return
                if asked is None:
                    continue
                is_refused = asked.method in self._refused
                answer = refusal_of(asked) if is_refused else await shown.answer(page, asked)
                await page.send(answer)
                if has_changed(asked, answer):
                    await self._tell_others(page, shown)
        finally:
            requests.drop()

    async def _tell_others(self, page: ServerConnection, shown: _Shown) -> None:
        """Tells the other pages of a drive what there is now."""
        shown.begin()
        others = [one for one, seen in self._pages.items() if seen is shown and one is not page]
        if not others:
            return
        hello = parsed(await shown.do(lambda looked: looked.call(HELLO))).get("ok")
        broadcast(others, json.dumps({"event": "hello", "hello": hello}))


class _Shown:
    """What some pages look at: the session of the desk, or one beside it."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self.own: Looked | None = None
        self.unseen: dict[ServerConnection, _Unseen | None] = {}
        """Counts of the frames that others had, for each page that has not seen them."""

        self._layers = 0
        self._waiting: set[ServerConnection] = set()
        self._next: asyncio.Task[dict[ServerConnection, bytes]] | None = None
        self._last_s = 0.0
        self._places: dict[str, int] = {}
        self._from_ns = 0.0

    async def do(self, job: Callable[[Looked], _T]) -> _T:
        """Has something done at the desk."""
        asked = self._desk.ask(lambda common: job(self.own or common))
        return await asyncio.wrap_future(asked)

    async def answer(self, page: ServerConnection, asked: Asked) -> str | bytes:
        """The answer to a request of a page."""
        if asked.method == "frame":
            return binary(asked, await self._frame(page, asked.params["layers"]))
        return await self.do(lambda looked: done(looked, asked))

    def begin(self) -> None:
        """There is another drive or job: what was not seen of the last one is of no use."""
        self.unseen = dict.fromkeys(self.unseen)
        self._places = {}

    async def _frame(self, page: ServerConnection, layers: int) -> bytes:
        """A frame with at least these layers: one for all pages that wait for one."""
        self._layers |= layers
        self._waiting.add(page)
        if self._next is None:
            self._next = asyncio.create_task(self._take())
        return (await asyncio.shield(self._next))[page]

    async def _take(self) -> dict[ServerConnection, bytes]:
        clock = asyncio.get_running_loop().time
        await asyncio.sleep(max(0.0, self._last_s + 1 / FRAMES_PER_S - clock()))
        layers, self._layers, self._next = self._layers, 0, None
        waiting, self._waiting = self._waiting, set()
        # Who asks while this frame is taken waits from here on.
        self._last_s = clock()
        if not self._places:
            hello = parsed(await self.do(lambda looked: looked.call(HELLO))).get("ok")
            self._places = places_of(hello) if hello else {}
        return self._counted(await self.do(lambda looked: looked.frame(layers)), waiting)

    def _counted(
        self, frame: bytes, waiting: set[ServerConnection]
    ) -> dict[ServerConnection, bytes]:
        """The frame for each page that waits, with what that page has not seen; kept for others."""
        told = dict.fromkeys(waiting, frame)
        of = sections(frame)
        if not self._places or "scal" not in of:
            return told
        now_ns = time_of(of, self._places)
        for page, unseen in self.unseen.items():
            if page in waiting:
                if unseen is not None:
                    whole = bytearray(frame)
                    join(unseen.counts, sections(whole), self._places, unseen.from_ns)
                    told[page] = bytes(whole)
                self.unseen[page] = None
                continue
            # The time of another job begins anew.
            counts, from_ns = counted(of), min(self._from_ns, now_ns)
            if unseen is not None:
                from_ns = unseen.from_ns
                join(unseen.counts, counts, self._places, from_ns)
            self.unseen[page] = _Unseen(counts, from_ns)
        self._from_ns = now_ns
        return told


class _Unseen(NamedTuple):
    """Counts of frames that a page has not seen, and the time at which they begin."""

    counts: Sections
    from_ns: float


def _response(
    status: HTTPStatus, host: str, content: bytes, kind: str = "text/plain; charset=utf-8"
) -> Response:
    """An answer with the headers of all answers."""
    lines = {
        "Date": formatdate(usegmt=True),
        "Connection": "close",
        "Content-Type": kind,
        "Content-Length": str(len(content)),
        **headers(host),
    }
    return Response(status.value, status.phrase, Headers(lines), content)
