"""Keys of config.yaml about monitoring: health snapshots, alerts and audit checkpoints."""

from __future__ import annotations

from dataclasses import dataclass

from fluxcore.config.key import key


@dataclass(frozen=True)
class MonitoringKeys:
    """Keys of health snapshots, alerts and audit checkpoints."""

    HEALTH_TICK_MINUTES: float = key(15.0, "minutes between health snapshots; 0: none", low=0, high=1440)
    ALERTS_ENABLED: bool = key(False, "send health warnings to ALERT_WEBHOOK_URL", hot=True)
    ALERT_WEBHOOK_URL: str = key("", "http or https address that warnings are posted to", hot=True)
    ALERT_WEBHOOK_SECRET: str = key("", "key that signs alerts, at least 16 characters", hot=True)
    ALERT_PRIVATE_ADDRESSES: bool = key(False, "allow a webhook on this machine or its network", hot=True)
    ALERT_LEAST_SEVERITY: str = key(
        "WARNING", "lowest severity that is sent", allowed=("INFO", "WARNING", "CRITICAL"), hot=True
    )
    ALERT_MIN_INTERVAL_HOURS: float = key(
        6.0, "hours between two alerts about one signal of a space", low=0, high=1e5, hot=True
    )
    AUDIT_CHECKPOINT_MINUTES: int = key(
        60, "minutes between signed checkpoints of the audit chains; 0: only by command", low=0, high=10_080, hot=True
    )
