"""URLs of the dashboard."""

from __future__ import annotations

from django.contrib import admin
from django.templatetags.static import static
from django.urls import path
from django.views.generic import RedirectView

from dashboard import (
    account,
    agents,
    board,
    connect,
    enrolment,
    front_page,
    graph,
    imports,
    live_page,
    preview,
    recall,
    review,
    sign_in,
    traces,
    vitals,
    voting,
)

admin.autodiscover()  # already done by the dashboard server, but not in a command that reverses a URL

handler400 = front_page.refuse_form
handler500 = front_page.handle_error
urlpatterns = [
    path("", front_page.home, name="home"),
    path("health", front_page.health),
    path("enrol/<str:secret>", enrolment.enrol, name="enrol"),
    path("sign-in", sign_in.sign_in, name="sign-in"),
    path("sign-in/code", sign_in.code, name="code"),
    path("fresh-code", sign_in.fresh_code, name="fresh-code"),
    path("sign-out", sign_in.sign_out, name="sign-out"),
    path("account", account.account, name="account"),
    path("account/password", account.change_password, name="change-password"),
    path("account/authenticator", account.authenticator, name="authenticator"),
    path("account/backup-codes", account.backup_codes, name="backup-codes"),
    path("account/end-session", account.end_session, name="end-session"),
    path("recall", recall.recall_page, name="recall"),
    path("recall/<uuid:trace>", recall.show_trace, name="trace"),
    path("recall/<uuid:trace>/vote", voting.vote, name="vote"),
    path("graph", graph.graph, name="graph"),
    path("graph/data", graph.data, name="graph-data"),
    path("graph/find", graph.find, name="graph-find"),
    path("graph/grain/<uuid:grain>", graph.grain, name="graph-grain"),
    # The WebSocket has the same path; it is routed in `fluxsite/asgi.py`.
    path("live", live_page.live, name="live"),
    path("live/touched", live_page.touched_grains, name="touched"),
    path("live/grain/<uuid:grain>", live_page.grain, name="grain"),
    path("live/job/<uuid:job>", live_page.job, name="job"),
    path("traces", traces.traces, name="traces"),
    path("traces/<uuid:trace>", traces.trace, name="replay"),
    path("board", board.board, name="board"),
    path("review", review.review, name="review"),
    path("review/<uuid:item>", review.review_item, name="review-item"),
    path("vitals", vitals.vitals, name="vitals"),
    path("agents", agents.agents, name="agents"),
    path("agents/<uuid:agent>/connect", connect.connect, name="connect"),
    path("mobile-preview", preview.mobile_preview, name="mobile-preview"),
    path("import", imports.imports, name="imports"),
    path("import/<uuid:wanted>", imports.show_import, name="import"),
    path("favicon.ico", RedirectView.as_view(url=static("dashboard/mark.svg"))),
    path("admin/", admin.site.urls),
]
