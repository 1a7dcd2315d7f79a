"""Decisions of people about texts get a table, filled from the history of grains; purged grains keep no digest."""

import django.db.models.deletion
from django.db import migrations, models

REMOVED = ("quarantined", "pending_deletion")
CLASSES = ("working", "core", "ephemeral")


def fill(apps, schema_editor):
    grains, steps, removals = (apps.get_model("grains", name) for name in ("Grain", "Transition", "Removal"))
    found = {}
    rows = grains.objects.filter(status__in=REMOVED).order_by("id")
    for row in rows.only("id", "space_id", "digest", "status", "authority").iterator(1000):
        last = steps.objects.filter(space=row.space_id, grain=row.pk).exclude(after__in=CLASSES).order_by("-id").first()
        if last is None or last.after != row.status or not last.actor.startswith(("user:", "shell:")):
            continue
        key = row.space_id, row.digest
        highest = min(row.authority, found[key].authority) if key in found else row.authority
        if key not in found or last.at > found[key].at:
            found[key] = removals(
                space_id=row.space_id, digest=row.digest, status=row.status, actor=last.actor, at=last.at,
                lived=last.lived,
            )
        found[key].authority = highest
    removals.objects.bulk_create(found.values(), batch_size=500)


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0001_initial'),
        ('grains', '0010_what_was_there_before_votes'),
    ]

    operations = [
        migrations.RemoveField(model_name='tombstone', name='digest'),
        migrations.AddField(
            model_name='grain',
            name='salt',
            field=models.CharField(db_default='', default='', max_length=32),
        ),
        migrations.CreateModel(
            name='Removal',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('digest', models.CharField(max_length=64)),
                ('status', models.CharField(choices=[('active', 'Active'), ('dormant', 'Dormant'), ('archived', 'Archived'), ('quarantined', 'Quarantined'), ('pending_deletion', 'Pending Deletion')], max_length=16)),
                ('authority', models.SmallIntegerField()),
                ('actor', models.CharField(max_length=160)),
                ('at', models.DateTimeField()),
                ('lived', models.FloatField()),
                ('repeats', models.PositiveIntegerField(default=0)),
                ('repeated_at', models.DateTimeField(null=True)),
                ('repeated_by', models.CharField(default='', max_length=160)),
                ('space', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='accounts.space')),
            ],
            options={
                'indexes': [models.Index(condition=models.Q(('repeats__gt', 0)), fields=['space', 'repeated_at'], name='removal_repeated')],
                'constraints': [models.UniqueConstraint(fields=('space', 'digest'), name='removal_of_a_text')],
            },
        ),
        migrations.RunPython(fill, migrations.RunPython.noop),
    ]
