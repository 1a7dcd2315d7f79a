"""Prometheus metrics for /metrics, summed over processes (prometheus_client's multiprocess files)."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from prometheus_client import CONTENT_TYPE_LATEST, REGISTRY, CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client import multiprocess as shared
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

CONTENT_TYPE = CONTENT_TYPE_LATEST

REQUESTS = Counter("flux_requests_total", "REST requests", ["method", "route", "status"])
SECONDS = Histogram(
    "flux_request_seconds",
    "Time in the server per REST request",
    ["route"],
    buckets=(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10),
)
JOBS = Counter("flux_job_runs_total", "Tries at background jobs", ["kind", "outcome"])
JOB_SECONDS = Histogram(
    "flux_job_seconds", "Time of a try at a background job", ["kind"], buckets=(0.01, 0.05, 0.25, 1, 5, 30, 120, 600)
)
BATCH_SIZE = Histogram(
    "flux_booth_batch_size", "Writers that shared a commit", buckets=(1, 2, 4, 8, 16, 32, 64, 128, 256)
)


def count_request(method: str, route: str, status: int, seconds: float) -> None:
    REQUESTS.labels(method if method in ("GET", "POST", "PUT", "PATCH", "DELETE") else "other", route, status).inc()
    SECONDS.labels(route).observe(seconds)


def job(kind: str, outcome: str, seconds: float) -> None:
    """Count a finished attempt at a job: done, failed, or lost to another worker."""
    JOBS.labels(kind, outcome).inc()
    JOB_SECONDS.labels(kind).observe(seconds)


class LabelledGauge(NamedTuple):
    """A gauge with a value for each combination of labels."""

    name: str
    says: str
    labels: tuple[str, ...]
    values: Mapping[tuple[str, ...], float]


class _CurrentGauges(Collector):
    """Gauges read from the database for each scrape, not kept per process."""

    def __init__(self, gauges: dict[str, tuple[str, float]], labelled: Iterable[LabelledGauge]) -> None:
        self._gauges, self._labelled = gauges, labelled

    def collect(self) -> Iterator[GaugeMetricFamily]:
        for name, (says, value) in self._gauges.items():
            yield GaugeMetricFamily(name, says, value=value)
        for gauge in self._labelled:
            family = GaugeMetricFamily(gauge.name, gauge.says, labels=gauge.labels)
            for labels, value in sorted(gauge.values.items()):
                family.add_metric(labels, value)
            yield family


def render(gauges: dict[str, tuple[str, float]], labelled: Iterable[LabelledGauge] = ()) -> bytes:
    """Text for /metrics: the metrics of all processes, and current gauges (name -> help, value)."""
    if os.environ.get("PROMETHEUS_MULTIPROC_DIR"):
        all_processes = CollectorRegistry()
        shared.MultiProcessCollector(all_processes)  # type: ignore[no-untyped-call]
    else:
        all_processes = REGISTRY
    current = CollectorRegistry()
    current.register(_CurrentGauges(gauges, labelled))
    return generate_latest(all_processes) + generate_latest(current)
