"""The fitted numbers of the ranker, written by `python -m benchmarks.fit_ranker`."""

WEIGHTS: dict[str, object] = {"version": "unfitted", "shared": {}, "experts": []}
CONFIDENCE: dict[str, object] = {}
