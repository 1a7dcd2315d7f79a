"""Self-test of `flux_start --once`: a temporary instance, tested through its REST server."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import tempfile
import time
import urllib.request
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fluxcore.errors import StorageUnavailable
from fluxsite.startup import rerun_command

if TYPE_CHECKING:
    from memory.management.base import FluxCommand

TEXT = "Flux Memory stores, reads back and can prove it."
QUESTION = "What can Flux Memory prove?"
# Long, because a process that waits for a slow disk ends only after its flush, whatever the signal.
START_SECONDS, STOP_SECONDS = 120, 120


def run_self_test(command: FluxCommand) -> None:
    """Start an instance, store, read, recall, verify the audit chain, print the result, stop and delete it."""
    started = time.monotonic()
    with ExitStack() as context:
        folder = context.enter_context(tempfile.TemporaryDirectory(prefix="flux-once-"))
        environment = {**os.environ, "FLUX_HOME": folder, "FLUX_NAME": "once"}
        for name in ("DATABASE_URL", "REDIS_URL", "FLUX_SECRET_KEY", "FLUX_CHECKPOINTS"):
            environment.pop(name, None)
            environment.pop(f"{name}_FILE", None)
        ready = Path(folder) / "ready.json"
        # To a file: a pipe that is not read would block the servers when it is full.
        output = context.enter_context((Path(folder) / "output.txt").open("wb"))
        server = subprocess.Popen(
            [
                *rerun_command(),
                "flux_start",
                "--ready-file",
                str(ready),
                "--rest-port",
                "0",
                "--people-port",
                "0",
                "--mcp-port",
                "0",
            ],
            env=environment,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
        try:
            state = _wait(ready, server)
            answer = _call(state, "POST", "/store", {"content": TEXT, "provenance": "user_stated"})
            grain = _call(state, "GET", f"/grains/{answer['grain_id']}")
            if grain["content"] != TEXT:
                raise StorageUnavailable("The memory came back changed.")
            recalled = _call(state, "POST", "/retrieve", {"query": QUESTION, "explain": True})
            if [found["id"] for found in recalled["grains"]] != [grain["id"]]:
                raise StorageUnavailable("The memory was not recalled.")
            verdict = subprocess.run(
                [*rerun_command(), "flux_audit", "verify", "--json"],
                env=environment,
                capture_output=True,
                text=True,
                check=False,
            )
            if verdict.returncode != 0:
                raise StorageUnavailable(f"The audit chain does not verify: {verdict.stdout}{verdict.stderr}")
            chains = json.loads(verdict.stdout)["chains"]
        finally:
            ended = _stop(server)
        if not ended:
            raise StorageUnavailable(f"The instance did not end within {STOP_SECONDS} s. {_last_lines(Path(folder))}")
    entries = sum(chain["entries"] for chain in chains)
    command.answer(
        {"grain": grain, "recalled": recalled, "audit_entries": entries, "exit_status": server.returncode},
        says=f"stored    {grain['id']}\nread back {grain['content']!r}\n"
        f"recalled  {QUESTION!r} {recalled['explanation']['grains'][0]['says']}\n"
        f"audit     {entries} entries in {len(chains)} chains, all intact\n"
        f"[bold green]It works[/] ({time.monotonic() - started:.1f} s).",
    )
    if server.returncode != 0:
        raise StorageUnavailable(f"The instance ended with status {server.returncode}.")


def _stop(server: subprocess.Popen[bytes]) -> bool:
    """Stop the instance; returns whether it ended without being killed."""
    server.send_signal(signal.SIGTERM)
    try:
        server.wait(timeout=STOP_SECONDS)
    except subprocess.TimeoutExpired:
        server.kill()
        server.wait()
        return False
    return True


def _last_lines(folder: Path) -> str:
    """The end of what it printed and of its log, which go with the folder."""
    found = [folder / "output.txt", folder / "once" / "flux.log"]
    ends = [one.read_text(encoding="utf-8", errors="replace").strip()[-2000:] for one in found if one.exists()]
    return "It said last:\n" + "\n".join(ends)


def _wait(ready: Path, server: subprocess.Popen[bytes]) -> dict[str, Any]:
    until = time.monotonic() + START_SECONDS
    while not ready.exists():
        if server.poll() is not None or time.monotonic() > until:
            server.kill()
            server.wait()
            raise StorageUnavailable(f"The instance did not start: {_last_lines(ready.parent)}")
        time.sleep(0.05)
    found: dict[str, Any] = json.loads(ready.read_text())
    return found


def _call(state: dict[str, Any], method: str, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
    request = urllib.request.Request(  # noqa: S310  our own loopback address
        state["urls"]["rest"] + path,
        method=method,
        data=json.dumps(body).encode() if body else None,
        headers={"Authorization": f"Bearer {state['token']}", "Content-Type": "application/json"},
    )
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=30) as response:
        answer: dict[str, Any] = json.load(response)
    return answer
