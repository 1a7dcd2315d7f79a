"""More models get plain names and keep their tables."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("health", "0002_plain_names")]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.AlterModelTable("Tally", "health_tally"),
                migrations.RenameModel("Tally", "HourlySum"),
            ],
        ),
    ]
