"""The REST server exactly as `flux_start` runs it, around the benchmark's application: PORT."""

from __future__ import annotations

import sys
from typing import Any

import granian

_Granian = granian.Granian


def _with_reference(target: str, **options: Any) -> Any:
    return _Granian("benchmarks.wsgi:application", **{**options, "factory": False})


if __name__ == "__main__":
    granian.Granian = _with_reference
    from fluxsite.serve import rest

    rest("127.0.0.1", int(sys.argv[1]), 1)
