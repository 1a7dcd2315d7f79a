"""The tables of a new database at once, in a quarter of the time that all steps so far take one by one."""

from importlib import import_module

import django.db.models.deletion
import uuid
from django.db import migrations, models

from fluxcore.new_tables import CreateTables

_first = import_module("memory.keyvalue.migrations.0001_initial")

TABLES = [
    migrations.CreateModel(
        name='ExpiryClock',
        fields=[
            ('boot', models.CharField(max_length=64, primary_key=True, serialize=False)),
            ('ahead', models.FloatField()),
            ('reached', models.FloatField()),
            ('wandered', models.FloatField(null=True)),
        ],
        options={
            'db_table': 'keyvalue_clockwork',
        },
    ),
    migrations.CreateModel(
        name='VersionFloor',
        fields=[
            ('space', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, primary_key=True, related_name='+', serialize=False, to='accounts.space')),
            ('floor', models.BigIntegerField()),
        ],
    ),
    migrations.CreateModel(
        name='WatchLimit',
        fields=[
            ('id', models.PositiveSmallIntegerField(primary_key=True, serialize=False)),
            ('xid', models.BigIntegerField(default=0)),
            ('event', models.BigIntegerField(default=0)),
        ],
        options={
            'db_table': 'keyvalue_horizon',
        },
    ),
    migrations.CreateModel(
        name='Namespace',
        fields=[
            ('id', models.BigAutoField(primary_key=True, serialize=False)),
            ('kind', models.CharField(choices=[('agent', 'Agent'), ('board', 'Board')], max_length=5)),
            ('name', models.CharField(max_length=64)),
            ('ephemeral', models.BooleanField(default=False)),
            ('keys', models.BigIntegerField(default=0)),
            ('bytes', models.BigIntegerField(default=0)),
            ('history_bytes', models.BigIntegerField(db_default=0, default=0)),
            ('queued', models.BigIntegerField(default=0)),
            ('queued_bytes', models.BigIntegerField(default=0)),
            ('floor', models.BigIntegerField(default=0)),
            ('recalled', models.TextField(null=True)),
            ('created_at', models.DateTimeField()),
            ('created_by', models.CharField(max_length=160)),
            ('agent', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='accounts.agent')),
            ('space', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='accounts.space')),
        ],
    ),
    migrations.CreateModel(
        name='Lock',
        fields=[
            ('id', models.BigAutoField(primary_key=True, serialize=False)),
            ('name', models.CharField(max_length=512)),
            ('token', models.BigIntegerField()),
            ('holder', models.CharField(max_length=160)),
            ('note', models.CharField(default='', max_length=200)),
            ('expires', models.FloatField()),
            ('acquired_at', models.DateTimeField()),
            ('board', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='locks', to='keyvalue.namespace')),
        ],
    ),
    migrations.CreateModel(
        name='Item',
        fields=[
            ('id', models.BigAutoField(primary_key=True, serialize=False)),
            ('key', models.CharField(max_length=512)),
            ('value', models.TextField(null=True)),
            ('version', models.BigIntegerField()),
            ('sha', models.CharField(max_length=64)),
            ('size', models.IntegerField()),
            ('expires', models.FloatField(null=True)),
            ('told', models.BooleanField(default=False)),
            ('written_at', models.DateTimeField()),
            ('writer', models.CharField(max_length=160)),
            ('displaced', models.IntegerField(default=-1)),
            ('origin', models.CharField(db_default='', default='', max_length=16)),
            ('namespace', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='items', to='keyvalue.namespace')),
        ],
    ),
    migrations.CreateModel(
        name='Revision',
        fields=[
            ('id', models.BigAutoField(primary_key=True, serialize=False)),
            ('version', models.BigIntegerField()),
            ('kind', models.CharField(choices=[('written', 'Written'), ('deleted', 'Deleted')], max_length=7)),
            ('value', models.TextField(null=True)),
            ('sha', models.CharField(max_length=64)),
            ('size', models.IntegerField()),
            ('expires', models.FloatField(null=True)),
            ('at', models.DateTimeField(db_index=True)),
            ('writer', models.CharField(max_length=160)),
            ('origin', models.CharField(db_default='', default='', max_length=16)),
            ('item', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='revisions', to='keyvalue.item')),
        ],
    ),
    migrations.CreateModel(
        name='Task',
        fields=[
            ('id', models.BigAutoField(primary_key=True, serialize=False)),
            ('uuid', models.UUIDField(default=uuid.uuid4, unique=True)),
            ('queue', models.CharField(max_length=512)),
            ('value', models.TextField()),
            ('size', models.IntegerField()),
            ('token', models.BigIntegerField(default=0)),
            ('holder', models.CharField(default='', max_length=160)),
            ('expires', models.FloatField(default=0.0)),
            ('added_at', models.DateTimeField()),
            ('added_by', models.CharField(max_length=160)),
            ('board', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='tasks', to='keyvalue.namespace')),
        ],
    ),
    migrations.AddConstraint(
        model_name='namespace',
        constraint=models.UniqueConstraint(fields=('space', 'kind', 'name'), name='namespace_once'),
    ),
    migrations.AddConstraint(
        model_name='lock',
        constraint=models.UniqueConstraint(fields=('board', 'name'), name='lock_once'),
    ),
    migrations.AddIndex(
        model_name='item',
        index=models.Index(condition=models.Q(('expires__isnull', False)), fields=['expires'], name='item_expiry'),
    ),
    migrations.AddConstraint(
        model_name='item',
        constraint=models.UniqueConstraint(fields=('namespace', 'key'), name='item_once'),
    ),
    migrations.AddIndex(
        model_name='revision',
        index=models.Index(fields=['item', 'version'], name='revision_version'),
    ),
    migrations.AddIndex(
        model_name='revision',
        index=models.Index(condition=models.Q(('expires__isnull', False)), fields=['expires'], name='revision_expiry'),
    ),
    migrations.AddIndex(
        model_name='task',
        index=models.Index(fields=['board', 'queue', 'id'], name='task_queue'),
    ),
]


class Migration(migrations.Migration):

    replaces = [
        ('keyvalue', '0001_initial'),
        ('keyvalue', '0002_counted_history'),
        ('keyvalue', '0003_plain_names'),
        ('keyvalue', '0004_recallable_values'),
    ]

    initial = True

    dependencies = [
        ('accounts', '0005_tools'),
    ]

    operations = [
        CreateTables(TABLES),
        migrations.RunPython(_first.order_by_code_point, migrations.RunPython.noop),
    ]
