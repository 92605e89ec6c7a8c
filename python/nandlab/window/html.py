"""Page in one file: the modules of the page as one script, its style, and what was recorded."""

from __future__ import annotations

import base64
import hashlib
import html
import re
from collections.abc import Mapping

from nandlab.given.refusal import refusal
from nandlab.window.assets import Assets
from nandlab.window.bundle import bundle
from nandlab.window.security import told

_STYLE = re.compile(r"""<link\s+rel="stylesheet"\s+href="([^"]+)"\s*/?>\n?""")
_SCRIPT = re.compile(r"""<script\s+type="module"\s+src="([^"]+)"\s*></script>\n?""")
_ELSEWHERE = re.compile(r"""<link\s+(?!rel="stylesheet")[^>]*>\n?""")
_CHARSET = r"<meta\s+charset=[^>]*>\n?"
_TITLE = re.compile(r"<title>[^<]*</title>")


def one_file(page: Assets, *, title: str = "", recorded: bytes | None = None) -> str:
    """The page with everything inside; a browser opens it from a disk and asks nobody for more.

    Args:
        page: files of the page.
        title: title of the page.
        recorded: a recording that it shows, packed. None: the page around it has the drive.
    """
    text = page["index.html"].decode()
    if len(_SCRIPT.findall(text)) != 1:
        raise refusal("index.html", "it has not one script", "one module")
    [entry] = _SCRIPT.findall(text)
    styles = "\n".join(page[name].decode() for name in _STYLE.findall(text))
    # A string or a pattern with these words is the same with a backslash.
    script = re.sub(r"<(?=/script|!--)", r"<\\", bundle(page, entry))
    host = "" if recorded is not None else '<meta name="nandlab-host" content="notebook">\n'
    # It stands where the body is complete, as a module waits for that.
    body = "" if recorded is None else _data(recorded)
    text = _ELSEWHERE.sub("", _SCRIPT.sub("", _STYLE.sub("", text)))
    head = f"{_policy(script, styles)}{host}<style>{styles}</style>\n"
    text = _put(text, _CHARSET, head, behind=True)
    text = _put(text, r"</body>", f"{body}<script>{script}</script>\n", behind=False)
    if title:
        text = _TITLE.sub(lambda _: f"<title>{html.escape(title)}</title>", text)
    return text


def _data(recorded: bytes) -> str:
    """Element with the recording: a block of data, which no browser runs."""
    text = base64.b64encode(recorded).decode()
    return f'<script type="application/octet-stream" id="recorded">{text}</script>\n'


def _policy(script: str, style: str) -> str:
    """What the page may do: run this script, wear this style, and ask nobody."""
    parts = {
        "default-src": "'none'",
        "script-src": f"'sha256-{_hash(script)}'",
        "style-src": f"'sha256-{_hash(style)}'",
        "img-src": "data: blob:",
        "base-uri": "'none'",
        "form-action": "'none'",
    }
    return policy_element(parts)


def policy_element(policy: Mapping[str, str]) -> str:
    """Elements of a page that say what it may do, where no server does."""
    return (
        f'<meta http-equiv="Content-Security-Policy" content="{told(policy)}">\n'
        '<meta name="referrer" content="no-referrer">\n'
    )


def with_policy(text: str, policy: Mapping[str, str]) -> str:
    """A page with a policy."""
    return _put(text, _CHARSET, policy_element(policy), behind=True)


def _hash(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _put(text: str, mark: str, added: str, *, behind: bool) -> str:
    """The text with something added before or behind a mark that it must have."""
    found = re.search(mark, text)
    if found is None:
        raise refusal("index.html", f"it has no `{mark}`")
    at = found.end() if behind else found.start()
    return text[:at] + added + text[at:]
