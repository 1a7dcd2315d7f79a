"""Size limits of inputs about grains, in a module that schemas can import without loading the checks."""

from __future__ import annotations

MAX_NAME, MAX_TAG, MAX_TAGS = 128, 64, 16  # characters of a session or speaker, of a tag; tags of a grain
MAX_K = 100  # grains of one answer
QUERY_BYTES = 4096  # a longer query is cut after so many
MAX_VALUES = 50  # tags, sessions or statuses in the filters of one recall
MAX_PAGE = 200  # grains of one page
MAX_WRITER = 160  # characters of a writer's name
