"""TOTP keys move from django-otp's table, where they stood in clear, to sealed ones; agents get the trust they use."""

from __future__ import annotations

from django.conf import settings
from django.db import migrations
from django.utils import timezone

_PRIVILEGED = ("grains.manage", "snapshots.create", "graph.export")


def seal_keys(apps, schema_editor):
    from fluxcore.encryption import encrypt

    clear = apps.get_model("otp_totp", "TOTPDevice")
    sealed = apps.get_model("accounts", "Authenticator")
    for device in clear.objects.filter(confirmed=True).order_by("id"):
        sealed.objects.get_or_create(
            user_id=device.user_id,
            defaults={
                "name": device.name, "confirmed": True, "last_step": device.last_t, "created_at": timezone.now(),
                "sealed_key": encrypt(bytes.fromhex(device.key), about=f"authenticator:{device.user_id}"),
            },
        )
    clear.objects.all().delete()


def keep_what_agents_hold(apps, schema_editor):
    agents = apps.get_model("accounts", "Agent")
    for agent in agents.objects.all():
        if any(text.split(":")[0] in _PRIVILEGED for text in agent.capabilities):
            agents.objects.filter(pk=agent.pk).update(trust="privileged")


def end_old_sessions(apps, schema_editor):
    """Their table, with keys in clear, is no longer used."""
    apps.get_model("sessions", "Session").objects.all().delete()


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0002_people_and_grants"),
        ("otp_totp", "0003_add_timestamps"),
        ("sessions", "0001_initial"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]
    operations = [
        migrations.RunPython(seal_keys, migrations.RunPython.noop),
        migrations.RunPython(end_old_sessions, migrations.RunPython.noop),
        migrations.RunPython(keep_what_agents_hold, migrations.RunPython.noop),
    ]
