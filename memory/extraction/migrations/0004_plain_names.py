"""More models get plain names and keep their tables."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("extraction", "0003_plain_names")]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.AlterModelTable("Derived", "extraction_derived"),
                migrations.RenameModel("Derived", "DerivedGrain"),
                migrations.AlterModelTable("Spend", "extraction_spend"),
                migrations.RenameModel("Spend", "ModelSpend"),
            ],
        ),
    ]
