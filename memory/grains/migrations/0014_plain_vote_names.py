"""More models get plain names and keep their tables."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("grains", "0013_plain_names")]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.AlterModelTable("Attunement", "grains_attunement"),
                migrations.RenameModel("Attunement", "SpaceRankerWeights"),
                migrations.AlterModelTable("Effect", "grains_effect"),
                migrations.RenameModel("Effect", "VoteEffect"),
                migrations.AlterModelTable("Pair", "grains_pair"),
                migrations.RenameModel("Pair", "UsefulPair"),
            ],
        ),
    ]
