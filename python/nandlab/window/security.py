"""Who may use the window: its token, the names under which it is asked for, headers of answers.

A page of another origin can neither read the window nor drive it: its `Origin` is another one, a
name that it has pointed at this machine (DNS rebinding) is no `Host` of ours, and it does not know
the token, which stands in the fragment of the address and so leaves the browser in no request.
"""

from __future__ import annotations

import hmac
import secrets
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import ip_address

TOKEN_BYTES = 32


def new_token() -> str:
    """A token that nobody guesses."""
    return secrets.token_urlsafe(TOKEN_BYTES)


def is_token(given: object, token: str) -> bool:
    """Whether it is the token, in a time that does not depend on how much of it is right."""
    text = given if isinstance(given, str) else ""
    return hmac.compare_digest(text.encode("utf-8", "replace"), token.encode())


@dataclass(frozen=True)
class Gate:
    """Names and port under which the window may be asked for."""

    port: int
    is_open: bool = False
    """Whether other machines may connect."""

    def admits_host(self, values: list[str]) -> bool:
        """Whether a request with these `Host` headers means us.

        A rebound name is a name: addresses in numbers are safe, and so is what this machine calls
        itself.
        """
        if len(values) != 1:
            return False
        name, colon, port = values[0].rpartition(":")
        if not colon or port != str(self.port):
            return False
        name = name.lower()
        if name in ("127.0.0.1", "localhost"):
            return True
        if not self.is_open:
            return False
        if name == socket.gethostname().lower():
            return True
        try:
            ip_address(name.strip("[]"))
        except ValueError:
            return False
        return True

    def admits_origin(self, values: list[str], host: str) -> bool:
        """Whether a page with these `Origin` headers was given out by us, under the same name."""
        return values == [f"http://{host}"]


POLICY = {
    "default-src": "'none'",
    "script-src": "'self' 'wasm-unsafe-eval'",
    "style-src": "'self'",
    "img-src": "'self' data: blob:",
    "worker-src": "'self'",
    "connect-src": "'self'",
    "base-uri": "'none'",
    "form-action": "'none'",
}
"""What a page of several files may do: scripts, styles and connections of its own server alone;
nothing is evaluated but WebAssembly."""


def told(policy: Mapping[str, str]) -> str:
    """A policy as a header or a page has it."""
    return "; ".join(f"{key} {value}" for key, value in policy.items())


def headers(host: str) -> Mapping[str, str]:
    """Headers of every answer to a request for that host.

    Its connections are allowed by name too, as not every browser counts a WebSocket as its own; it
    is not framed, sniffed, or told to other sites.
    """
    connected = f"'self' ws://{host}" if host else "'self'"
    policy = {**POLICY, "connect-src": connected, "frame-ancestors": "'none'"}
    return {
        "Content-Security-Policy": told(policy),
        "X-Content-Type-Options": "nosniff",
        "X-Frame-Options": "DENY",
        "Referrer-Policy": "no-referrer",
        "Cross-Origin-Opener-Policy": "same-origin",
        "Cross-Origin-Resource-Policy": "same-origin",
        "Cache-Control": "no-store",
    }
