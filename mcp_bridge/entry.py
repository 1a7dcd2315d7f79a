"""Entry point of `manage.py flux_mcp` and `flux mcp`, called before Django or anything else is loaded.

With FLUX_URL and FLUX_TOKEN it is a proxy of a running server (`mcp_bridge.proxy`) and never loads Django.
Otherwise it serves the instance of this machine: through the instance's running server if there is one
(`mcp_bridge.relay`, without Django too), or by itself (`mcp_bridge.stdio`). `python -m mcp_bridge.entry` is the same.
"""

from __future__ import annotations

import argparse
import os
import sys
from typing import TYPE_CHECKING

from mcp_bridge import stdio_guard

if TYPE_CHECKING:
    from mcp_bridge.relay import UnservedInput

EX_CONFIG = 78


def options(parser: argparse.ArgumentParser) -> None:
    """Options of the command, however it is started."""
    parser.add_argument("--space", default="main", help="the agent's space (default main)")
    parser.add_argument("--agent", default="assistant", help="the agent (default assistant)")
    parser.add_argument(
        "--ceiling", default="user_stated", help="the highest provenance the agent may claim (default user_stated)"
    )


def instance_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--name", help="the instance (default: FLUX_NAME or 'default')")
    options(parser)


def main(arguments: list[str]) -> None:
    """Serve until the client disconnects. The first argument may be the command's own name."""
    arguments = arguments[1:] if arguments[:1] == ["flux_mcp"] else arguments
    parser = argparse.ArgumentParser("flux_mcp", allow_abbrev=False)
    instance_options(parser)
    given = parser.parse_args(arguments)
    stdio_guard.claim_stdout()
    if os.environ.get("FLUX_URL") and os.environ.get("FLUX_TOKEN"):
        from mcp_bridge import proxy

        proxy.main()
        return
    if given.name:
        os.environ["FLUX_NAME"] = given.name
    from mcp_bridge import parent, relay

    parent.end_with_parent()
    left = relay.serve(given.space, given.agent, given.ceiling, stdio_guard.stdout_descriptor())
    if left is not None:
        set_up(given)
        serve(given.space, given.agent, given.ceiling, left)


def serve(space: str, agent: str, ceiling: str, left: UnservedInput | None = None) -> None:
    """Load the SDK and answer in this process until the client disconnects."""
    from fluxsite.run import gc_pause
    from mcp_bridge import sdk

    gc_pause.pause_gc_again()
    sdk.load_lean()
    from mcp_bridge import stdio

    gc_pause.freeze_and_resume_gc()
    stdio.serve(space, agent, ceiling, left)


def set_up(given: argparse.Namespace) -> None:
    """Set up Django for the server role `stdio`, which loads only what a local agent needs."""
    if given.name:
        os.environ["FLUX_NAME"] = given.name
    os.environ["FLUX_DOOR"] = "stdio"
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "fluxsite.settings")
    os.umask(0o077)
    from fluxcore.config import ConfigError
    from fluxsite.env import EnvError
    from fluxsite.home import HomeError
    from fluxsite.run import gc_pause

    gc_pause.pause_gc()
    import django

    try:
        django.setup()
    except (ConfigError, EnvError, HomeError) as error:
        sys.stderr.write(f"flux: {error}\n")
        raise SystemExit(EX_CONFIG) from None


if __name__ == "__main__":
    main(sys.argv[1:])
