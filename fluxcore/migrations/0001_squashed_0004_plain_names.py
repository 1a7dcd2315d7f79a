"""The tables of a new database at once, in a quarter of the time that all steps so far take one by one."""

import django.db.models.deletion
import uuid
from django.db import migrations, models

from fluxcore.new_tables import CreateTables

TABLES = [
    migrations.CreateModel(
        name='LimitWindow',
        fields=[
            ('key', models.CharField(max_length=200, primary_key=True, serialize=False)),
            ('counts', models.JSONField(default=dict)),
        ],
    ),
    migrations.CreateModel(
        name='ScheduleState',
        fields=[
            ('name', models.CharField(max_length=64, primary_key=True, serialize=False)),
            ('asked_at', models.DateTimeField()),
            ('count', models.BigIntegerField(default=0)),
        ],
        options={
            'db_table': 'fluxcore_turn',
        },
    ),
    migrations.CreateModel(
        name='UptimeClock',
        fields=[
            ('id', models.SmallIntegerField(primary_key=True, serialize=False)),
            ('at', models.DateTimeField()),
            ('lived', models.FloatField(default=0.0)),
            ('doubted', models.FloatField(null=True)),
            ('jump', models.FloatField(default=0.0)),
        ],
        options={
            'db_table': 'fluxcore_pulse',
        },
    ),
    migrations.CreateModel(
        name='Event',
        fields=[
            ('id', models.BigAutoField(primary_key=True, serialize=False)),
            ('xid', models.BigIntegerField(default=0)),
            ('space', models.BigIntegerField(null=True)),
            ('kind', models.CharField(max_length=64)),
            ('at', models.DateTimeField()),
            ('actor', models.CharField(max_length=160)),
            ('subject', models.CharField(max_length=200)),
            ('data', models.JSONField(default=dict)),
            ('packed', models.BinaryField(null=True)),
        ],
        options={
            'indexes': [models.Index(fields=['xid', 'id'], name='event_position'), models.Index(fields=['space', 'xid', 'id'], name='event_space_position'), models.Index(condition=models.Q(('packed__isnull', False)), fields=['space', 'xid', 'id'], name='event_change'), models.Index(condition=models.Q(('packed__isnull', True)), fields=['space', 'at'], name='event_news')],
        },
    ),
    migrations.CreateModel(
        name='IdempotencyKey',
        fields=[
            ('id', models.BigAutoField(primary_key=True, serialize=False)),
            ('owner', models.CharField(max_length=160)),
            ('key', models.CharField(max_length=128)),
            ('request', models.CharField(max_length=64)),
            ('answer', models.TextField()),
            ('created_at', models.DateTimeField(db_index=True)),
        ],
        options={
            'constraints': [models.UniqueConstraint(fields=('owner', 'key'), name='idempotency_owner_key')],
        },
    ),
    migrations.CreateModel(
        name='Job',
        fields=[
            ('id', models.BigAutoField(primary_key=True, serialize=False)),
            ('uuid', models.UUIDField(default=uuid.uuid4, unique=True)),
            ('space', models.BigIntegerField(null=True)),
            ('kind', models.CharField(max_length=64)),
            ('args', models.JSONField(default=dict)),
            ('state', models.CharField(choices=[('queued', 'Queued'), ('running', 'Running'), ('done', 'Done'), ('parked', 'Parked')], default='queued', max_length=8)),
            ('attempts', models.PositiveSmallIntegerField(default=0)),
            ('due_at', models.DateTimeField()),
            ('lease_owner', models.CharField(default='', max_length=80)),
            ('lease_until', models.DateTimeField(null=True)),
            ('once_key', models.CharField(default='', max_length=200)),
            ('error', models.TextField(default='')),
            ('created_at', models.DateTimeField()),
            ('finished_at', models.DateTimeField(null=True)),
        ],
        options={
            'indexes': [models.Index(fields=['state', 'due_at', 'id'], name='job_ready'), models.Index(fields=['space', 'kind', 'id'], name='job_space_kind')],
            'constraints': [models.UniqueConstraint(condition=models.Q(('state', 'queued'), models.Q(('once_key', ''), _negated=True)), fields=('kind', 'once_key'), name='job_once')],
        },
    ),
    migrations.CreateModel(
        name='JobLine',
        fields=[
            ('id', models.BigAutoField(primary_key=True, serialize=False)),
            ('at', models.DateTimeField()),
            ('text', models.TextField()),
            ('job', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='lines', to='fluxcore.job')),
        ],
    ),
]


class Migration(migrations.Migration):

    replaces = [
        ('fluxcore', '0001_initial'),
        ('fluxcore', '0002_what_comes_round'),
        ('fluxcore', '0003_what_changes_nothing'),
        ('fluxcore', '0004_plain_names'),
    ]

    initial = True

    dependencies = [
    ]

    operations = [
        CreateTables(TABLES),
    ]
