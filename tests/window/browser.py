"""A page of the window in a browser, with the engine of this process behind it."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from nandlab.window.assets import of_folder
from nandlab.window.desk import Desk
from nandlab.window.opened import empty_session
from nandlab.window.server import PageServer
from tests.conftest import ROOT
from tests.waiting import until

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

DESKTOP, PHONE = (1280, 860), (390, 844)
TABS = ("drive", "time", "why", "build", "cell", "break", "life")


@contextmanager
def chromium() -> Iterator[Browser]:
    """Debian's Chromium; the test is skipped where there is none."""
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    path = shutil.which("chromium") or shutil.which("chromium-browser")
    if path is None:
        pytest.skip("there is no chromium: apt-get install chromium")
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


@contextmanager
def served() -> Iterator[str]:
    """Address of a page with a session of its own."""
    desk, over = Desk(), threading.Event()
    session = empty_session()

    def work() -> None:
        while not over.is_set():
            desk.work(session, 0.01)

    with ExitStack() as stack:
        server = stack.enter_context(
            PageServer(desk, of_folder(ROOT / "web"), another=empty_session)
        )
        worker = threading.Thread(target=work)
        worker.start()
        stack.callback(worker.join)
        stack.callback(over.set)
        yield server.url


class Window:
    """A page, and what its console said."""

    def __init__(self, browser: Browser, url: str, size: tuple[int, int] = DESKTOP) -> None:
        width, height = size
        self.page: Page = browser.new_page(viewport={"width": width, "height": height})
        self.errors: list[str] = []
        self.page.on("console", self._hear)
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.goto(url)
        self.wait(lambda: self.page.inner_text(".clock").endswith(" s"), "drive that is ready")

    def _hear(self, message: Any) -> None:
        if message.type in ("error", "warning"):
            self.errors.append(message.text)

    @property
    def status(self) -> str:
        """The line below the figures."""
        return self.page.inner_text(".status")

    @property
    def now_s(self) -> float:
        """Simulated time that the page shows; 0 while the drive is prepared."""
        told = self.page.inner_text(".clock").removesuffix(" s")
        return 0.0 if told.startswith("preparing") else float(told)

    def wait(self, condition: Callable[[], object], what: str, seconds: float = 60.0) -> None:
        """Waits for the page: its policy lets nobody evaluate a condition in it."""
        until(lambda: bool(condition()), seconds, f"{what}; the page says: {self.status}")

    def press(self, label: str) -> None:
        """Presses a button of the transport."""
        self.page.get_by_label(label).first.click()

    def show(self, tab: str) -> None:
        """Shows a tab."""
        self.page.click(f"#tab-{tab}")

    def run_to_the_end(self) -> str:
        """The line about the job that is over."""
        self.press("Run to the end")
        self.wait(lambda: self.status.startswith(("Job over", "A: Job over")), "end of the job")
        return self.status
