"""Models get plain names and keep their tables."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("extraction", "0002_budget_share")]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.AlterModelTable("Server", "extraction_server"),
                migrations.RenameModel("Server", "ModelServer"),
            ],
        ),
    ]
