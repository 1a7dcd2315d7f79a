"""ONNX graph of MiniLM in eight bits, built from the 32-bit weights.

Weights are rounded per output column to -64..64, not to -127..127: the multiply-add of processors without VNNI
saturates at 16 bits beyond that, which costs accuracy and makes results differ between machines. Activations get
their scale while running, one text at a time, so the vector of a text does not depend on other texts.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

LAYERS, HEADS, WIDTH, PIECES = 6, 12, 384, 256
# Version of the graph, part of its file name: raise it when the graph changes.
RECIPE = 1

_REDUCED, _FULL = 64, 127  # highest rounded weight
_EPSILON = 1e-12
_FUSED = "com.microsoft"

Weights = Mapping[str, npt.NDArray[Any]]


def by_column(weight: npt.NDArray[np.float32], top: int = _REDUCED) -> tuple[npt.NDArray[np.int8], Any]:
    """Weights as int8 numbers up to `top`, and the scale of each column."""
    scale = np.maximum(np.maximum(weight.max(axis=0), -weight.min(axis=0)), 1e-12) / np.float32(top)
    rounded = weight / scale
    return np.rint(rounded, out=rounded).astype(np.int8), scale.astype(np.float32)


class _GraphWriter:
    """Collects nodes and constants of an ONNX graph."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def constant(self, name: str, value: npt.ArrayLike) -> str:
        from onnx import numpy_helper

        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name

    def node(self, kind: str, inputs: list[str], outputs: list[str], fused: bool = False, **attributes: Any) -> None:
        from onnx import helper

        domain = _FUSED if fused else ""
        self.nodes.append(helper.make_node(kind, inputs, outputs, name=outputs[0], domain=domain, **attributes))

    def weight(self, name: str, value: npt.NDArray[np.float32]) -> list[str]:
        numbers, scale = by_column(value)
        zeros = np.zeros(len(scale), dtype=np.int8)
        return [
            self.constant(f"{name}.q", numbers),
            self.constant(f"{name}.scale", scale),
            self.constant(f"{name}.zero", zeros),
        ]


def build_graph(weights: Weights) -> bytes:
    """Serialised model: ids of word pieces in, the mean of the last layer out."""
    from onnx import TensorProto, helper

    graph = _GraphWriter()
    state = _embeddings(graph, weights)
    for number in range(LAYERS):
        state = _layer(graph, weights, number, state)
    graph.constant("tokens_axis", np.array([1], dtype=np.int64))
    graph.node("ReduceMean", [state, "tokens_axis"], ["mean"], keepdims=0)
    model = helper.make_model(
        helper.make_graph(
            graph.nodes,
            "minilm",
            [helper.make_tensor_value_info("ids", TensorProto.INT64, [1, "length"])],
            [helper.make_tensor_value_info("mean", TensorProto.FLOAT, [1, WIDTH])],
            initializer=graph.constants,
        ),
        opset_imports=[helper.make_opsetid("", 18), helper.make_opsetid(_FUSED, 1)],
        ir_version=9,
        producer_name="flux-memory",
    )
    return bytes(model.SerializeToString(deterministic=True))


def _embeddings(graph: _GraphWriter, weights: Weights) -> str:
    # Transposed, so that each word has its own scale; the full range is used because nothing saturates here.
    rows, scale = by_column(weights["embeddings.word_embeddings.weight"].T, _FULL)
    graph.constant("words.q", rows.T)
    graph.constant("words.scale", scale[:, None])
    positions = weights["embeddings.position_embeddings.weight"][:PIECES]
    graph.constant("positions", positions + weights["embeddings.token_type_embeddings.weight"][0])
    graph.constant("from", np.array([0], dtype=np.int64))
    graph.node("Gather", ["words.q", "ids"], ["words.rounded"])
    graph.node("Gather", ["words.scale", "ids"], ["words.scales"])
    graph.node("Cast", ["words.rounded"], ["words.float"], to=1)
    graph.node("Mul", ["words.float", "words.scales"], ["words"])
    graph.node("Shape", ["ids"], ["length"], start=1, end=2)
    graph.node("Slice", ["positions", "from", "length"], ["places"])
    graph.node("Add", ["words", "places"], ["placed"])
    norm = _norm(graph, weights, "embeddings.LayerNorm")
    graph.node("LayerNormalization", ["placed", *norm], ["embedded"], axis=-1, epsilon=_EPSILON)
    return "embedded"


def _layer(graph: _GraphWriter, weights: Weights, number: int, state: str) -> str:
    place, prefix = f"encoder.layer.{number}", f"l{number}"
    heads = [f"{place}.attention.self.{part}" for part in ("query", "key", "value")]
    packed = np.concatenate([weights[f"{head}.weight"].T for head in heads], axis=1)
    numbers, scale, zero = graph.weight(f"{prefix}.qkv", packed)
    bias = graph.constant(f"{prefix}.qkv.bias", np.concatenate([weights[f"{head}.bias"] for head in heads]))
    graph.node("DynamicQuantizeLinear", [state], [f"{prefix}.in", f"{prefix}.in.scale", f"{prefix}.in.zero"])
    graph.node(
        "QAttention",
        [f"{prefix}.in", numbers, bias, f"{prefix}.in.scale", scale, "", f"{prefix}.in.zero", zero],
        [f"{prefix}.attended"],
        fused=True,
        num_heads=HEADS,
    )
    mixed = _dense(graph, weights, f"{place}.attention.output.dense", f"{prefix}.attended", f"{prefix}.mixed")
    middle = _add_and_norm(graph, weights, f"{place}.attention.output.LayerNorm", mixed, state, f"{prefix}.middle")
    wide = _dense(graph, weights, f"{place}.intermediate.dense", middle, f"{prefix}.wide")
    graph.node("Gelu", [wide], [f"{prefix}.bent"], fused=True)
    narrow = _dense(graph, weights, f"{place}.output.dense", f"{prefix}.bent", f"{prefix}.narrow")
    return _add_and_norm(graph, weights, f"{place}.output.LayerNorm", narrow, middle, f"{prefix}.out")


def _dense(graph: _GraphWriter, weights: Weights, place: str, source: str, out: str) -> str:
    parts = graph.weight(out, weights[f"{place}.weight"].T)
    bias = graph.constant(f"{out}.bias", weights[f"{place}.bias"])
    graph.node("DynamicQuantizeMatMul", [source, *parts, bias], [out], fused=True)
    return out


def _norm(graph: _GraphWriter, weights: Weights, place: str) -> list[str]:
    return [graph.constant(f"{place}.{part}", weights[f"{place}.{part}"]) for part in ("weight", "bias")]


def _add_and_norm(graph: _GraphWriter, weights: Weights, place: str, left: str, right: str, out: str) -> str:
    norm = _norm(graph, weights, place)
    graph.node("SkipLayerNormalization", [left, right, *norm], [out], fused=True, epsilon=_EPSILON)
    return out
