"""flux-memory's `flux.storage.FluxStore`: an instance opened in this process, created if it does not exist."""

from __future__ import annotations

import os
from pathlib import Path
from types import TracebackType

from fluxcore.errors import Invalid, StopTheInstance
from fluxsite.home import DataHome, HomeError, current_home, make_home

DATABASE = "flux.db"


def refuse_backends(*given: object) -> None:
    """Refuse a model or encoder given in Python: the server would not have it."""
    if any(backend is not None for backend in given):
        raise Invalid("The instance's config.yaml names its model and encoder; leave llm and embedding out.")


class FluxStore:
    """An opened instance: `FluxStore("~/.flux/NAME/flux.db")` opens NAME. A process can open only one."""

    def __init__(self, path: str | os.PathLike[str], *, llm: object = None, embedding: object = None) -> None:
        refuse_backends(llm, embedding)
        file = Path(path).expanduser().absolute()
        if file.name != DATABASE:
            raise Invalid(f"{file} is not the database of an instance. Give HOME/NAME/{DATABASE}.")
        os.environ.update(FLUX_HOME=str(file.parent.parent), FLUX_NAME=file.parent.name)
        os.environ.setdefault("FLUX_BOOTH", "thread")  # the caller's threads share commits
        os.environ.setdefault("DJANGO_SETTINGS_MODULE", "fluxsite.settings")
        try:
            self.home = current_home()
            old_umask = os.umask(0o077)  # new files in the data home are readable by their owner only
            try:
                make_home(self.home)
                _open(self.home)
            finally:
                os.umask(old_umask)
        except (HomeError, OSError) as error:
            raise Invalid(str(error)) from None
        self.path = file

    def close(self) -> None:
        """Close this thread's database connection. Everything stored is on disk already."""
        from django.db import connections

        connections.close_all()

    def __enter__(self) -> FluxStore:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()


def _open(home: DataHome) -> None:
    """Set up Django for this data home, and create missing tables and the first space."""
    import django
    from django.apps import apps
    from django.conf import settings

    if not apps.ready:
        django.setup()
    if settings.HOME.path != home.path:
        raise StopTheInstance(
            f"This process has opened the instance {settings.HOME.name}. Open {home.name} in another process."
        )
    from accounts import agents
    from accounts.models import Space
    from accounts.principals import shell
    from fluxsite import setup
    from fluxsite.run import running_state

    if setup.pending_migrations():
        with running_state.wait_and_hold_instance(home):
            setup.bring_up_to_date(home)
    if not Space.objects.filter(name=setup.FIRST_SPACE).exists():
        agents.create_space(shell(), name=setup.FIRST_SPACE, reason="opened by a program")
