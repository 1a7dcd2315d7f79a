"""More models get plain names and keep their tables."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("transfer", "0001_what_moves_in")]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.AlterModelTable("Piece", "transfer_piece"),
                migrations.RenameModel("Piece", "ImportPiece"),
            ],
        ),
    ]
