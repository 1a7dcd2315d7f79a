"""Models get plain names and keep their tables."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("grains", "0012_grain_usage")]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.AlterModelTable("Touch", "grains_touch"),
                migrations.RenameModel("Touch", "ClusterUse"),
                migrations.AlterModelTable("Passage", "grains_passage"),
                migrations.RenameModel("Passage", "ClusterUseVote"),
                migrations.AlterModelTable("Shift", "grains_shift"),
                migrations.RenameModel("Shift", "ContextShift"),
                migrations.AlterModelTable("Judged", "grains_judged"),
                migrations.RenameModel("Judged", "JudgedQuestion"),
                migrations.AlterModelTable("Standing", "grains_standing"),
                migrations.RenameModel("Standing", "LastRecall"),
                migrations.AlterModelTable("Bookmark", "grains_bookmark"),
                migrations.RenameModel("Bookmark", "Cursor"),
                migrations.AlterModelTable("Recalled", "grains_recalled"),
                migrations.RenameModel("Recalled", "TraceGrain"),
            ],
        ),
    ]
