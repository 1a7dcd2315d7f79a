"""The people's door for tests: its middleware, its addresses, and a one-time link."""

from __future__ import annotations

import html
import re
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.conf import settings
from django.test import Client, override_settings
from django_otp.oath import hotp
from servestatic.middleware import ServeStaticMiddleware

from fluxsite import settings as site

PASSWORD = "four unrelated words here"


@pytest.fixture(scope="session", autouse=True)
def static_files_found_once() -> Iterator[None]:
    """Every client builds the door anew, which would look through all static files again."""
    found: dict[str, Any] = {}
    look = ServeStaticMiddleware.add_files_from_finders

    def look_once(door: ServeStaticMiddleware) -> None:
        if not found:
            look(door)
            found.update(door.files)
        door.files.update(found)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ServeStaticMiddleware, "add_files_from_finders", look_once)
        yield


@pytest.fixture
def people_client(db: None) -> Iterator[Client]:
    """A browser's view of the people's door, with CSRF checks on."""
    with override_settings(SERVER_ROLE="people", MIDDLEWARE=site._PEOPLE_MIDDLEWARE, APPEND_SLASH=True):
        # Not announced: Django would forget every address it knows, to put them all together again for each test.
        settings.ROOT_URLCONF = "dashboard.urls"
        yield browser()


class Person:
    """Somebody with an account: their key and backup codes, as they would have them on a phone and on paper."""

    def __init__(self, username: str, *, administrator: bool = True, roles: dict[str, str] | None = None) -> None:
        from django.contrib.auth.hashers import make_password

        from accounts import people
        from accounts.models import Membership, Space
        from accounts.signin import second_factors
        from fluxcore import clock

        self.username = username
        self.user = people.save_person(username, make_password(PASSWORD), administrator=administrator)
        self.key = second_factors.new_key()
        second_factors.install(self.user.pk, self.key, spent=-1)
        self.codes = second_factors.new_backup_codes(self.user.pk)
        for space, role in (roles or {}).items():
            home = Space.objects.get(name=space)
            Membership.objects.create(user=self.user, space=home, role=role, created_at=clock.now())

    def sign_in(self, client: Client | None = None) -> Client:
        """In two steps, with a backup code: codes of the app work once in 30 seconds."""
        client = client or browser()
        assert send(client, "/sign-in", username=self.username, password=PASSWORD).status_code == 302
        answer = send(client, "/sign-in/code", code=self.codes.pop())
        assert answer.status_code == 302, answer.content.decode()
        return client


def browser() -> Client:
    return Client(enforce_csrf_checks=True, headers={"Host": "localhost"}, raise_request_exception=False)


def post(client: Client, path: str, /, **fields: Any) -> Any:
    """Open the page and send its form, as a browser would."""
    page = client.get(path)
    found = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', page.content.decode())
    token = found.group(1) if found else client.cookies[settings.CSRF_COOKIE_NAME].value
    return client.post(path, {"csrfmiddlewaretoken": token, **fields})


def send(client: Client, path: str, /, **fields: Any) -> Any:
    """Send a form without opening its page first, for those who are only on their way to something else."""
    if settings.CSRF_COOKIE_NAME not in client.cookies:
        client.cookies[settings.CSRF_COOKIE_NAME] = "c" * 32
    return client.post(path, {"csrfmiddlewaretoken": client.cookies[settings.CSRF_COOKIE_NAME].value, **fields})


def words(answer: Any) -> str:
    return answer.content.decode()


def diff_rows(answer: Any) -> list[tuple[str, str, str]]:
    """The lines of a difference on a page: kind, sign and text."""
    row = r'<tr class="(\w+)">.*?class="sign">(.*?)</td><td class="text">(.*?)</td>'
    return [(kind, sign, html.unescape(text)) for kind, sign, text in re.findall(row, answer.content.decode())]


def half_way(person: Person, client: Client | None = None) -> Client:
    """After the password and before the code."""
    client = client or browser()
    answer = send(client, "/sign-in", username=person.username, password=PASSWORD)
    assert answer.status_code == 302 and answer["Location"] == "/sign-in/code"
    return client


def is_in(client: Client) -> bool:
    return client.get("/account").status_code == 200


@pytest.fixture
def person(people_client: Client) -> Callable[..., Person]:
    return Person


@pytest.fixture
def ada(person: Callable[..., Person]) -> Person:
    """An administrator."""
    return person("ada")


@pytest.fixture
def link(db: None) -> str:
    from accounts.principals import shell
    from accounts.signin import links

    return f"/enrol/{links.issue_enrolment(shell())['secret']}"


def key_on(page: Any) -> bytes:
    """The key as a person without a camera would read it."""
    import base64

    shown = re.search(r'<p class="key"><code>(.*?)</code>', page.content.decode(), re.DOTALL)
    assert shown, page.content.decode()
    return base64.b32decode("".join(re.findall(r"<span>(\w{4})</span>", shown.group(1))))


def code_for(key: bytes, *, ahead: int = 0) -> str:
    return f"{hotp(key, int(time.time()) // 30 + ahead):06d}"


def wrong_code_for(key: bytes) -> str:
    """Six digits that are right in no step anywhere near now."""
    near = {code_for(key, ahead=step) for step in range(-3, 4)}
    return next(code for code in (f"{number:06d}" for number in range(10)) if code not in near)


@pytest.fixture
def fill_in(people_client: Client, link: str) -> Callable[..., Any]:
    """Open the link and send its form; every field can be overridden."""

    def fill(client: Client = people_client, path: str = link, **fields: Any) -> Any:
        page = client.get(path)
        token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', page.content.decode())
        form = {
            "csrfmiddlewaretoken": token.group(1) if token else "",
            "username": "ada",
            "password": PASSWORD,
            "password_again": PASSWORD,
            **fields,
        }
        if "code" not in form:
            form["code"] = code_for(key_on(page))
        return client.post(path, form)

    return fill
