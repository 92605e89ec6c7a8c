"""Widget: the window in a cell of Jupyter or marimo; ``pip install 'nandlab[notebook]'``.

The page stands in a frame of its own, which can reach neither the notebook nor the network: its
only way out is a port to this cell, whose messages are those of a served page.
"""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from typing import Any

import anywidget
import traitlets

from nandlab.given.arguments import whole
from nandlab.window.assets import Assets, carried
from nandlab.window.desk import Looked
from nandlab.window.html import one_file
from nandlab.window.opened import session_of
from nandlab.window.protocol import Requests, done, greeting

_BESIDE = """
function render({ model, el }) {
  const view = crypto.getRandomValues(new Uint32Array(2)).join("-");
  const frame = document.createElement("iframe");
  frame.setAttribute("sandbox", "allow-scripts");
  frame.title = "nandlab: a drive";
  Object.assign(frame.style, { width: "100%", height: `${model.get("height_px")}px`, border: "0" });
  let port = null;
  const meet = ({ source, data }) => {
    if (source !== frame.contentWindow || data !== "nandlab") return;
    const channel = new MessageChannel();
    port = channel.port1;
    port.onmessage = ({ data }) => {
      if (typeof data === "string") model.send({ view, text: data });
      else model.send({ view }, undefined, [data.buffer]);
    };
    source.postMessage("nandlab", "*", [channel.port2]);
    model.send({ view, text: "" });
  };
  const answer = (message, buffers) => {
    if (message.view !== view || !port) return;
    if (message.text) port.postMessage(message.text);
    else {
      const { buffer, byteOffset, byteLength } = buffers[0];
      const bytes = buffer.slice(byteOffset, byteOffset + byteLength);
      port.postMessage(bytes, [bytes]);
    }
  };
  window.addEventListener("message", meet);
  model.on("msg:custom", answer);
  frame.srcdoc = model.get("page");
  el.append(frame);
  return () => {
    window.removeEventListener("message", meet);
    model.off("msg:custom", answer);
  };
}
export default { render };
"""


class Window(anywidget.AnyWidget):
    """A drive that one can watch and drive in a notebook.

    ::

        from nandlab.window.widget import Window

        Window("tiny", workload="jobs.fio", precondition="steady")
    """

    _esm = _BESIDE
    page = traitlets.Unicode().tag(sync=True)
    height_px = traitlets.Int(800).tag(sync=True)

    def __init__(
        self,
        drive: str | PathLike[str] = "tiny",
        workload: str | PathLike[str] | None = None,
        *,
        set: Mapping[str, object] | None = None,
        seed: int | None = None,
        precondition: str = "none",
        height_px: int = 800,
    ) -> None:
        """Builds the drive.

        Args:
            drive: name of a preset, or path of a drive file.
            workload: path or text of a fio job file.
            set: parameters to change, by their paths.
            seed: seed of every random stream.
            precondition: ``none``, ``fill``, ``steady`` or ``rested``.
            height_px: height of the cell.

        Raises:
            NandlabError: an input is refused.
        """
        session = session_of(drive, workload, set=set or (), seed=seed, precondition=precondition)
        self._begin(session, carried(), whole("height_px", height_px, 100, 10_000))

    def _begin(self, session: Looked, page: Assets, height_px: int) -> None:
        self._session = session
        self._requests: dict[str, Requests] = {}
        super().__init__(page=one_file(page), height_px=height_px)
        self.on_msg(self._take)

    def _take(self, _widget: object, message: Any, buffers: list[memoryview]) -> None:
        """Answers a message of a view; an empty one greets it."""
        view = str(message["view"])
        if not buffers and not message["text"]:
            self._requests[view] = Requests()
            self.send({"view": view, "text": greeting(self._session, "drive", [])})
            return
        try:
            given = bytes(buffers[0]) if buffers else message["text"]
            asked = self._requests.setdefault(view, Requests()).of(given)
        except ValueError:
            return
        if asked is None:
            return
        answer = done(self._session, asked)
        if isinstance(answer, str):
            self.send({"view": view, "text": answer})
        else:
            self.send({"view": view}, [answer])
