"""flux-memory's `flux.storage.FluxStore`: an instance opened in this process, made if it is not there yet."""

from __future__ import annotations

import os
from pathlib import Path
from types import TracebackType

from fluxcore.errors import Invalid, StopTheInstance
from fluxsite.home import DataHome, HomeError, current_home, make_home

DATABASE = "flux.db"


def refuse_backends(*given: object) -> None:
    """A model or an encoder handed over in Python would be one the server does not have."""
    if any(one is not None for one in given):
        raise Invalid("The instance's config.yaml names its model and encoder; leave llm and embedding out.")


class FluxStore:
    """`FluxStore("~/.flux/NAME/flux.db")` opens the instance NAME. One process holds one instance."""

    def __init__(self, path: str | os.PathLike[str], *, llm: object = None, embedding: object = None) -> None:
        refuse_backends(llm, embedding)
        file = Path(path).expanduser().absolute()
        if file.name != DATABASE:
            raise Invalid(f"An instance is a folder with a {DATABASE}: name HOME/NAME/{DATABASE}, not {file}.")
        os.environ.update(FLUX_HOME=str(file.parent.parent), FLUX_NAME=file.parent.name)
        os.environ.setdefault("FLUX_BOOTH", "thread")  # threads of the caller's share a commit
        os.environ.setdefault("DJANGO_SETTINGS_MODULE", "fluxsite.settings")
        try:
            self.home = current_home()
            before = os.umask(0o077)  # whatever is made in the data home is its owner's alone
            try:
                make_home(self.home)
                _open(self.home)
            finally:
                os.umask(before)
        except (HomeError, OSError) as error:
            raise Invalid(str(error)) from None
        self.path = file

    def close(self) -> None:
        """Let go of this thread's connection. What was stored is on disk since it was answered."""
        from django.db import connections

        connections.close_all()

    def __enter__(self) -> FluxStore:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()


def _open(home: DataHome) -> None:
    """Django for this home, with its tables and its first space."""
    import django
    from django.apps import apps
    from django.conf import settings

    if not apps.ready:
        django.setup()
    if settings.HOME.path != home.path:
        raise StopTheInstance(f"This process holds the instance {settings.HOME.name}; open {home.name} in another one.")
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
