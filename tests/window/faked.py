"""A session that answers as the engine's does, for tests of its hosts."""

from __future__ import annotations

import json
import struct

import numpy as np

HELLO = {
    "version": "0",
    "name": "tiny",
    "title": "a drive",
    "scalars": [{"name": "simulated_ns", "unit": "ns", "label": "time"}],
    "layers": {"valid": {"bit": 0}},
}


def frame_of(**sections: np.ndarray) -> bytes:
    """A frame with these sections."""
    kinds = [np.dtype(kind) for kind in ("<u1", "<u2", "<u4", "<f4", "<f8")]
    head, data = [], bytearray()
    begin = 8 + 16 * len(sections)
    for name, numbers in sections.items():
        data += bytes(-(begin + len(data)) % 8)
        at = begin + len(data)
        head.append(
            struct.pack("<4sIII", name.encode(), kinds.index(numbers.dtype), numbers.size, at)
        )
        data += numbers.tobytes()
    return b"NLW1" + struct.pack("<I", len(sections)) + b"".join(head) + bytes(data)


class Fake:
    """A drive whose time is all it has."""

    def __init__(self, blocks: int = 4096) -> None:
        self.now_ns = 0
        self.blocks = blocks
        self.calls: list[dict[str, object]] = []
        self.frames = 0
        self.loaded = b""

    def call(self, request: str) -> str:
        asked = json.loads(request)
        self.calls.append(asked)
        match asked["method"]:
            case "hello" | "build" | "job" | "act":
                return json.dumps({"ok": HELLO})
            case "advance":
                self.now_ns += asked.get("simulated_ns", 0)
                told = {"now_ns": self.now_ns, "events": 1, "completed": 1, "finished": False}
                return json.dumps({"ok": told})
        error = {"key": "method", "problem": "unknown", "text": f"method: `{asked['method']}`"}
        return json.dumps({"error": error})

    def frame(self, layers: int) -> bytes:
        self.frames += 1
        counts = np.zeros(8, "<u4")
        counts[self.frames % 8] = 1
        sections = {"scal": np.array([self.now_ns], "<f8"), "rlat": counts}
        if layers & 1:
            sections["vald"] = np.full(self.blocks, self.frames % 256, "<u1")
        return frame_of(**sections)

    def save(self) -> bytes:
        return bytes(range(256)) * 9000

    def load(self, saved: bytes) -> None:
        self.loaded = saved
