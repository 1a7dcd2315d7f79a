"""A browser without pictures: cookies, forms and their CSRF tokens over a real connection."""

from __future__ import annotations

import http.client
import re
from http.cookies import SimpleCookie
from urllib.parse import urlencode

from tests.instances import Instance


class WebPage:
    def __init__(self, status: int, location: str, text: str, retry_after: str | None) -> None:
        self.status, self.location, self.text, self.retry_after = status, location, text, retry_after


class WebVisitor:
    def __init__(self, instance: Instance) -> None:
        self.instance = instance
        self.cookies: dict[str, str] = {}

    def _ask(self, method: str, path: str, body: str | None = None) -> WebPage:
        line = http.client.HTTPConnection("127.0.0.1", self.instance.state["ports"]["people"], timeout=60)
        headers = {"Cookie": "; ".join(f"{name}={value}" for name, value in self.cookies.items())}
        if body is not None:
            headers["Content-Type"] = "application/x-www-form-urlencoded"
        line.request(method, path, body=body, headers=headers)
        answer = line.getresponse()
        for said in answer.headers.get_all("Set-Cookie") or []:
            for name, morsel in SimpleCookie(said).items():
                self.cookies[name] = morsel.value
        page = WebPage(
            answer.status, answer.headers.get("Location", ""), answer.read().decode(), answer.headers.get("Retry-After")
        )
        line.close()
        return page

    def get(self, path: str) -> WebPage:
        return self._ask("GET", path)

    def form(self, path: str) -> str:
        """The token of a page's form."""
        found = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', self.get(path).text)
        assert found, path
        return found.group(1)

    def send(self, path: str, *, token: str, **fields: str) -> WebPage:
        return self._ask("POST", path, urlencode({"csrfmiddlewaretoken": token, **fields}))

    def post(self, path: str, **fields: str) -> WebPage:
        return self.send(path, token=self.form(path), **fields)
