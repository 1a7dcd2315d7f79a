"""A share of the model's budget for each agent: who asked for an extraction, and what each agent spent"""

import django.db.models.deletion
from django.db import migrations, models

_WHO_ASKED = """
UPDATE extraction_extraction SET asked_by =
    (SELECT writer FROM grains_grain WHERE grains_grain.id = extraction_extraction.grain_id)
"""


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0005_tools'),
        ('extraction', '0001_what_waits_for_the_model'),
        ('grains', '0010_what_was_there_before_votes'),
    ]

    operations = [
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
        migrations.AddField(
            model_name='extraction',
            name='asked_by',
            field=models.CharField(db_default='', default='', max_length=160),
        ),
        migrations.RunSQL(_WHO_ASKED, migrations.RunSQL.noop),
    ]
