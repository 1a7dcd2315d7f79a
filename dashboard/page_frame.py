"""Header, navigation and footer of signed-in pages: current space, role in it, and the list of pages."""

from __future__ import annotations

from dataclasses import dataclass

from django.conf import settings
from django.http import Http404, HttpRequest
from django.urls import reverse

from accounts import audit, roles
from accounts.adminsite.index_tiles import list_address
from accounts.models import Space
from accounts.visitor import SignedIn, current_visitor, is_signed_in
from fluxcore.version import VERSION

_SPACE = "space"  # session key of the id of the space that was chosen last
_MOST_NAMES = 200  # more do not fit into a menu; the list of spaces in the admin can be searched


@dataclass(frozen=True)
class NavLink:
    label: str
    address: str
    current: bool = False


@dataclass(frozen=True)
class PageFrame:
    space: Space | None
    role: str  # in that space, or of the whole instance
    others: list[Space]
    pages: list[NavLink]
    username: str
    instance: str
    version: str


def frame_of(request: HttpRequest) -> PageFrame | None:
    """What the frame shows; None for visitors, whose pages have no navigation."""
    if not is_signed_in(request):
        return None
    who = current_visitor(request)
    space = current_space(request)
    return PageFrame(
        space=space,
        role=_role(who, space),
        others=[other for other in who.spaces.values() if other != space][:_MOST_NAMES],
        pages=_pages(request, space),
        username=who.user.get_username(),
        instance=settings.HOME.name,
        version=VERSION,
    )


def current_space(request: HttpRequest) -> Space | None:
    """The space chosen last in this session, while the person has a role in it; otherwise their oldest one."""
    spaces = current_visitor(request).spaces
    chosen = spaces.get(request.session.get(_SPACE, 0))
    return chosen or min(spaces.values(), key=lambda space: space.pk, default=None)


def choose_space(request: HttpRequest, name: str) -> None:
    """Switch to another space. One without a role is answered like one that does not exist."""
    who = current_visitor(request)
    chosen = next((space for space in who.spaces.values() if space.name == name), None)
    if chosen is None:
        audit.refuse(who.principal(), "spaces.open", audit.readable(name, 200), details={"missing": "a role"})
        raise Http404
    request.session[_SPACE] = chosen.pk


def _role(who: SignedIn, space: Space | None) -> str:
    if who.user.is_superuser:
        return roles.ADMINISTRATOR
    return who.roles[space.pk] if space else ""


def _pages(request: HttpRequest, space: Space | None) -> list[NavLink]:
    found = [_link(request, "Overview", reverse("home"))]
    if space is not None:
        found += [
            _link(request, "Recall", reverse("recall")),
            _link(request, "Graph", reverse("graph")),
            _link(request, "Live", reverse("live")),
            _link(request, "Board", reverse("board")),
            _link(request, "Files", reverse("files")),
            _link(request, "Transcripts", reverse("transcripts")),
            _link(request, "Review", reverse("review")),
            _link(request, "Traces", reverse("traces")),
            _link(request, "Vitals", reverse("vitals")),
            NavLink("Memories", list_address("grains_grain", space=space.name)),
            _link(request, "Agents", reverse("agents")),
            NavLink("Audit", list_address("accounts_auditentry", chain=space.uuid.hex)),
        ]
        if current_visitor(request).may("import", space.pk):
            found.append(_link(request, "Import", reverse("imports")))
    return [*found, NavLink("Admin", reverse("admin:index"))]


def _link(request: HttpRequest, label: str, address: str) -> NavLink:
    return NavLink(label, address, current=request.path == address or request.path.startswith(f"{address}/"))
