"""Commands of instances run in forks of a process that has loaded Django: new processes, without waiting for it again.

python tests/forked_commands.py serve SOCKET             until its own standard input ends
python tests/forked_commands.py ask SOCKET manage.py ... as `python manage.py ...`, through the one that serves
"""

from __future__ import annotations

# Few imports at the top: whoever asks pays for them each time.
import json
import os
import signal
import socket
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import subprocess
    from pathlib import Path

PYTHON = sys.executable
# What commands load and no setting shapes: no database's library, and of ours only what knows neither Django nor the
# environment (see the layers in pyproject.toml).
LOADED = (
    "argparse",
    "asyncio",
    "django.core.management",
    "django.core.serializers.json",
    "django.db.models.aggregates",
    "django.db.migrations.executor",
    "django.forms",
    "django.http.response",
    "django.template.engine",
    "django.template.loader",
    "django.urls",
    "django.utils.translation",
    "django.views.debug",
    "rich.console",
    "rich.progress",
    "rich.table",
    "yaml",
    "numpy",
    "sqlparse",
    "hashlib",
    "http.client",
    "secrets",
    "subprocess",
    "uuid",
    "multiprocessing",
    "pydantic",
    "tarfile",
    "urllib.request",
    "wsgiref.simple_server",
    "zstandard",
    "fluxcore.config",
    "flux.calls.registry",
    "memory.engine.ranking.answer",
    "memory.engine.ranking.rank",
    "memory.engine.text.marks",
)
LONGEST_REQUEST = 1 << 17
_server: str | None = None


def server() -> str:
    """The socket of one that serves as long as this process lives."""
    global _server
    if _server is None:
        import atexit
        import shutil
        import subprocess
        import tempfile

        folder = tempfile.mkdtemp(prefix="flux-forks-")
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        process = subprocess.Popen(
            [PYTHON, __file__, "serve", f"{folder}/door"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        atexit.register(process.communicate)
        assert process.stdout is not None and process.stdout.readline() == b"loaded\n"
        _server = f"{folder}/door"
    return _server


def run(
    words: list[str], environment: dict[str, str], folder: Path, *, seconds: float
) -> subprocess.CompletedProcess[str]:
    """As subprocess.run would, with what it says captured."""
    import subprocess
    import tempfile
    from pathlib import Path

    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err, Path(os.devnull).open() as nothing:
        files = [nothing.fileno(), out.fileno(), err.fileno()]
        status = ask(server(), words, environment, str(folder), files, seconds)
        said = []
        for file in (out, err):
            file.seek(0)
            said.append(file.read().decode())
    return subprocess.CompletedProcess(words, status, *said)


def serve(path: str) -> None:
    import gc
    import importlib
    import select
    from pathlib import Path

    sys.path[0] = str(Path(__file__).resolve().parent.parent)
    gc.disable()
    for name in LOADED:
        importlib.import_module(name)
    gc.freeze()  # so that no collection in a fork copies the pages of all that was loaded
    gc.enable()
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as door:
        door.bind(path)
        door.listen(64)
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        print("loaded", flush=True)
        while door in select.select([door, sys.stdin], [], [])[0]:
            line, _ = door.accept()
            if os.fork() == 0:
                door.close()
                answer(line)
                return
            line.close()


def answer(line: socket.socket) -> None:
    """Run what is asked for in a child and tell how it ended."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    request, files, _, _ = socket.recv_fds(line, LONGEST_REQUEST, 3)
    wanted = json.loads(request)
    child = os.fork()
    if child == 0:
        line.close()
        for place, file in enumerate(files):
            os.dup2(file, place)
            os.close(file)
        run_in_child(wanted["words"], wanted["environment"], wanted["folder"])
        return
    for file in files:
        os.close(file)
    line.send(str(child).encode())
    _, status = os.waitpid(child, 0)
    line.send(str(os.waitstatus_to_exitcode(status)).encode())
    os._exit(0)


def run_in_child(words: list[str], environment: dict[str, str], folder: str) -> None:
    import atexit
    import runpy
    import threading
    import traceback

    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    sys.stdin, sys.stdout, sys.stderr = (
        os.fdopen(place, mode, buffering=1, encoding="utf-8", closefd=False) for place, mode in enumerate("rww")
    )
    sys.argv, sys.path[0] = words, folder
    status: object = None
    try:
        runpy.run_path(words[0], run_name="__main__")
    except SystemExit as end:
        status = end.code
    except BaseException:
        traceback.print_exc()
        status = 1
    if isinstance(status, str):
        print(status, file=sys.stderr)
    # What an interpreter does at its end, but for freeing every object: that takes longer than many a command.
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(1 if isinstance(status, str) else int(status or 0))  # type: ignore[call-overload]


def ask(
    path: str,
    words: list[str],
    environment: dict[str, str],
    folder: str,
    files: list[int],
    seconds: float | None = None,
) -> int:
    """Have this run with these three files as its own; its exit status."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as line:
        line.settimeout(seconds)
        line.connect(path)
        request = json.dumps({"words": words, "environment": environment, "folder": folder})
        socket.send_fds(line, [request.encode()], files)
        pid = int(line.recv(64))
        try:
            return int(line.recv(64))
        except BaseException:
            os.kill(pid, signal.SIGKILL)
            raise


if __name__ == "__main__":
    action, place, *rest = sys.argv[1:]
    if action == "serve":
        serve(place)
    else:
        here = os.getcwd()  # noqa: PTH109  loading pathlib would take as long as all the rest
        sys.exit(ask(place, rest, dict(os.environ), here, [0, 1, 2]))
