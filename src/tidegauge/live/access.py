"""Who may read the page: this machine only, or whoever has the token. Pure.

A page of another site, opened in the same browser, can send requests to a local port and, by a name of its own that
resolves to loopback (DNS rebinding), could read the answers. So the host that a request names must be one of ours.
"""

from __future__ import annotations

import hmac
import ipaddress
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie

COOKIE = "tidegauge-token"


@dataclass(frozen=True)
class Access:
    """`address` is what the server is bound to; `token` "" = none is needed, which only loopback allows."""

    address: str
    token: str

    def host_problem(self, host_header: str) -> str:
        """Why a request with this Host header is refused; "" if it is not. With a token the name does not matter."""
        if self.token:
            return ""
        name = host_header.rsplit(":", 1)[0] if host_header.rpartition(":")[2].isdigit() else host_header
        if name.strip("[]").lower() in ("localhost", "127.0.0.1", "::1", self.address):
            return ""
        return f"This page is for this machine; '{name}' is not one of its names."

    def permitted(self, query_token: str, cookie_header: str) -> bool:
        """Whether the token in the address or the cookie is the right one, or none is needed."""
        if not self.token:
            return True
        given = query_token or _cookie(cookie_header)
        return hmac.compare_digest(given.encode(), self.token.encode())


def is_loopback(address: str) -> bool:
    """Whether only this machine can reach an address."""
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return address == "localhost"


def _cookie(header: str) -> str:
    try:
        morsel = SimpleCookie(header).get(COOKIE)
    except CookieError:
        return ""
    return morsel.value if morsel else ""
