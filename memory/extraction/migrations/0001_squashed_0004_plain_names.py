"""The tables of a new database at once, in a quarter of the time that all steps so far take one by one."""

import django.db.models.deletion
from django.db import migrations, models

from fluxcore.new_tables import CreateTables

TABLES = [
    migrations.CreateModel(
        name='ModelServer',
        fields=[
            ('name', models.CharField(max_length=300, primary_key=True, serialize=False)),
            ('failures', models.PositiveIntegerField(default=0)),
            ('down_since', models.DateTimeField(null=True)),
            ('next_at', models.DateTimeField(null=True)),
            ('well_at', models.DateTimeField(null=True)),
            ('problem', models.CharField(default='', max_length=200)),
        ],
        options={
            'db_table': 'extraction_server',
        },
    ),
    migrations.CreateModel(
        name='AgentSpend',
        fields=[
            ('id', models.BigAutoField(primary_key=True, serialize=False)),
            ('day', models.DateField()),
            ('who', models.CharField(max_length=160)),
            ('calls', models.PositiveIntegerField(default=0)),
            ('tokens', models.BigIntegerField(default=0)),
            ('space', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='accounts.space')),
        ],
        options={
            'constraints': [models.UniqueConstraint(fields=('space', 'day', 'who'), name='spend_agent_day')],
        },
    ),
    migrations.CreateModel(
        name='DerivedGrain',
        fields=[
            ('id', models.BigAutoField(primary_key=True, serialize=False)),
            ('begins', models.PositiveIntegerField()),
            ('ends', models.PositiveIntegerField()),
            ('model', models.CharField(max_length=120)),
            ('at', models.DateTimeField()),
            ('grain', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='grains.grain')),
            ('source', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='grains.grain')),
            ('space', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='accounts.space')),
        ],
        options={
            'verbose_name_plural': 'derived',
            'db_table': 'extraction_derived',
            'constraints': [models.UniqueConstraint(fields=('source', 'grain'), name='derived_once')],
        },
    ),
    migrations.CreateModel(
        name='Extraction',
        fields=[
            ('id', models.BigAutoField(primary_key=True, serialize=False)),
            ('ceiling', models.SmallIntegerField()),
            ('asked_by', models.CharField(db_default='', default='', max_length=160)),
            ('state', models.CharField(choices=[('waiting', 'Waiting'), ('done', 'Done'), ('given_up', 'Given Up')], default='waiting', max_length=8)),
            ('tries', models.PositiveSmallIntegerField(default=0)),
            ('asked_at', models.DateTimeField()),
            ('due_at', models.DateTimeField()),
            ('taken_until', models.DateTimeField(null=True)),
            ('finished_at', models.DateTimeField(null=True)),
            ('found', models.PositiveSmallIntegerField(default=0)),
            ('problem', models.CharField(default='', max_length=200)),
            ('grain', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='grains.grain')),
            ('space', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='accounts.space')),
        ],
        options={
            'indexes': [models.Index(condition=models.Q(('state', 'waiting')), fields=['space', 'due_at', 'id'], name='extraction_waiting'), models.Index(condition=models.Q(('state', 'given_up')), fields=['space', 'id'], name='extraction_given_up')],
        },
    ),
    migrations.CreateModel(
        name='ModelSpend',
        fields=[
            ('id', models.BigAutoField(primary_key=True, serialize=False)),
            ('day', models.DateField()),
            ('calls', models.PositiveIntegerField(default=0)),
            ('failed', models.PositiveIntegerField(default=0)),
            ('tokens', models.BigIntegerField(default=0)),
            ('space', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='accounts.space')),
        ],
        options={
            'db_table': 'extraction_spend',
            'constraints': [models.UniqueConstraint(fields=('space', 'day'), name='spend_space_day')],
        },
    ),
]


class Migration(migrations.Migration):

    replaces = [
        ('extraction', '0001_what_waits_for_the_model'),
        ('extraction', '0002_budget_share'),
        ('extraction', '0003_plain_names'),
        ('extraction', '0004_plain_names'),
    ]

    initial = True

    dependencies = [
        ('accounts', '0005_tools'),
        ('grains', '0001_squashed_0014_plain_vote_names'),
    ]

    operations = [
        CreateTables(TABLES),
    ]
