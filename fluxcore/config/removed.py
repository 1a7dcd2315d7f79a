"""Removed keys of earlier releases and of flux-memory. A config.yaml that has one gives a warning, not an error."""

from __future__ import annotations

# Removed key -> its replacement, as a sentence.
REMOVED = {
    "ADMIN_REST_HOST": "The administration is a part of the dashboard: set DASHBOARD_HOST.",
    "ADMIN_REST_PORT": "The administration is a part of the dashboard: set DASHBOARD_PORT.",
    "ALERT_TELEGRAM_BOT_TOKEN": "Alerts are sent to ALERT_WEBHOOK_URL.",
    "ALERT_TELEGRAM_CHAT_ID": "Alerts are sent to ALERT_WEBHOOK_URL.",
    "CLUSTER_WINDOW_DAYS": "Clusters are computed from all links; older links count less by their half-life.",
    "FALLBACK_CONFIDENCE_THRESHOLD": "Vectors are a part of every recall, not a fallback.",
    "TOMBSTONE_ENABLED": "Every purge leaves a row under Purged grains, without the text.",
    "TOMBSTONE_MIN_DEGREE": "Every purge leaves a row under Purged grains, without the text.",
    "VECTOR_FALLBACK_K": "Vectors are a part of every recall, not a fallback.",
    "VECTOR_FALLBACK_SCALE": "Vectors are a part of every recall, not a fallback.",
}


def removed_key_warning(name: str, where: str) -> str:
    """Warning about a removed key that is still set, with what to do."""
    return f"{where}: {name} has no effect. {REMOVED[name]} Delete the line."
