"""The REST door's application with the reference view beside it."""

from __future__ import annotations

from benchmarks.plain import beside
from fluxsite.wsgi import application as rest

application = beside(rest)
