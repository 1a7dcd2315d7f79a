"""The tables of a new database at once, in a quarter of the time that all steps so far take one by one."""

import django.db.models.deletion
import uuid
from django.db import migrations, models

from fluxcore.new_tables import CreateTables

TABLES = [
    migrations.CreateModel(
        name='Import',
        fields=[
            ('id', models.BigAutoField(primary_key=True, serialize=False)),
            ('uuid', models.UUIDField(default=uuid.uuid4, unique=True)),
            ('by', models.CharField(max_length=160)),
            ('source', models.CharField(max_length=200)),
            ('format', models.CharField(max_length=16)),
            ('ceiling', models.CharField(max_length=16)),
            ('total', models.PositiveIntegerField()),
            ('done', models.PositiveIntegerField(default=0)),
            ('stored', models.PositiveIntegerField(default=0)),
            ('there', models.PositiveIntegerField(default=0)),
            ('refused', models.PositiveIntegerField(default=0)),
            ('capped', models.PositiveIntegerField(default=0)),
            ('links', models.PositiveIntegerField(default=0)),
            ('job', models.UUIDField(null=True)),
            ('asked_at', models.DateTimeField()),
            ('finished_at', models.DateTimeField(null=True)),
            ('space', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='accounts.space')),
        ],
    ),
    migrations.CreateModel(
        name='ImportPiece',
        fields=[
            ('id', models.BigAutoField(primary_key=True, serialize=False)),
            ('place', models.PositiveIntegerField()),
            ('links', models.BooleanField(default=False)),
            ('items', models.JSONField()),
            ('report', models.JSONField(default=list)),
            ('taken', models.BooleanField(default=False)),
            ('whole', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='pieces', to='transfer.import')),
        ],
        options={
            'db_table': 'transfer_piece',
        },
    ),
    migrations.AddIndex(
        model_name='import',
        index=models.Index(fields=['space', 'id'], name='import_of_a_space'),
    ),
    migrations.AddConstraint(
        model_name='importpiece',
        constraint=models.UniqueConstraint(fields=('whole', 'place'), name='piece_once'),
    ),
]


class Migration(migrations.Migration):

    replaces = [
        ('transfer', '0001_what_moves_in'),
        ('transfer', '0002_plain_names'),
    ]

    initial = True

    dependencies = [
        ('accounts', '0005_tools'),
    ]

    operations = [
        CreateTables(TABLES),
    ]
