"""How much may be said at once about grains, for whoever describes it without loading what checks it."""

from __future__ import annotations

MAX_NAME, MAX_TAG, MAX_TAGS = 128, 64, 16  # characters of a session or speaker, of a tag; tags of a grain
MAX_K = 100  # grains of one answer
QUERY_BYTES = 4096  # of a longer query the first so many count
MAX_VALUES = 50  # tags, sessions or statuses one question may name
MAX_PAGE = 200  # grains of one page
MAX_WRITER = 160  # characters of a writer's name
