"""The tables of a new database at once, in a quarter of the time that all steps so far take one by one."""

import django.db.models.deletion
from django.db import migrations, models

from fluxcore.new_tables import CreateTables

TABLES = [
    migrations.CreateModel(
        name='LogPosition',
        fields=[
            ('id', models.PositiveSmallIntegerField(primary_key=True, serialize=False)),
            ('xid', models.BigIntegerField(default=0)),
            ('event', models.BigIntegerField(default=0)),
        ],
        options={
            'db_table': 'health_place',
        },
    ),
    migrations.CreateModel(
        name='SpaceHealth',
        fields=[
            ('id', models.BigAutoField(primary_key=True, serialize=False)),
            ('beat', models.BigIntegerField(default=0)),
            ('measured_at', models.DateTimeField(db_index=True, null=True)),
            ('status', models.CharField(default='healthy', max_length=8)),
            ('signals', models.JSONField(default=dict)),
            ('levels', models.JSONField(default=dict)),
            ('walk', models.JSONField(default=dict)),
            ('moved', models.BigIntegerField(default=0)),
            ('counted', models.BigIntegerField(default=-1)),
            ('replay', models.JSONField(default=dict)),
            ('space', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='accounts.space')),
        ],
        options={
            'db_table': 'health_condition',
        },
    ),
    migrations.CreateModel(
        name='CountedQuestion',
        fields=[
            ('id', models.BigAutoField(primary_key=True, serialize=False)),
            ('judged', models.BigIntegerField(unique=True)),
            ('who', models.CharField(max_length=160)),
            ('hour', models.IntegerField()),
            ('confidence', models.FloatField(null=True)),
            ('judged_now', models.BooleanField()),
            ('useful', models.BooleanField()),
            ('evidence', models.BooleanField()),
            ('space', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='accounts.space')),
        ],
        options={
            'db_table': 'health_verdict',
            'indexes': [models.Index(condition=models.Q(('evidence', True)), fields=['space', 'judged'], name='verdict_evidence')],
        },
    ),
    migrations.CreateModel(
        name='HourlySum',
        fields=[
            ('id', models.BigAutoField(primary_key=True, serialize=False)),
            ('who', models.CharField(default='', max_length=160)),
            ('hour', models.IntegerField()),
            ('name', models.CharField(max_length=32)),
            ('value', models.FloatField()),
            ('space', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='accounts.space')),
        ],
        options={
            'verbose_name_plural': 'tallies',
            'db_table': 'health_tally',
            'indexes': [models.Index(condition=models.Q(('who', ''), _negated=True), fields=['space', 'hour'], name='tally_callers')],
            'constraints': [models.UniqueConstraint(fields=('space', 'who', 'hour', 'name'), name='tally_once')],
        },
    ),
    migrations.CreateModel(
        name='Reading',
        fields=[
            ('id', models.BigAutoField(primary_key=True, serialize=False)),
            ('at', models.BigIntegerField()),
            ('signal', models.CharField(max_length=40)),
            ('value', models.FloatField(null=True)),
            ('low', models.FloatField(null=True)),
            ('high', models.FloatField(null=True)),
            ('state', models.CharField(max_length=8)),
            ('hourly', models.BooleanField()),
            ('space', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='accounts.space')),
        ],
        options={
            'indexes': [models.Index(condition=models.Q(('hourly', False)), fields=['at'], name='reading_fine')],
            'constraints': [models.UniqueConstraint(fields=('space', 'at', 'signal'), name='reading_once')],
        },
    ),
    migrations.CreateModel(
        name='Warning',
        fields=[
            ('id', models.BigAutoField(primary_key=True, serialize=False)),
            ('signal', models.CharField(max_length=40)),
            ('severity', models.CharField(choices=[('INFO', 'Info'), ('WARNING', 'Warning'), ('CRITICAL', 'Critical')], max_length=8)),
            ('value', models.FloatField(null=True)),
            ('low', models.FloatField(null=True)),
            ('high', models.FloatField(null=True)),
            ('times', models.PositiveIntegerField()),
            ('raised_at', models.DateTimeField()),
            ('seen_at', models.DateTimeField()),
            ('cleared_at', models.DateTimeField(null=True)),
            ('acknowledged_at', models.DateTimeField(null=True)),
            ('acknowledged_by', models.CharField(default='', max_length=160)),
            ('alerted_at', models.DateTimeField(null=True)),
            ('space', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='accounts.space')),
        ],
        options={
            'indexes': [models.Index(fields=['space', 'id'], name='warning_space')],
            'constraints': [models.UniqueConstraint(condition=models.Q(('cleared_at', None)), fields=('space', 'signal'), name='warning_open')],
        },
    ),
]


class Migration(migrations.Migration):

    replaces = [
        ('health', '0001_what_is_measured'),
        ('health', '0002_plain_names'),
        ('health', '0003_plain_names'),
    ]

    initial = True

    dependencies = [
        ('accounts', '0005_tools'),
    ]

    operations = [
        CreateTables(TABLES),
    ]
