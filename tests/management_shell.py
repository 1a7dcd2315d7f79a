"""A management shell that is loaded once: every piece of code runs in a fork of it, as new as a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

from tests.instances import ROOT, Instance

_LOOP = """
import json, os, sys, tempfile, traceback
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "fluxsite.settings")
import django
django.setup()
from django.db import connections
connections.close_all()
for line in sys.stdin:
    with tempfile.TemporaryFile() as said:
        child = os.fork()
        if child == 0:
            status = 1
            try:
                os.dup2(said.fileno(), 1)
                os.dup2(said.fileno(), 2)
                exec(json.loads(line), {"__name__": "__main__"})
                status = 0
            except BaseException:
                traceback.print_exc()
            finally:
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(status)
        _, ended = os.waitpid(child, 0)
        said.seek(0)
        print(json.dumps([os.waitstatus_to_exitcode(ended), said.read().decode(errors="replace")]), flush=True)
"""


class Shell:
    def __init__(self, instance: Instance) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", _LOOP],
            env=instance.environment,
            cwd=ROOT,
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )

    def __call__(self, code: str) -> Any:
        """Run code; its last line is JSON."""
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(json.dumps(code) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        assert answer, "the shell has ended"
        status, said = json.loads(answer)
        assert status == 0, said
        return json.loads(said.strip().splitlines()[-1])

    def end(self) -> None:
        self.process.communicate()
