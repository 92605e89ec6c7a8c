"""The served window: who gets what, what a page can do, and what nobody can."""

from __future__ import annotations

import http.client
import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from urllib.parse import urlsplit

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, connect

from nandlab.window import server as server_of
from nandlab.window.counts import sections
from nandlab.window.desk import Closed, Desk
from nandlab.window.opened import MOST_OWN
from nandlab.window.protocol import MOST_REQUESTS, Requests, Room
from nandlab.window.server import MOST_BYTES, MOST_PAGES, PageServer
from tests.waiting import until
from tests.window.faked import HELLO, Fake

PAGE = {"index.html": b"<!doctype html>", "app.js": b"//", "view/drive.js": b"//", "secret.py": b""}


class Served:
    """A server with a fake drive, whose thread works at the desk."""

    def __init__(self, **given: object) -> None:
        self.fake, self.desk = Fake(), Desk()
        self.server = PageServer(self.desk, PAGE, **given)  # type: ignore[arg-type]
        self._is_over = threading.Event()
        self._worker = threading.Thread(target=self._work)

    def _work(self) -> None:
        while not self._is_over.is_set():
            self.desk.work(self.fake, 0.01)

    def __enter__(self) -> Served:
        self.server.__enter__()
        self._worker.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._worker.join()
        self.server.__exit__(None, None, None)

    @property
    def port(self) -> int:
        return urlsplit(self.server.url).port or 0

    @property
    def token(self) -> str:
        return urlsplit(self.server.url).fragment.removeprefix("token=")

    def get(self, path: str, method: str = "GET", **headers: str) -> http.client.HTTPResponse:
        asked = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        asked.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        for name, value in {"Host": f"127.0.0.1:{self.port}", **headers}.items():
            asked.putheader(name, value)
        asked.endheaders()
        answer = asked.getresponse()
        answer.content = answer.read()  # type: ignore[attr-defined]
        asked.close()
        return answer

    @contextmanager
    def socket(
        self, origin: str | None = None, host: str | None = None
    ) -> Iterator[ClientConnection]:
        here = f"127.0.0.1:{self.port}"
        with connect(
            f"ws://{here}/window",
            origin=f"http://{host or here}" if origin is None else origin,  # type: ignore[arg-type]
            additional_headers={} if host is None else {"Host": host},
            compression=None,
            max_size=None,
        ) as page:
            yield page

    @contextmanager
    def page(self, **more: object) -> Iterator[ClientConnection]:
        """A page that has sent the token, and has been greeted."""
        with self.socket() as page:
            page.send(json.dumps({"token": self.token, **more}))
            greeted = json.loads(page.recv(10))
            assert greeted["id"] == 0
            assert greeted["ok"]["hello"] == HELLO
            yield page


@pytest.fixture
def served() -> Iterator[Served]:
    with Served() as one:
        yield one


def asked(page: ClientConnection, method: str, **params: object) -> dict[str, object]:
    """The answer to a call of a page."""
    page.send(json.dumps({"id": 7, "method": method, **params}))
    answer = json.loads(page.recv(10))
    assert answer.pop("id") == 7
    return answer


def test_a_page_gets_its_files_and_nothing_else(served: Served) -> None:
    assert served.get("/").content == PAGE["index.html"]  # type: ignore[attr-defined]
    script = served.get("/view/drive.js")
    assert (script.status, script.headers["Content-Type"]) == (
        200,
        "text/javascript; charset=utf-8",
    )
    for path in (
        "/secret.py",
        "/nothing.js",
        "/../pyproject.toml",
        "/..%2f..%2fetc/passwd",
        "/view/../../app.js",
        "//etc/passwd",
        "/app.js?token=1",
        "http://elsewhere.test/app.js",
        "/" + "a" * 4000,
    ):
        assert served.get(path).status == 404, path


def test_only_questions_are_answered(served: Served) -> None:
    for method in ("POST", "PUT", "OPTIONS", "DELETE"):
        assert served.get("/", method).status == 405
    assert served.get("/").status == 200


def test_every_answer_carries_the_policy(served: Served) -> None:
    for path in ("/", "/app.js", "/nothing.js"):
        headers = served.get(path).headers
        policy = dict(one.split(" ", 1) for one in headers["Content-Security-Policy"].split("; "))
        assert policy["default-src"] == policy["frame-ancestors"] == policy["base-uri"] == "'none'"
        assert policy["script-src"] == "'self' 'wasm-unsafe-eval'"
        assert "unsafe-inline" not in headers["Content-Security-Policy"]
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Referrer-Policy"] == "no-referrer"
        assert headers["Cross-Origin-Resource-Policy"] == "same-origin"
        assert "Access-Control-Allow-Origin" not in headers
        assert "Server" not in headers


