"""MiniLM in 32 bits and plain numpy, from the published description: what the eight-bit graph is held against."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = Any


def erf(x: Array) -> Array:
    """Abramowitz and Stegun 7.1.26, off by less than 2e-7."""
    t = 1 / (1 + 0.3275911 * np.abs(x))
    poly = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))))
    return np.sign(x) * (1 - poly * np.exp(-x * x))


def normed(x: Array, weights: dict[str, Array], place: str) -> Array:
    centred = x - x.mean(axis=-1, keepdims=True)
    scaled = centred / np.sqrt((centred * centred).mean(axis=-1, keepdims=True) + 1e-12)
    return scaled * weights[f"{place}.weight"] + weights[f"{place}.bias"]


def dense(x: Array, weights: dict[str, Array], place: str) -> Array:
    return x @ weights[f"{place}.weight"].T + weights[f"{place}.bias"]


def attended(x: Array, weights: dict[str, Array], place: str) -> Array:
    length = len(x)
    query, key, value = (
        dense(x, weights, f"{place}.{part}").reshape(length, 12, 32).transpose(1, 0, 2)
        for part in ("query", "key", "value")
    )
    scores = query @ key.transpose(0, 2, 1) / 32**0.5
    odds = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return (odds / odds.sum(axis=-1, keepdims=True) @ value).transpose(1, 0, 2).reshape(length, 384)


def aligned(weights: dict[str, Array]) -> dict[str, Array]:
    """Mapped arrays begin anywhere in the file; numpy multiplies such a hundred times slower."""
    return {name: np.array(value) for name, value in weights.items()}


def vector(ids: list[int], weights: dict[str, Array]) -> Array:
    x = weights["embeddings.word_embeddings.weight"][ids] + weights["embeddings.token_type_embeddings.weight"][0]
    x = normed(x + weights["embeddings.position_embeddings.weight"][: len(ids)], weights, "embeddings.LayerNorm")
    for number in range(6):
        place = f"encoder.layer.{number}"
        mixed = dense(attended(x, weights, f"{place}.attention.self"), weights, f"{place}.attention.output.dense")
        x = normed(x + mixed, weights, f"{place}.attention.output.LayerNorm")
        wide = dense(x, weights, f"{place}.intermediate.dense")
        bent = wide * 0.5 * (1 + erf(wide / 2**0.5))
        x = normed(x + dense(bent, weights, f"{place}.output.dense"), weights, f"{place}.output.LayerNorm")
    mean = x.mean(axis=0)
    return (mean / np.linalg.norm(mean)).astype(np.float32)
