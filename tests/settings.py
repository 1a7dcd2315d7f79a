"""Settings of the test run: the real ones, in a throw-away home, with the write booth inline."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from pathlib import Path

_home = os.environ.get("FLUX_TESTS_HOME")
if _home is None:
    _home = tempfile.mkdtemp(prefix="flux-tests-")
    os.environ["FLUX_TESTS_HOME"] = _home
    atexit.register(shutil.rmtree, _home, ignore_errors=True)
# Processes of one run share the folder and nothing in it: arenas, queues and models are each one's own.
_name = "".join(("tests", os.environ.get("FLUX_TESTS_ROOM", ""), os.environ.get("PYTEST_XDIST_WORKER", "")))
os.environ.update(
    {
        "FLUX_HOME": _home,
        "FLUX_NAME": _name,
        "FLUX_DOOR": "rest",
        "FLUX_BOOTH": "inline",
        "FLUX_LOG_FILE": "off",
        "FLUX_SECRET_KEY": "only-for-tests-" + "x" * 40,
    }
)
os.environ.pop("REDIS_URL", None)
if os.environ.get("FLUX_TEST_DATABASE") != "postgres":
    os.environ.pop("DATABASE_URL", None)
elif os.environ.get("FLUX_TESTS_POSTGRES_OF") != _name:
    # Every worker has a server of its own: the log of one ends before the oldest transaction of its whole server,
    # so tests of another worker would hold it back. What a worker starts inherits the address.
    from tests.servers import start_postgres

    os.environ["FLUX_TESTS_POSTGRES"] = os.environ["DATABASE_URL"] = start_postgres()
    os.environ["FLUX_TESTS_POSTGRES_OF"] = _name

# An encoder that is there at once and costs nothing; those with weights have tests of their own.
(Path(_home) / _name).mkdir(exist_ok=True)
(Path(_home) / _name / "config.yaml").write_text("EMBEDDING_MODEL_NAME: hashed\n")

from fluxsite.settings import *  # noqa: F403, E402

for _folder in ("keys", "queue", "run", "backups"):
    (Path(_home) / _name / _folder).mkdir(parents=True, exist_ok=True)
if DATABASES["default"]["ENGINE"].endswith("sqlite3"):  # noqa: F405
    # A file, not memory: threads and processes must see one database as they do in production.
    DATABASES["default"]["TEST"] = {"NAME": str(Path(_home) / f"{_name}.db")}  # noqa: F405
else:
    DATABASES["default"]["OPTIONS"].pop("pool")  # noqa: F405  each test database has its own connections
# Argon2 at production cost would be most of the suite's time.
PASSWORD_HASHERS = ["tests.hashers.CheapArgon2"]
