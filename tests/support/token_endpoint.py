"""An endpoint that gives tokens of OAuth 2.0 for a client's secret, and says by which key they are signed."""

from __future__ import annotations

import base64
import json
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, unquote

from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa

CLIENT, CLIENT_SECRET = "bench", "canary-of-the-client-secret"
KEY_ID = "tests"


def _base64url(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


@dataclass
class TokenEndpoint:
    """What it gave, and to whom it gives.

    Attributes:
        lifetime_s: of the tokens that it gives from now on.
        claims: beside those that every token has.
        given: all tokens so far.
        asked: what clients said with each question.
    """

    lifetime_s: float = 3600.0
    claims: dict[str, object] = field(default_factory=dict)
    given: list[str] = field(default_factory=list)
    asked: list[dict[str, str]] = field(default_factory=list)
    url: str = ""
    key: rsa.RSAPrivateKey = field(default_factory=lambda: rsa.generate_private_key(65537, 2048), repr=False)

    def token_of(self, user: str, lifetime_s: float | None = None) -> str:
        """A JSON Web Token (RFC 7519) for a user, signed with RS256."""
        now = int(time.time())
        lifetime_s = self.lifetime_s if lifetime_s is None else lifetime_s
        head = {"alg": "RS256", "kid": KEY_ID, "typ": "JWT"}
        body = {"sub": user, "iat": now, "exp": int(now + lifetime_s), "jti": str(len(self.given)), **self.claims}
        signed = ".".join(_base64url(json.dumps(part).encode()) for part in (head, body))
        token = f"{signed}.{_base64url(self.key.sign(signed.encode(), padding.PKCS1v15(), hashes.SHA256()))}"
        self.given.append(token)
        return token

    def public_key_pem(self) -> bytes:
        """The key that tokens are verified by."""
        public = self.key.public_key()
        return public.public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)

    def public_keys(self) -> dict[str, object]:
        """The same as a JSON Web Key Set (RFC 7517)."""
        numbers = self.key.public_key().public_numbers()
        modulus, exponent = (_base64url(n.to_bytes((n.bit_length() + 7) // 8, "big")) for n in (numbers.n, numbers.e))
        return {"keys": [{"kty": "RSA", "alg": "RS256", "use": "sig", "kid": KEY_ID, "n": modulus, "e": exponent}]}

    def answer(self, question: dict[str, str], authorization: str) -> tuple[int, dict[str, object]]:
        """What a client is answered who shows its secret in the head of its question, or in the question."""
        client, secret = question.get("client_id", ""), question.get("client_secret", "")
        if authorization.startswith("Basic "):
            client, _, secret = base64.b64decode(authorization.removeprefix("Basic ")).decode().partition(":")
        self.asked.append({name: value for name, value in question.items() if name != "client_secret"})
        if (unquote(client), unquote(secret)) != (CLIENT, CLIENT_SECRET):
            return 401, {"error": "invalid_client", "error_description": "no such client, or another secret"}
        if question.get("grant_type") != "client_credentials":
            return 400, {"error": "unsupported_grant_type"}
        token = self.token_of(CLIENT)
        return 200, {"access_token": token, "token_type": "Bearer", "expires_in": int(self.lifetime_s)}


@contextmanager
def serving_tokens(endpoint: TokenEndpoint, shown: Path | None = None) -> Iterator[TokenEndpoint]:
    """Let it answer on loopback: /token, /keys, and what an issuer says of these.

    `shown`: its certificate with the key, for https.
    """

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            text = self.rfile.read(int(self.headers.get("Content-Length", "0"))).decode()
            question = {name: values[0] for name, values in parse_qs(text).items()}
            self.reply(*endpoint.answer(question, self.headers.get("Authorization", "")))

        def do_GET(self) -> None:
            if self.path == "/keys":
                self.reply(200, endpoint.public_keys())
            elif self.path.startswith("/.well-known/"):
                self.reply(
                    200,
                    {
                        "issuer": endpoint.url,
                        "token_endpoint": f"{endpoint.url}/token",
                        "jwks_uri": f"{endpoint.url}/keys",
                    },
                )
            else:
                self.reply(404, {})

        def reply(self, status: int, content: dict[str, object]) -> None:
            body = json.dumps(content).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        if shown:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(shown)
            server.socket = context.wrap_socket(server.socket, server_side=True)
        endpoint.url = f"{'https' if shown else 'http'}://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield endpoint
        finally:
            server.shutdown()
            thread.join()
