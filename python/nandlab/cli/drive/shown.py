"""Who looks on at a command: pages of ``--live``, and the recording of ``--html``."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from time import sleep
from types import TracebackType
from typing import TYPE_CHECKING, Annotated

import typer

from nandlab import _core
from nandlab.cli.files import Files
from nandlab.display.terminal import say
from nandlab.process.interrupt import Stop
from nandlab.process.onlooker import Onlooker

if TYPE_CHECKING:
    from nandlab.window.live import Pages, Recorder, Watched
    from nandlab.window.server import PageServer

Live = Annotated[
    bool, typer.Option("--live", help="Shows it in the browser, at the address that is printed.")
]


class Shown:
    """Onlookers of a run, while it is entered."""

    def __init__(
        self,
        about: tuple[str, str],
        *,
        is_live: bool,
        html: Path | None = None,
        kind: str = "run",
    ) -> None:
        self._about, self._is_live, self._html, self._kind = about, is_live, html, kind
        self._ends = ExitStack()
        self._pages: Pages | None = None
        self._recorder: Recorder | None = None
        self._server: PageServer | None = None
        self._watched: Watched | None = None

    def __enter__(self) -> Shown:
        # The server and its library are imported by those who want them.
        from nandlab.window.assets import carried
        from nandlab.window.live import REFUSED, About, Pages, Recorder

        about = About(*self._about)
        if self._is_live:
            from nandlab.window.desk import Desk
            from nandlab.window.server import PageServer

            desk = Desk()
            self._pages = Pages(desk, about)
            server = PageServer(desk, carried(), kind=self._kind, refused=REFUSED)
            self._server = self._ends.enter_context(server)
            say(f"window at {server.url}")
        if self._html is not None:
            self._recorder = Recorder(about)
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        self._ends.close()

    @property
    def onlooker(self) -> Onlooker | None:
        """All of them as one; None where nobody looks on."""
        from nandlab.window.live import All

        both = [one for one in (self._pages, self._recorder) if one is not None]
        return All(*both) if both else None

    def wait(self, native: _core.Server, wait_s: float) -> None:
        """Waits beside a served drive; pages look at it meanwhile."""
        if self._pages is None:
            sleep(wait_s)
            return
        from nandlab.window.live import About, Watched

        if self._watched is None:
            self._watched = Watched(native, About(*self._about))
        self._pages.wait(self._watched, wait_s)

    def write(self, files: Files, title: str) -> None:
        """Writes the recording."""
        if self._recorder is None or (recorded := self._recorder.packed()) is None:
            return
        from nandlab.given.replacement import write_text
        from nandlab.window.assets import carried
        from nandlab.window.html import one_file

        text = one_file(carried(), title=title, recorded=recorded)
        files.write(self._html, lambda path: write_text(path, text))

    def stay(self) -> None:
        """Lets pages that are open look on after the run, until they go or Ctrl-C."""
        if self._pages is None or self._server is None or not self._server.pages:
            return
        say("the run is over; its window stays until its pages are closed (Ctrl-C ends)")
        server = self._server
        with Stop() as stop:
            self._pages.stay(lambda: stop.asked or not server.pages)
