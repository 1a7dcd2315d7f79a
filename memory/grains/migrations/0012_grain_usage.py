"""Number and bytes of grains by writer, counted once for what is there"""

import django.db.models.deletion
from django.db import migrations, models

_COUNT = """
INSERT INTO grains_grainusage (space_id, writer, grains, bytes)
SELECT space_id, {writer}, COUNT(*), SUM({size}) FROM grains_grain GROUP BY space_id{by}
"""


def count_what_is_there(apps, schema_editor):
    size = "octet_length(text)" if schema_editor.connection.vendor == "postgresql" else "length(CAST(text AS BLOB))"
    with schema_editor.connection.cursor() as cursor:
        cursor.execute(_COUNT.format(writer="writer", size=size, by=", writer"))
        cursor.execute(_COUNT.format(writer="''", size=size, by=""))


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0005_tools'),
        ('grains', '0011_removed_texts'),
    ]

    operations = [
        migrations.CreateModel(
            name='GrainUsage',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('writer', models.CharField(max_length=160)),
                ('grains', models.BigIntegerField()),
                ('bytes', models.BigIntegerField()),
                ('space', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='accounts.space')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('space', 'writer'), name='grain_usage_writer')],
            },
        ),
        migrations.RunPython(count_what_is_there, migrations.RunPython.noop),
    ]
