"""Models get plain names and keep their tables."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("keyvalue", "0002_counted_history")]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.AlterModelTable("Clockwork", "keyvalue_clockwork"),
                migrations.RenameModel("Clockwork", "ExpiryClock"),
                migrations.AlterModelTable("Horizon", "keyvalue_horizon"),
                migrations.RenameModel("Horizon", "WatchLimit"),
            ],
        ),
    ]
