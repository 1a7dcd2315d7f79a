"""History counts in the quota of a namespace, boards can be deleted, and a lock lasts at most a day"""

import time

import django.db.models.deletion
from django.db import migrations, models

_COUNT_HISTORY = """
UPDATE keyvalue_namespace SET history_bytes = (
    SELECT COALESCE(SUM(r.size), 0) FROM keyvalue_revision r JOIN keyvalue_item i ON i.id = r.item_id
    WHERE i.namespace_id = keyvalue_namespace.id
)
"""


def end_locks_within_a_day(apps, schema_editor):
    """The clock of expiry counts seconds since 1970 as the wall clock does, and only ever leaves it by moments."""
    day = time.time() + 86_400
    apps.get_model("keyvalue", "Lock").objects.filter(expires__gt=day).update(expires=day)


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0005_tools'),
        ('keyvalue', '0001_initial'),
    ]

    operations = [
        migrations.CreateModel(
            name='VersionFloor',
            fields=[
                ('space', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, primary_key=True, related_name='+', serialize=False, to='accounts.space')),
                ('floor', models.BigIntegerField()),
            ],
        ),
        migrations.AddField(
            model_name='namespace',
            name='history_bytes',
            field=models.BigIntegerField(db_default=0, default=0),
        ),
        migrations.RunSQL(_COUNT_HISTORY, migrations.RunSQL.noop),
        migrations.RunPython(end_locks_within_a_day, migrations.RunPython.noop),
    ]
