"""Many at the sign-in at once: one code lets one in, and no more guesses are looked at than were promised."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from django_otp.oath import hotp

from tests.concurrency.conftest import Fleet
from tests.concurrency.databases import few_or_many, on_fleets
from tests.sign_in_codes import code_for
from tests.web_visitor import WebPage, WebVisitor

PASSWORD = "four unrelated words here"
_MAKE = """
import json
from django.contrib.auth.hashers import make_password
from accounts import people
from accounts.signin import second_factors
from fluxcore.writes import booth
def make():
    user = people.save_person({name!r}, make_password({password!r}), administrator=True)
    key = second_factors.new_key()
    second_factors.install(user.pk, key, spent=-1)
    return key.hex()
print(json.dumps(booth.write(make)))
"""


def person(fleet: Fleet, name: str) -> bytes:
    return bytes.fromhex(fleet.python(_MAKE.format(name=name, password=PASSWORD)))


def half_way(fleet: Fleet, name: str) -> tuple[WebVisitor, str]:
    visitor = WebVisitor(fleet.instance)
    answer = visitor.post("/sign-in", username=name, password=PASSWORD)
    assert answer.status == 302, answer.text
    return visitor, visitor.form("/sign-in/code")


def looked_at(send: Callable[[], WebPage]) -> int:
    """The status; whom a busy machine sends away unheard comes again."""
    until = time.monotonic() + 120
    while (status := send().status) == 503:
        assert time.monotonic() < until
        time.sleep(0.1)
    return status


@few_or_many("crowd", 8, 24)
@on_fleets("sqlite", "postgres")
def test_of_many_sign_ins_with_one_code_one_succeeds(fleet: Fleet, crowd: int) -> None:
    name = f"simultaneous{crowd}"
    key = person(fleet, name)
    visitors = [half_way(fleet, name) for _ in range(crowd)]
    code = code_for(key)
    with ThreadPoolExecutor(crowd) as pool:
        answers = list(pool.map(lambda one: one[0].send("/sign-in/code", token=one[1], code=code), visitors))
    found = Counter(answer.status for answer in answers)
    print(f"\n{crowd} with one code on {fleet.kind}: {dict(found)}")
    assert found == {302: 1, 401: crowd - 1}
    inside = [visitor.get("/account").status for visitor, _ in visitors]
    assert Counter(inside) == {200: 1, 302: crowd - 1}
    again, token = half_way(fleet, name)
    assert again.send("/sign-in/code", token=token, code=code).status == 401


@few_or_many("crowd", 40, 500)
@on_fleets("sqlite", "postgres")
def test_of_many_wrong_passwords_at_most_ten_are_checked(fleet: Fleet, crowd: int) -> None:
    name = f"guessed{crowd}"
    person(fleet, name)
    visitor = WebVisitor(fleet.instance)
    token = visitor.form("/sign-in")

    def guess(number: int) -> int:
        return looked_at(
            lambda: visitor.send("/sign-in", token=token, username=name, password=f"guess number {number}")
        )

    with ThreadPoolExecutor(64) as pool:
        found = Counter(pool.map(guess, range(crowd)))
    print(f"\n{crowd} wrong passwords on {fleet.kind}: {dict(found)}")
    assert found == {401: 10, 429: crowd - 10}
    assert visitor.send("/sign-in", token=token, username=name, password=PASSWORD).status == 429


@few_or_many("crowd", 25, 200)
@on_fleets("sqlite", "postgres")
def test_of_many_wrong_codes_at_most_five_are_checked(fleet: Fleet, crowd: int) -> None:
    name = f"codes{crowd}"
    key = person(fleet, name)
    near = {f"{hotp(key, int(time.time()) // 30 + step):06d}" for step in range(-4, 20)}
    wrong = [code for code in (f"{number:06d}" for number in range(300)) if code not in near][:crowd]
    visitor, token = half_way(fleet, name)

    def guess(code: str) -> int:
        return looked_at(lambda: visitor.send("/sign-in/code", token=token, code=code))

    with ThreadPoolExecutor(32) as pool:
        found = Counter(pool.map(guess, wrong))
    print(f"\n{crowd} wrong codes on {fleet.kind}: {dict(found)}")
    assert found == {401: 5, 429: crowd - 5}
