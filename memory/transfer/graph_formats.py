"""Graph formats for other programs: GraphML, node-link JSON and DOT."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from memory.transfer.graph_export import ExportedGraph

if TYPE_CHECKING:
    import networkx

# Characters that XML does not allow, not even escaped.
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_LABEL = 60  # characters of a text on a node


def write_graph(found: ExportedGraph, form: str) -> str:
    return GRAPH_FORMATS[form][0](found)


def _graph(found: ExportedGraph, clean: Callable[[Any], Any] = lambda value: value) -> networkx.MultiDiGraph[str]:
    import networkx  # takes half a second, so it is imported only for an export

    graph: networkx.MultiDiGraph[str] = networkx.MultiDiGraph()
    for nodes, kind in ((found.grains, "grain"), (found.entries, "entry")):
        for name, fields in nodes.items():
            given = {key: clean(value) for key, value in fields.items() if value is not None}
            graph.add_node(clean(name), node=kind, **given)
    for start, end, fields in found.links:
        graph.add_edge(clean(start), clean(end), **{key: clean(value) for key, value in fields.items()})
    return graph


def to_graphml(found: ExportedGraph) -> str:
    import networkx

    def clean(value: Any) -> Any:
        return _NOT_XML.sub("\ufffd", value) if isinstance(value, str) else value

    head = '<?xml version="1.0" encoding="UTF-8"?>\n'
    return head + "\n".join(networkx.generate_graphml(_graph(found, clean), named_key_ids=True)) + "\n"


def to_node_link(found: ExportedGraph) -> str:
    import networkx

    data = networkx.node_link_data(_graph(found), edges="links")
    return json.dumps(data | {"more": found.more}, ensure_ascii=False)


def to_dot(found: ExportedGraph) -> str:
    lines = ["digraph flux {"]
    for nodes, shape in ((found.grains, "box"), (found.entries, "ellipse")):
        for name, fields in nodes.items():
            label = str(fields.get("content") or fields.get("feature"))
            short = label if len(label) <= _LABEL else label[: _LABEL - 1] + "…"
            lines.append(f"  {_quoted(name)} [shape={shape}, label={_quoted(short)}];")
    for start, end, fields in found.links:
        lines.append(
            f"  {_quoted(start)} -> {_quoted(end)} [label={_quoted(fields['relation'])}, weight={fields['weight']:g}];"
        )
    return "\n".join([*lines, "}"]) + "\n"


def _quoted(text: str) -> str:
    """Quoted DOT string: quotes and backslashes are escaped, unprintable characters become spaces."""
    plain = "".join(one if one.isprintable() else " " for one in text)
    return '"' + plain.replace("\\", "\\\\").replace('"', '\\"') + '"'


# By format: function that writes it, media type, file extension.
GRAPH_FORMATS: dict[str, tuple[Callable[[ExportedGraph], str], str, str]] = {
    "graphml": (to_graphml, "application/graphml+xml", "graphml"),
    "json": (to_node_link, "application/json", "json"),
    "dot": (to_dot, "text/vnd.graphviz", "dot"),
}
