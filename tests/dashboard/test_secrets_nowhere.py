"""What people keep secret is on no disk, in no log, in no process's environment"""

from __future__ import annotations

import base64
import re
import time
from pathlib import Path

from tests.sign_in_codes import code_for
from tests.web_visitor import WebVisitor

PASSWORD = "quokka-four-unrelated-words"


def holders(instance, word: str) -> list[str]:
    """Files of the data home, and command lines and environments of the processes, that hold a word."""
    files = [path for path in instance.folder.rglob("*") if path.is_file()]
    processes = [Path(f"/proc/{pid}/{name}") for pid in instance.pids() for name in ("cmdline", "environ")]
    assert any(path.name == "flux.log" for path in files) and len(processes) >= 8
    found = []
    for path in files + processes:
        try:
            if word.encode() in path.read_bytes():
                found.append(str(path))
        except OSError:
            continue  # a message that was read, or a process that ended, meanwhile
    return found


def test_password_keys_codes_cookies_and_links_are_kept_nowhere(instance):
    running = instance().with_tables().start()
    until = time.monotonic() + 20
    while not (links := re.findall(r"/enrol/(\S+)", running.output.read_text())):
        assert time.monotonic() < until
        time.sleep(0.05)
    link = f"/enrol/{links[0]}"
    visitor = WebVisitor(running)
    page = visitor.get(link)
    key = base64.b32decode("".join(re.findall(r"<span>(\w{4})</span>", page.text)))
    token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', page.text).group(1)
    pending = dict(visitor.cookies)
    code = code_for(key)
    enrolled = visitor.send(link, token=token, username="ada", password=PASSWORD, password_again=PASSWORD, code=code)
    assert enrolled.status == 200, enrolled.text
    codes = re.findall(r"<code>([a-z0-9-]{19})</code>", enrolled.text)
    assert len(codes) == 10
    again = WebVisitor(running)
    assert again.post("/sign-in", username="ada", password=PASSWORD).status == 302
    assert again.post("/sign-in", username=PASSWORD + "-as-a-name", password="x").status == 401
    assert again.post("/sign-in/code", code=codes[0]).status == 302
    running.command("flux_audit", "checkpoint")
    running.command("flux_backup", "create")

    secrets = {
        "the password": PASSWORD,
        "the link": links[0],
        "the key in hex": key.hex(),
        "the key in base32": base64.b32encode(key).decode(),
        "a backup code": codes[1],
        "a backup code without its dashes": codes[1].replace("-", ""),
    }
    for name, value in {**pending, **visitor.cookies, **again.cookies}.items():
        if "session" in name:
            secrets[f"cookie {value[:4]}"] = value
    assert sum(name.startswith("cookie") for name in secrets) >= 1
    leaks = {name: found for name, word in secrets.items() if (found := holders(running, word))}
    assert leaks == {}
    assert holders(running, "ada")  # the search itself works
    assert not [path for path in running.folder.rglob("*") if path.is_file() and key in path.read_bytes()]
