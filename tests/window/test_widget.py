"""The window in a notebook: its page, and the messages between page and kernel."""

from __future__ import annotations

import json
from typing import Any

import pytest

pytest.importorskip("anywidget")

from nandlab.window import widget as widget_of
from nandlab.window.widget import Window
from tests.conftest import refused
from tests.window.faked import HELLO, Fake
from tests.window.test_html import PAGE


class Seen:
    """A widget of a fake drive, and what it has sent."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.fake = Fake()
        self.given: list[object] = []
        self.sent: list[tuple[Any, Any]] = []

        def session_of(*given: object, **more: object) -> Fake:
            self.given += [*given, more]
            return self.fake

        monkeypatch.setattr(widget_of, "session_of", session_of)
        monkeypatch.setattr(widget_of, "carried", lambda: PAGE)
        self.widget = Window("tiny", "jobs.fio", seed=7, height_px=400)
        self.widget.send = lambda content, buffers=None: self.sent.append((content, buffers))

    def take(self, message: dict[str, object], *buffers: bytes) -> tuple[Any, Any] | None:
        """What the widget sends for a message of a view."""
        self.sent.clear()
        self.widget._take(self.widget, message, [memoryview(one) for one in buffers])
        return self.sent[0] if self.sent else None


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> Seen:
    return Seen(monkeypatch)


def test_a_widget_builds_what_it_is_given(seen: Seen) -> None:
    built = {"set": (), "seed": 7, "precondition": "none"}
    assert seen.given == ["tiny", "jobs.fio", built]
    assert seen.widget.height_px == 400


def test_its_page_can_reach_the_cell_alone(seen: Seen) -> None:
    assert "default-src 'none'" in seen.widget.page
    assert "connect-src" not in seen.widget.page
    assert 'name="nandlab-host"' in seen.widget.page
    assert '"sandbox", "allow-scripts"' in Window._esm


def test_messages_are_those_of_a_served_page(seen: Seen) -> None:
    content, _ = seen.take({"view": "a", "text": ""}) or ({}, None)
    assert json.loads(content["text"])["ok"]["hello"] == HELLO
    asked = json.dumps({"id": 3, "method": "advance", "simulated_ns": 5})
    content, _ = seen.take({"view": "a", "text": asked}) or ({}, None)
    answer = json.loads(content["text"])
    assert (content["view"], answer["id"], answer["ok"]["now_ns"]) == ("a", 3, 5)
    frame = json.dumps({"id": 4, "method": "frame", "layers": 1})
    content, buffers = seen.take({"view": "a", "text": frame}) or ({}, [b""])
    assert content == {"view": "a"}
    assert buffers[0][:12] == (4).to_bytes(4, "little") + bytes(4) + b"NLW1"


def test_views_send_saved_drives_apart(seen: Seen) -> None:
    head, last = (1).to_bytes(4, "little"), bytes(4)
    assert seen.take({"view": "a"}, head + (1).to_bytes(4, "little") + b"one") is None
    assert seen.take({"view": "b"}, head + last + b"other") is not None
    assert seen.fake.loaded == b"other"
    assert seen.take({"view": "a"}, head + last + b"two") is not None
    assert seen.fake.loaded == b"onetwo"


def test_what_is_no_request_is_not_answered(seen: Seen) -> None:
    for text in ("{}", "[]", "nothing", '{"id": -1, "method": "hello"}'):
        assert seen.take({"view": "a", "text": text}) is None
    assert seen.take({"view": "a"}, b"short") is None


def test_a_height_that_is_none_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(widget_of, "session_of", lambda *_, **__: Fake())
    monkeypatch.setattr(widget_of, "carried", lambda: PAGE)
    with refused("height_px", 0):
        Window("tiny", height_px=0)
