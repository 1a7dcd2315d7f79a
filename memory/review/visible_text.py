"""`fluxcore.visible_text`, by the name that callers in other rooms have for it."""

from fluxcore.visible_text import visible as visible
