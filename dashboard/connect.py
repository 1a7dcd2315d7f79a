"""The Connect page: mint a token for an agent and show it once, inside ready client configurations."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any
from uuid import UUID

from django import forms
from django.conf import settings
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_http_methods

from accounts import tokens
from accounts.adminsite.forms import CeilingField, ExpiryField
from accounts.models import Agent
from accounts.visitor import current_visitor
from dashboard import page_frame
from dashboard.account import sign_in_required
from dashboard.front_page import server_addresses
from fluxcore import config
from fluxcore.errors import FluxError, StepUpRequired
from mcp_bridge.clients import programs


class ConnectTokenForm(forms.Form):
    """Maximum provenance, expiry and note of the new token."""

    ceiling = CeilingField()
    expires_at = ExpiryField(initial="")
    note = forms.CharField(required=False, max_length=tokens.MAX_NOTE, help_text="What the token is for.")

    def __init__(self, agent: Agent, data: Any = None) -> None:
        super().__init__(data, label_suffix="", initial={"ceiling": tokens.usual_ceiling(agent)})


@dataclass(frozen=True)
class ClientSnippet:
    """A client configuration to paste, and the file it belongs in."""

    name: str
    title: str
    where: str
    text: str


@sign_in_required
@require_http_methods(["GET", "HEAD", "POST"])
def connect(request: HttpRequest, agent: UUID) -> HttpResponse:
    space, who = page_frame.current_space(request), current_visitor(request)
    row = Agent.objects.filter(uuid=agent, space=space).first() if space else None
    if space is None or row is None:
        raise Http404
    if not who.may("accounts.manage", space.pk):
        raise PermissionDenied
    if not who.fresh:
        raise StepUpRequired  # before the form, so that it is not filled in for nothing
    form = ConnectTokenForm(row, request.POST if request.method == "POST" else None)
    if form.is_bound and form.is_valid():
        try:
            minted = tokens.mint(who.principal(space.pk), space=space.name, agent=row.name, **form.cleaned_data)
        except StepUpRequired:
            raise
        except FluxError as refusal:
            form.add_error(None, refusal.message)
        else:
            found = {"agent": row, "made": minted, "snippets": client_snippets(minted["token"])}
            return render(request, "dashboard/connected.html", found)
    found = {"agent": row, "form": form, "space": space}
    return render(request, "dashboard/connect.html", found, status=422 if form.is_bound else 200)


def client_snippets(token: str) -> list[ClientSnippet]:
    """Client configurations with the token filled in."""
    wanted, known = config.current(), server_addresses()
    rest = known.get("REST") or _usual(wanted.REST_HOST, wanted.REST_PORT)
    mcp = known.get("MCP") or _usual(wanted.MCP_HOST, wanted.MCP_PORT)
    way = programs.remote_server(mcp, token, instance=settings.HOME.name)
    found = [
        ClientSnippet(client.name, client.title, f"Paste into {_place(client)}. {client.restart}", client.snippet(way))
        for client in programs.CLIENTS.values()
    ]
    asked = f"curl {rest}/me -H {shlex.quote(f'Authorization: Bearer {token}')}"
    return [
        *found,
        ClientSnippet(
            "shell",
            "Python and shell",
            "For the Python client (flux.client) and scripts that call REST.",
            f"export FLUX_URL={shlex.quote(rest)}\nexport FLUX_TOKEN={shlex.quote(token)}\n",
        ),
        ClientSnippet("curl", "curl", "Test the token: this prints the agent it belongs to.", f"{asked}\n"),
    ]


def _place(client: programs.McpClientProgram) -> str:
    """Path of the client's configuration file, relative to the home of the user who runs the client."""
    return client.file(PurePosixPath("~")).as_posix()  # type: ignore[arg-type]  # only joined, never opened


def _usual(host: str, port: int) -> str:
    return f"http://{host}:{port}"
