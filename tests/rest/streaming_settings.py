"""Settings of a REST server with the test's own streamed call beside the product's."""

from __future__ import annotations

from fluxsite.settings import *  # noqa: F403

ROOT_URLCONF = "tests.rest.streaming_urls"
