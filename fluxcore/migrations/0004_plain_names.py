"""Models get plain names and keep their tables; recurring jobs that were renamed keep when they were last asked for."""

from django.db import migrations

RENAMED = {"grains.clean": "grains.prune_links", "grains.age": "grains.decay", "grains.cluster": "clusters.compute",
           "grains.notice": "grains.record_use", "keyvalue.bury": "keyvalue.forget_deleted"}


def rename(apps, schema_editor):
    _rename(apps, RENAMED)


def rename_back(apps, schema_editor):
    _rename(apps, {new: old for old, new in RENAMED.items()})


def _rename(apps, names):
    states = apps.get_model("fluxcore", "ScheduleState").objects
    for old, new in names.items():
        if not states.filter(name=new).exists():
            states.filter(name=old).update(name=new)
        states.filter(name=old).delete()


class Migration(migrations.Migration):

    dependencies = [
        ('fluxcore', '0003_what_changes_nothing'),
    ]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.RenameModel('Turn', 'ScheduleState'),
                migrations.AlterModelTable('schedulestate', 'fluxcore_turn'),
                migrations.RenameModel('Pulse', 'UptimeClock'),
                migrations.AlterModelTable('uptimeclock', 'fluxcore_pulse'),
            ],
        ),
        migrations.RunPython(rename, rename_back),
    ]
