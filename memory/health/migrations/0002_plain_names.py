"""Models get plain names and keep their tables."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("health", "0001_what_is_measured")]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.AlterModelTable("Place", "health_place"),
                migrations.RenameModel("Place", "LogPosition"),
                migrations.AlterModelTable("Verdict", "health_verdict"),
                migrations.RenameModel("Verdict", "CountedQuestion"),
                migrations.AlterModelTable("Condition", "health_condition"),
                migrations.RenameModel("Condition", "SpaceHealth"),
            ],
        ),
    ]