def test_a_rebound_name_is_no_name_of_the_window(served: Served) -> None:
    for host in (
        f"evil.test:{served.port}",
        "127.0.0.1",
        f"127.0.0.1:{served.port + 1}",
        f"127.0.0.1.evil.test:{served.port}",
        f"127.0.0.1:{served.port}@evil.test",
        "",
    ):
        assert served.get("/", Host=host).status == 421, host
        with pytest.raises(InvalidStatus), served.socket(host=host):
            pass
    assert served.get("/", Host=f"localhost:{served.port}").status == 200


def test_a_page_from_elsewhere_neither_reads_nor_connects(served: Served) -> None:
    for origin in (
        "http://evil.test",
        f"https://127.0.0.1:{served.port}",
        f"http://localhost:{served.port}",
        f"http://127.0.0.1:{served.port}.evil.test",
        f"http://127.0.0.1:{served.port + 1}",
        "null",
    ):
        assert served.get("/app.js", Origin=origin).status == 403, origin
        with pytest.raises(InvalidStatus) as refused, served.socket(origin):
            pass
        assert refused.value.response.status_code == 403, origin
    # A program without an origin is no page.
    with pytest.raises(InvalidStatus), connect(f"ws://127.0.0.1:{served.port}/window"):
        pass
    assert served.fake.calls == []


def test_without_the_token_nothing_is_answered(served: Served) -> None:
    almost = served.token[:-1] + ("a" if served.token[-1] != "a" else "b")
    for first in (
        json.dumps({"token": almost}),
        json.dumps({"token": ""}),
        json.dumps({"token": None}),
        json.dumps({"token": [served.token]}),
        json.dumps({"token": "\ud800"}),
        json.dumps([served.token]),
        json.dumps({"id": 1, "method": "hello"}),
        "[" * 100_000,
        "",
        b"\x00" * 16,
    ):
        with served.socket() as page:
            page.send(first)
            with pytest.raises(ConnectionClosed) as closed:
                page.recv(10)
            assert closed.value.rcvd is not None
            assert closed.value.rcvd.code == 1008
    assert served.fake.calls == []
    assert served.server.pages == 0


def test_a_token_is_new_each_time_and_long(served: Served) -> None:
    with Served() as other:
        assert other.token != served.token
        assert len(served.token) >= 43
    assert "?" not in served.server.url


def test_who_sends_nothing_is_dropped(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_of, "PATIENCE_S", 0.2)
    with served.socket() as page, pytest.raises(ConnectionClosed):
        page.recv(10)


def test_pages_are_bounded_and_make_room_again(served: Served) -> None:
    with ExitStack() as stack:
        pages = [stack.enter_context(served.page()) for _ in range(MOST_PAGES)]
        with pytest.raises(InvalidStatus) as refused, served.socket():
            pass
        assert refused.value.response.status_code == 503
        pages.pop().close()
        until(lambda: served.server.pages < MOST_PAGES)
        stack.enter_context(served.page())


def test_a_page_calls_and_sees_frames(served: Served) -> None:
    with served.page() as page:
        answer = asked(page, "advance", simulated_ns=1000)
        assert answer["ok"]["now_ns"] == 1000  # type: ignore[index]
        assert "text" in asked(page, "nothing")["error"]  # type: ignore[operator]
        page.send(json.dumps({"id": 9, "method": "frame", "layers": 1}))
        message = page.recv(10)
        assert isinstance(message, bytes)
        assert (message[:4], message[4:8]) == ((9).to_bytes(4, "little"), bytes(4))
        assert message[8:12] == b"NLW1"
        assert b"vald" in message[:100]


def test_no_call_takes_all_the_time(served: Served) -> None:
    with served.page() as page:
        for given in (None, 0, -1, 10**9, "all", True):
            asked(page, "advance", simulated_ns=1, most_requests=given)
            assert served.fake.calls[-1]["most_requests"] == MOST_REQUESTS
        asked(page, "advance", simulated_ns=1, most_requests=5)
        assert served.fake.calls[-1]["most_requests"] == 5


def test_frames_are_bounded_and_shared(served: Served) -> None:
    begin = time.monotonic()
    with ExitStack() as stack:
        pages = [stack.enter_context(served.page()) for _ in range(3)]
        for _ in range(10):
            for page in pages:
                page.send(json.dumps({"id": 1, "method": "frame", "layers": 0}))
            for page in pages:
                page.recv(10)
    took = time.monotonic() - begin
    assert served.fake.frames <= 1 + took * server_of.FRAMES_PER_S


