"""Picture of the window for the docs: `python tools/window_picture.py [FILE]`.

Chromium opens the page with its first drive, and takes the picture after some seconds.
"""

from __future__ import annotations

import shutil
import sys
import threading
from pathlib import Path

from playwright.sync_api import ViewportSize, sync_playwright

from nandlab.window.assets import of_folder
from nandlab.window.desk import Desk
from nandlab.window.opened import empty_session
from nandlab.window.server import PageServer

ROOT = Path(__file__).resolve().parent.parent
PICTURE = ROOT / "docs" / "pictures" / "window.png"

SIZE: ViewportSize = {"width": 1280, "height": 990}
SECONDS = 16
"""Time from opening the page to the picture."""


def draw(path: Path, fragment: str = "") -> None:
    """Draws the page with the experiment of a fragment, or with its first one.

    Raises:
        SystemExit: there is no Chromium.
    """
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        sys.exit("there is no chromium: apt-get install chromium")
    desk, over = Desk(), threading.Event()
    session = empty_session()

    def work() -> None:
        while not over.is_set():
            desk.work(session, 0.01)

    worker = threading.Thread(target=work)
    worker.start()
    try:
        with (
            PageServer(desk, of_folder(ROOT / "web"), another=empty_session) as server,
            sync_playwright() as playwright,
        ):
            browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
            page = browser.new_page(viewport=SIZE, device_scale_factor=2)
            page.goto(f"{server.url}{fragment}")
            page.wait_for_timeout(1000 * SECONDS)
            page.screenshot(path=path)
            browser.close()
    finally:
        over.set()
        worker.join()


if __name__ == "__main__":
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else PICTURE
    draw(target)
    print(f"wrote {target.name}")
