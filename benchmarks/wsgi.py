"""The REST server's application with the reference view beside it."""

from __future__ import annotations

from benchmarks.plain import beside
from fluxsite.rsgi import bridge
from fluxsite.wsgi import application as rest

application = bridge(beside(rest))