def test_a_page_that_looks_seldom_misses_no_count(served: Served) -> None:
    def reads(page: ClientConnection) -> list[int]:
        page.send(json.dumps({"id": 1, "method": "frame", "layers": 0}))
        message = page.recv(10)
        assert isinstance(message, bytes)
        return sections(message[8:])["rlat"].tolist()

    with served.page() as often, served.page() as seldom:
        reads(seldom)
        first = [reads(often) for _ in range(5)]
        assert all(sum(one) == 2 for one in first[:1])
        assert all(sum(one) == 1 for one in first[1:])
        # Six frames since its last one, among them its own: each counts one read.
        assert sum(reads(seldom)) == 6
        assert sum(reads(seldom)) == 1
        assert sum(reads(often)) == 3
        # Another drive has nothing of the last one.
        asked(often, "build", config={"drive": "tiny"})
        assert json.loads(seldom.recv(10))["event"] == "hello"
        assert sum(reads(seldom)) == 1


def test_frames_that_take_long_are_no_more_often(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    times, quick = list[float](), served.fake.frame

    def slow(layers: int) -> bytes:
        times.append(time.monotonic())
        time.sleep(0.02)
        return quick(layers)

    monkeypatch.setattr(served.fake, "frame", slow)
    with served.page() as page, served.page() as other:
        for _ in range(6):
            page.send(json.dumps({"id": 1, "method": "frame", "layers": 0}))
            time.sleep(0.01)
            other.send(json.dumps({"id": 1, "method": "frame", "layers": 0}))
            page.recv(10)
            other.recv(10)
    # A busy machine puts single frames off.
    assert (times[-1] - times[0]) / (len(times) - 1) > 0.85 / server_of.FRAMES_PER_S


def test_another_page_hears_of_a_new_drive(served: Served) -> None:
    with served.page() as page, served.page() as other:
        for method in ("build", "job", "act"):
            asked(page, method)
            assert json.loads(other.recv(10)) == {"event": "hello", "hello": HELLO}
        page.send(json.dumps({"id": 3, "method": "save"}))
        assert isinstance(page.recv(10), bytes)
        assert json.loads(other.recv(10)) == {"event": "hello", "hello": HELLO}
        # A call that is refused or changes nothing is told to nobody.
        asked(page, "nothing")
        asked(page, "advance", simulated_ns=1)
        with pytest.raises(TimeoutError):
            other.recv(0.1)


def test_a_page_has_a_second_drive_of_its_own() -> None:
    others = [Fake()]
    with Served(another=lambda: others[0]) as served:
        with served.page() as page, served.page(own=True) as own:
            asked(own, "advance", simulated_ns=7)
            asked(page, "build", config={"drive": "tiny"})
            assert asked(own, "advance", simulated_ns=1)["ok"]["now_ns"] == 8  # type: ignore[index]
        assert (served.fake.now_ns, others[0].now_ns) == (0, 8)


def test_drives_of_pages_are_bounded_and_make_room_again() -> None:
    with Served(another=Fake) as served, ExitStack() as stack:
        own = [stack.enter_context(served.page(own=True)) for _ in range(MOST_OWN)]
        with served.socket() as page:
            page.send(json.dumps({"token": served.token, "own": True}))
            with pytest.raises(ConnectionClosed) as closed:
                page.recv(10)
            assert closed.value.rcvd is not None
            assert closed.value.rcvd.code == 1013
        own.pop().close()
        until(lambda: served.server.pages < MOST_OWN)
        stack.enter_context(served.page(own=True))


def test_strangers_that_come_together_are_not_too_many_pages() -> None:
    with Served() as served, ExitStack() as stack:
        for _ in range(MOST_PAGES - 2):
            stack.enter_context(served.page())
        strangers = [stack.enter_context(served.socket()) for _ in range(6)]
        for one in strangers:
            one.send(json.dumps({"token": served.token}))
        ends = list[int]()
        for one in strangers:
            try:
                ends.append(json.loads(one.recv(10))["id"])
            except ConnectionClosed as closed:
                ends.append(closed.rcvd.code if closed.rcvd else -1)
        assert sorted(ends) == [0] * 2 + [1013] * 4
        assert served.server.pages == MOST_PAGES


def test_pieces_of_all_pages_share_their_room() -> None:
    room = Room(1000)
    one, other, refused = Requests(room), Requests(room), Requests(room, keeps_pieces=False)
    head = (4).to_bytes(4, "little")
    for _ in range(100):
        assert refused.of(head + head + bytes(900)) is None
    assert one.of(head + head + bytes(600)) is None
    with pytest.raises(ValueError, match=r"^$"):
        other.of(head + head + bytes(600))
    asked_for = one.of(head + bytes(4) + bytes(300))
    assert asked_for is not None
    assert len(asked_for.content) == 900
    assert other.of(head + head + bytes(900)) is None
    other.drop()
    assert room.left_bytes == 1000


def test_an_interrupt_of_the_worker_does_not_end_the_server() -> None:
    desk, raised = Desk(), KeyboardInterrupt()

    def stopped(_: object) -> None:
        raise raised

    answer = desk.ask(stopped)
    with pytest.raises(KeyboardInterrupt):
        desk.work(Fake())
    assert isinstance(answer.exception(1), Closed)


def test_a_run_has_no_second_drive(served: Served) -> None:
    with served.page(own=True) as page:
        asked(page, "advance", simulated_ns=7)
    assert served.fake.now_ns == 7


def test_a_saved_drive_comes_and_goes(served: Served) -> None:
    with served.page() as page:
        page.send(json.dumps({"id": 3, "method": "save"}))
        saved = page.recv(10)
        assert isinstance(saved, bytes)
        assert saved[8:] == served.fake.save()
        half = len(saved) // 2
        page.send((4).to_bytes(4, "little") + (1).to_bytes(4, "little") + saved[8:half])
        page.send((4).to_bytes(4, "little") + bytes(4) + saved[half:])
        assert json.loads(page.recv(10)) == {"id": 4, "ok": HELLO}
        assert served.fake.loaded == served.fake.save()


def test_messages_are_bounded(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    with served.page() as page:
        page.send(" " * (MOST_BYTES + 1))
        with pytest.raises(ConnectionClosed) as closed:
            page.recv(10)
        assert closed.value.rcvd is not None
        assert closed.value.rcvd.code == 1009
    monkeypatch.setattr(served.server._room, "left_bytes", 1000)
    with served.page() as page:
        page.send((4).to_bytes(4, "little") + (1).to_bytes(4, "little") + bytes(2000))
        with pytest.raises(ConnectionClosed):
            page.recv(10)
    assert served.fake.loaded == b""


NO_REQUESTS: list[str | bytes] = [
    "",
    "[]",
    "{}",
    '{"id": -1}',
    '{"id": 1.5, "method": "hello"}',
    '{"id": true, "method": "hello"}',
    '{"id": 1, "method": "frame"}',
    '{"id": 1, "method": "frame", "layers": "1"}',
    "[" * 100_000,
    b"",
    b"\x01",
]


@pytest.mark.parametrize("message", NO_REQUESTS)
def test_what_is_no_request_ends_its_page_alone(served: Served, message: str | bytes) -> None:
    with served.page() as page, served.page() as other:
        page.send(message)
        with pytest.raises(ConnectionClosed):
            page.recv(10)
        assert asked(other, "hello") == {"ok": HELLO}


def test_a_drive_that_goes_on_by_itself_is_not_driven() -> None:
    refused = ("build", "advance", "save", "load")
    with Served(kind="run", refused=refused) as served, served.page() as page:
        for method in refused[:3]:
            assert asked(page, method)["error"]["key"] == method  # type: ignore[index]
        page.send(bytes(8) + b"saved")
        assert "error" in json.loads(page.recv(10))
        assert [one["method"] for one in served.fake.calls] == ["hello"]


def test_only_this_machine_can_connect(served: Served) -> None:
    others = {info[4][0] for info in socket.getaddrinfo(socket.gethostname(), None)}
    for address in others - {"127.0.0.1", "::1"}:
        if not str(address).startswith("127."):
            with pytest.raises(OSError, match=r".*"):
                socket.create_connection((str(address), served.port), timeout=2)


def test_other_machines_are_asked_by_address_not_by_any_name() -> None:
    gate = server_of.Gate(8000, is_open=True)
    assert gate.admits_host(["192.0.2.1:8000"])
    assert gate.admits_host([f"{socket.gethostname()}:8000"])
    assert not gate.admits_host(["evil.test:8000"])
    assert not gate.admits_host(["192.0.2.1:8000", "192.0.2.1:8000"])


def test_pages_are_told_when_it_is_over() -> None:
    served = Served().__enter__()
    with served.page() as page:
        served.__exit__()
        with pytest.raises(ConnectionClosed) as closed:
            page.recv(10)
    assert closed.value.rcvd is not None
    assert closed.value.rcvd.code == 1001
