"""Opens an exported tree with the published `flyte` package's MemoryStore, checks it, and changes it.

A plain program for an environment that has flyte:  python flyte_tree.py FOLDER
It prints what it found as JSON. `tests/artifacts/test_trees.py` makes the folder and imports it again.
"""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path

from flyte.ai.agents.memory import ConcurrencyError, MemoryStore


def main(folder: Path) -> None:
    store = MemoryStore(key="tree", root=folder, keep_versions=True)
    found = {}
    for path in store.list_paths():
        meta = store.get_meta(path)
        content = (folder / path).read_bytes()
        digest = hashlib.sha256(content).hexdigest()
        assert store.current_sha(path) == digest, path
        assert meta is None or (meta.path, meta.sha256, meta.bytes) == (path, digest, len(content)), path
        found[path] = {
            "sha": digest,
            "actor": meta.updated_by if meta else "",
            "reason": meta.reason if meta else "",
        }
    answer = {"files": found, "messages": list(store.messages), "events": store.audit_tail_sync(0)}
    try:
        store.write_text("from flyte.md", "lost", expected_sha="0" * 64)
    except ConcurrencyError:
        store.write_text("from flyte.md", "one", actor="flyte", reason="checked", expected_sha="")
    for path in [path for path in found if path.endswith(".md")][:1]:
        store.write_text(path, "changed by flyte", actor="flyte", expected_sha=store.current_sha(path))
        answer["changed"] = path
    store.append({"role": "assistant", "content": "said by flyte"})
    store.flush_messages_sync()
    print(json.dumps(answer))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
