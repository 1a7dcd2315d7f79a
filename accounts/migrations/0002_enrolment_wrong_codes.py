from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0001_initial'),
    ]

    operations = [
        migrations.AddField(
            model_name='enrolment',
            name='wrong_codes',
            field=models.PositiveSmallIntegerField(default=0),
        ),
    ]
