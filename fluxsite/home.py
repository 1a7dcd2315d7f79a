"""The data home of an instance: its path, its files and secrets, and their permissions."""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from fluxcore import config, files

NAME_PATTERN = re.compile(r"[a-z0-9](?:[a-z0-9_-]{0,62}[a-z0-9])?")


class HomeError(ValueError):
    """The data home cannot be used; the message says what to do."""


def random_text() -> str:
    return secrets.token_urlsafe(48)


@dataclass(frozen=True)
class DataHome:
    """Paths of one instance. Reading a path creates nothing."""

    name: str
    path: Path

    @property
    def config(self) -> Path:
        return self.path / "config.yaml"

    @property
    def database(self) -> Path:
        return self.path / "flux.db"

    @property
    def log(self) -> Path:
        return self.path / "flux.log"

    @property
    def keys(self) -> Path:
        return self.path / "keys"

    @property
    def checkpoints(self) -> Path:
        """File of signed checkpoints of the audit chains."""
        return self.path / "checkpoints.jsonl"

    @property
    def queue(self) -> Path:
        return self.path / "queue"

    @property
    def run(self) -> Path:
        """Folder of files that are used only while the instance runs."""
        return self.path / "run"

    @property
    def models(self) -> Path:
        """Folder of model files built from the weights of encoder packages. Can be deleted; they are built again."""
        return self.path / "models"

    @property
    def arenas(self) -> Path:
        """Folder of the spaces' indexes, shared by the processes. Can be deleted; they are built again."""
        return self.path / "arenas"

    @property
    def blobs(self) -> Path:
        """Folder of contents by digest, unless BLOBS_URL names another place."""
        return self.path / "blobs"

    @property
    def backups(self) -> Path:
        return self.path / "backups"

    @property
    def integrations(self) -> Path:
        return self.path / "integrations"

    @property
    def initialised(self) -> bool:
        return self.config.exists()

    def make(self) -> None:
        """Create the folders, readable only by the owner."""
        inside = (self.keys, self.queue, self.run, self.models, self.arenas, self.backups, self.integrations)
        for folder in (self.path, *inside):
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            folder.chmod(0o700)

    def secret(self, name: str) -> str | None:
        """The key of that name; None if it does not exist."""
        path = self.keys / name
        try:
            return path.read_text(encoding="ascii").strip() or None
        except FileNotFoundError:
            return None
        except (OSError, UnicodeDecodeError):
            raise HomeError(f"The key file {path} cannot be read. Restore it from a backup.") from None

    def make_secret(self, name: str, make: Callable[[], str] = random_text) -> str:
        """The key of that name, created if it does not exist. Safe if two processes create it at the same time."""
        path = self.keys / name
        existing = self.secret(name)
        if existing is None:
            files.create_file(path, make())  # atomic: of two processes one wins, and no partial key is read
            existing = self.secret(name)
        if existing is None:
            raise HomeError(f"The key file {path} is empty. Restore it from a backup or delete it to make a new one.")
        return existing

    def exposed_keys(self) -> list[Path]:
        """Secret key files that other users of the machine can read."""
        if os.name != "posix" or not self.keys.is_dir():
            return []
        found = (path for path in sorted(self.keys.iterdir()) if "public" not in path.name and path.is_file())
        return [path for path in found if path.stat().st_mode & 0o077]

    def keep_secret(self, name: str, text: str) -> None:
        """Replace a key atomically."""
        files.replace_file(self.keys / name, text)


def current_home() -> DataHome:
    """The instance named by FLUX_NAME below FLUX_HOME (default `default` below ~/.flux)."""
    name = os.environ.get("FLUX_NAME") or "default"
    if not NAME_PATTERN.fullmatch(name):
        raise HomeError(f"Instance name {name!r}: use 1-64 of a-z, 0-9, '_' and '-', no punctuation at the edges.")
    root = Path(os.environ.get("FLUX_HOME") or Path.home() / ".flux").expanduser()
    return DataHome(name=name, path=root.absolute() / name)


def make_home(home: DataHome, *, mode: str = "caller_extracts") -> bool:
    """Create folders, keys and config.yaml. True if the instance is new."""
    home.make()
    home.make_secret("secret_key")
    if home.initialised:
        return False
    files.replace_file(home.config, config.render(replace(config.Config(), OPERATING_MODE=mode)))
    return True
