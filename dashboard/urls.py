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
    file_downloads,
    file_edit,
    file_history,
    file_uploads,
    files,
    front_page,
    graph,
    imports,
    live_page,
    preview,
    recall,
    review,
    sign_in,
    stores,
    traces,
    transcripts,
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
    path("files", stores.files, name="files"),
    path("files/<str:store>", files.folder, name="store"),
    path("files/<str:store>/policy", stores.policy, name="store-policy"),
    path("files/<str:store>/delete", stores.delete_store, name="store-delete"),
    path("files/<str:store>/restore", stores.restore_store, name="store-restore"),
    path("files/<str:store>/folder/<path:path>", files.folder, name="folder"),
    path("files/<str:store>/file/<path:path>", files.file, name="file"),
    path("files/<str:store>/download/<path:path>", file_downloads.download, name="file-download"),
    path("files/<str:store>/new", file_edit.new, name="file-new"),
    path("files/<str:store>/upload", file_uploads.upload, name="file-upload"),
    path("files/<str:store>/edit/<path:path>", file_edit.edit, name="file-edit"),
    path("files/<str:store>/rename/<path:path>", file_edit.rename, name="file-rename"),
    path("files/<str:store>/delete/<path:path>", file_edit.delete, name="file-delete"),
    path("files/<str:store>/restore/<path:path>", file_edit.restore, name="file-restore"),
    path("files/<str:store>/history/<path:path>", file_history.history, name="file-history"),
    path("files/<str:store>/picture/<path:path>", file_downloads.picture, name="file-picture"),
    path("transcripts", transcripts.transcripts, name="transcripts"),
    path("transcripts/<str:store>", transcripts.transcript, name="transcript"),
    path("transcripts/<str:store>/remove", transcripts.remove, name="messages-remove"),
    path("transcripts/<str:store>/restore", transcripts.restore, name="messages-restore"),
    path("transcripts/<str:store>/<int:seq>", transcripts.message, name="message"),
    path("vitals", vitals.vitals, name="vitals"),
    path("agents", agents.agents, name="agents"),
    path("agents/<uuid:agent>/connect", connect.connect, name="connect"),
    path("mobile-preview", preview.mobile_preview, name="mobile-preview"),
    path("import", imports.imports, name="imports"),
    path("import/<uuid:wanted>", imports.show_import, name="import"),
    path("favicon.ico", RedirectView.as_view(url=static("dashboard/mark.svg"))),
    path("admin/", admin.site.urls),
]
