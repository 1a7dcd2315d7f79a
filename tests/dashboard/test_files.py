"""Pages of stores and files: what they show, to whom, and that nothing of a file runs or is loaded."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts import agents
from accounts.principals import shell
from fluxcore import clock
from memory.artifacts import files, stores
from memory.artifacts.contents import NewContent
from memory.artifacts.models import Content, File, Store
from tests.dashboard.conftest import send, words

PNG = b"\x89PNG\r\n\x1a\n" + bytes(40)
MOST_STATEMENTS = 30


@pytest.fixture
def me(space):
    return shell(space)


@pytest.fixture
def notes(me):
    """A store with a file."""
    stores.create_store(me, key="notes", read_only_prefixes=["rules"], recallable=True)
    write(me, "garden/plan.md", "# Plan\n\nsow in March\n", reason="first draft")
    return me


@pytest.fixture
def client(person, notes):
    return person("grace", administrator=False, roles={"home": "viewer"}).sign_in()


def write(me, path, text, store="notes", **more):
    return files.write_file(me, store=store, path=path, text=text, **more)


def put(me, path, data, **more):
    return files.put_file(me, store="notes", path=path, content=NewContent.of(data), **more)


def shown(client, path, **query):
    answer = client.get(f"/files/notes/file/{path}", query)
    assert answer.status_code == 200, path
    return re.search(r'<div id="part".*</main>', answer.content.decode(), re.DOTALL).group()


def test_the_list_has_every_store_with_its_counts_and_policy(client, notes):
    stores.create_store(notes, key="scratch", ephemeral=True)
    stores.create_store(notes, key="runs", org="acme", project="bench", domain="nightly")
    page = words(client.get("/files"))
    assert re.findall(r'<th scope="row"><a href="([^"]+)">', page)[:2] == ["/files/notes", "/files/scratch"]
    assert "recallable" in page and "protected paths" in page and "deleted at every start" in page
    address = f"/files/{Store.objects.get(key='runs').uuid}"
    assert address in page and client.get(address).status_code == 200
    assert "No stores yet" not in page and 'data-kinds="store. file. messages."' in page


def test_empty_pages_say_how_to_begin(ada, space, me):
    client = ada.sign_in()
    assert "No stores yet" in words(client.get("/files")) and "artifact_write" in words(client.get("/files"))
    stores.create_store(me, key="empty")
    page = words(client.get("/files/empty"))
    assert "No files yet" in page and "/stores/empty/files/plan.md" in page
    assert "There is no folder of that name" in words(client.get("/files/empty/folder/x"))


def test_folders_are_listed_level_by_level(client, notes):
    write(notes, "rules/style.md", "plain")
    page = words(client.get("/files/notes"))
    assert "/files/notes/folder/garden" in page and "plan.md" not in re.search(r"<table>.*</table>", page, re.S).group()
    assert page.count("agents cannot write") == 1 and 'title="Agents cannot write here">protected' in page
    below = words(client.get("/files/notes/folder/garden"))
    assert 'href="/files/notes/file/garden/plan.md"' in below and "first draft" in below
    assert 'aria-label="Path"><a href="/files">Files</a> <a href="/files/notes">notes</a>' in below


@pytest.mark.parametrize("folders", [1, 90, 10_000])
def test_ten_thousand_files_take_few_statements(client, notes, folders):
    row, now = Store.objects.get(key="notes"), clock.now()
    content = Content.objects.create(space=row.space, sha="a" * 64, size=1, data=b"x", uses=1)
    File.objects.bulk_create(
        File(
            store=row,
            path=f"f{number % folders:05d}/{number:05d}.md",
            version=1,
            content=content,
            sha=content.sha,
            size=1,
            content_type="text/markdown",
            origin="ai_stated",
            created_at=now,
            created_by="agent:alice",
            written_at=now,
            writer="agent:alice",
        )
        for number in range(10_000)
    )
    for path in ("/files", "/files/notes", "/files/notes/folder/f00000"):
        client.get(path)
        with CaptureQueriesContext(connection) as statements:
            assert client.get(path).status_code == 200
        assert len(statements) <= MOST_STATEMENTS, (path, len(statements))
    following = re.search(r'href="([^"]+)" rel="next"', words(client.get("/files/notes")))
    assert (following is not None) == (folders == 10_000)
    assert following is None or "f00110/" in words(client.get(following[1].replace("&amp;", "&")))


def test_search_finds_names_and_lines_and_leads_to_the_line(client, notes):
    page = words(client.get("/files/notes", {"q": "MARCH"}))
    assert 'href="/files/notes/file/garden/plan.md?first=3#L3"' in page and "sow in March" in page
    assert "garden/plan.md</a>" in words(client.get("/files/notes", {"q": "Plan.m"}))
    assert "No name and no line has" in words(client.get("/files/notes", {"q": "<b>nothing"}))


def test_names_are_found_whatever_their_case_in_any_script(client, notes):
    for path in ("Ä.md", "ΣΊΣΥΦΟΣ/Straße.txt", "garden/Журнал.md", "garden0/Журнал.md", "100%_a.md"):
        write(notes, path, "x")
    for query, found in {
        "ä.m": ["Ä.md"],
        "a\u0308.M": ["Ä.md"],
        "σίσυφος": ["ΣΊΣΥΦΟΣ/Straße.txt"],
        "STRASSE": ["ΣΊΣΥΦΟΣ/Straße.txt"],
        "ЖУРНАЛ": ["garden/Журнал.md", "garden0/Журнал.md"],
        "%_": ["100%_a.md"],
    }.items():
        listed = re.findall(r'<li><div><a href="[^"?]+">([^<]+)</a>', words(client.get("/files/notes", {"q": query})))
        assert sorted(listed) == sorted(found), query
    within = words(client.get("/files/notes/folder/garden", {"q": "журнал"}))
    assert "garden/Журнал.md</a>" in within and "garden0" not in within


def test_markdown_is_rendered_and_source_has_lines_that_can_be_marked(client, notes):
    page = shown(client, "garden/plan.md", first=3)
    assert '<h1>Plan</h1>\n<p class="marked" id="L3">sow in March</p>' in page
    source = shown(client, "garden/plan.md", view="source", first=2, last=3)
    assert re.findall(r'<li id="L(\d)" value="\d"( class="marked")?>', source) == [
        ("1", ""),
        ("2", ' class="marked"'),
        ("3", ' class="marked"'),
    ]
    assert "has no lines 40 to 41" in shown(client, "garden/plan.md", view="source", first=40, last=41)


def test_an_earlier_version_is_shown_as_such(client, notes):
    write(notes, "garden/plan.md", "# Plan\n\nsow in April\n")
    page = shown(client, "garden/plan.md", version=1)
    assert "sow in March" in page and "This is version 1. The newest is version 2." in page
    assert "sow in April" in shown(client, "garden/plan.md")
    assert client.get("/files/notes/file/garden/plan.md?version=3").status_code == 404


def test_code_has_syntax_classes_and_json_is_indented(client, notes):
    write(notes, "a.py", "def f():\n    return '<b>'\n")
    assert '<span class="tok-keyword">def</span> <span class="tok-name">f</span>' in shown(client, "a.py")
    write(notes, "a.json", '{"a":[1,"<b>"]}')
    assert re.search(r'(?:"|&quot;)a(?:"|&quot;)</span>: \[\n', shown(client, "a.json"))
    assert 'id="L1"' in shown(client, "a.json", first=1), "a citation of lines shows the source"
    write(notes, "b.json", "[" * 20_000 + "]" * 20_000)
    assert 'id="L1"' in shown(client, "b.json"), "what cannot be indented is shown as it is"


HOSTILE = {
    "script.md": "<script>alert(1)</script>\n\n<img src=x onerror=alert(1)>\n\n# a<svg/onload=alert(1)>\n",
    "links.md": "[a](javascript:alert(1)) [b](JAVASCRIPT:x) [c](data:text/html;base64,x) [d](vbscript:x)"
    " [e](//evil.example) [f](&#106;avascript:x) <javascript:alert(1)> ![g](javascript:x) [h]: javascript:x\n\n[h]\n",
    "pictures.md": "![a](https://evil.example/a.png) ![b](//evil.example/b.png) ![c](data:image/svg+xml;base64,x)",
    "attributes.md": '[a](https://x.example/"onclick="x) ![" onerror="x](a.png)\n\n```py" onclick="x\n<b>\n```\n',
    "page.html": "<html><script>alert(1)</script><body onload=x></html>",
    "picture.svg": '<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>',
    "words.py": "x = '</code></li><script>alert(1)</script>'\n",
}


class Tags(HTMLParser):
    """The tags of a page with their attributes, as a browser reads them."""

    def __init__(self, page):
        super().__init__()
        self.found = []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))


def test_nothing_of_a_file_becomes_html_of_its_own(client, notes):
    allowed = re.compile(r"/files/notes[/\"]|/files/notes$|/files$|#L|\?|https://x\.example/")
    for path, text in HOSTILE.items():
        write(notes, path, text)
        for view in ("rendered", "source"):
            tags = Tags(shown(client, path, view=view)).found
            assert {tag for tag, _ in tags}.isdisjoint(("script", "svg", "iframe", "style", "object")), (path, view)
            for tag, attrs in tags:
                assert not any(name.startswith("on") or name == "style" for name in attrs), (path, tag, attrs)
                for name in {"href", "src"} & set(attrs):
                    assert allowed.match(attrs[name]), (path, attrs)
    article = shown(client, "links.md").partition("<article")[2]
    assert "<a" not in article and "[a](javascript:alert(1))" in article, "a link that is none stays as it was written"
    assert 'rel="noopener noreferrer nofollow"' in shown(client, "attributes.md")
    assert '<img src="/files/notes/picture/a.png"' in shown(client, "attributes.md")
    assert "Picture: a https://evil.example/a.png" in shown(client, "pictures.md")


def test_hidden_characters_are_visible_and_bytes_that_are_no_text_do_not_hurt(client, notes):
    write(notes, "trojan.py", "a = 1 # \u202e \u2066 hidden\rx\n")
    assert "⟨U+202E⟩ ⟨U+2066⟩ hidden⟨U+000D⟩x" in shown(client, "trojan.py")
    write(notes, "trojan.md", "# a \u202e b\n\nc &#x202e; d &#8203; \U000e0041 \U0001f469\u200d\U0001f33e\n")
    page = shown(client, "trojan.md")
    assert "<h1>a ⟨U+202E⟩ b</h1>" in page and "c ⟨U+202E⟩ d ⟨U+200B⟩ ⟨U+E0041⟩" in page, "entities, too"
    assert "\U0001f469\u200d\U0001f33e" in page, "what joins emoji stays"
    found = words(client.get("/files/notes", {"q": "hidden"}))
    assert "<code>a = 1 # ⟨U+202E⟩ ⟨U+2066⟩ hidden⟨U+000D⟩x</code>" in found and "\u202e" not in found
    put(notes, "latin.txt", b"caf\xe9\nline 2\n", content_type="text/plain")
    page = shown(client, "latin.txt")
    assert "not valid UTF-8" in page and "caf\ufffd" in page and 'id="L2"' in page
    put(notes, "data.bin", bytes(range(256)))
    assert "no text and no picture" in shown(client, "data.bin")
    put(notes, "empty.txt", b"")
    assert "This file is empty" in shown(client, "empty.txt")


def test_long_files_are_shown_in_parts(client, notes):
    write(notes, "long.txt", "".join(f"line {number}\n" for number in range(1, 5_001)))
    page = shown(client, "long.txt")
    assert 'id="L2000"' in page and 'id="L2001"' not in page and "Lines 1 to 2000 of 5000" in page
    assert "start=2001" in page and 'id="L5000"' in shown(client, "long.txt", start=4001)
    assert 'class="marked"' in shown(client, "long.txt", first=4_500, last=4_501), "a citation shows its lines"
    write(notes, "large.log", "x" * 99 + "\n" + "".join(f"{number:099d}\n" for number in range(2, 9_000)))
    page = shown(client, "large.log", first=8_000)
    assert 'id="L8000" value="8000" class="marked"' in page and "too large" not in page
    write(notes, "wide.md", "y" * 400_000)
    assert "its first line is very long" in shown(client, "wide.md")


def test_downloads_are_never_opened_and_pictures_are_pictures(client, notes):
    write(notes, "page.html", HOSTILE["page.html"])
    answer = client.get("/files/notes/download/page.html")
    assert answer.content.decode() == HOSTILE["page.html"]
    assert answer["Content-Type"] == "application/octet-stream" and answer["X-Content-Type-Options"] == "nosniff"
    assert answer["Content-Disposition"] == 'attachment; filename="page.html"'
    put(notes, "a.png", PNG)
    put(notes, "large.bin", bytes(range(256)) * 1000)
    assert b"".join(client.get("/files/notes/download/large.bin")) == bytes(range(256)) * 1000
    assert '<img src="/files/notes/picture/a.png"' in shown(client, "a.png")
    assert client.get("/files/notes/picture/a.png")["Content-Type"] == "image/png"
    write(notes, "b.png", HOSTILE["page.html"])
    write(notes, "picture.svg", HOSTILE["picture.svg"])
    for path in ("b.png", "picture.svg", "page.html"):
        assert client.get(f"/files/notes/picture/{path}").status_code == 404
        assert "<img" not in shown(client, path)


ODD = ["..", "a//b", "a/../b", "%00", "a\\b", "x" * 1100, "a\u202eb", "messages.json", ".", " "]


def test_paths_and_stores_that_cannot_be_are_not_found(client, notes):
    for odd in ODD:
        for page in ("file", "folder", "history", "download", "picture"):
            assert client.get(f"/files/notes/{page}/{odd}").status_code in (200, 301, 302, 404), (page, odd)
            assert page == "folder" or client.get(f"/files/notes/{page}/{odd}").status_code != 200, (page, odd)
        assert client.get(f"/files/{odd}").status_code in (301, 302, 404), odd
    for query in ("version=x", "version=-1", "first=9999999999999999999", "start=0", "view=%00", "cursor=x", "q=%00"):
        assert client.get(f"/files/notes/file/garden/plan.md?{query}").status_code == 200, query
        assert client.get(f"/files/notes?{query}").status_code == 200, query
    assert client.get("/files/notes?cursor=987654321").status_code == 404


def test_a_store_of_another_space_is_not_found(person, notes):
    agents.create_space(shell(), name="office")
    stranger = person("heidi", administrator=False, roles={"office": "owner"}).sign_in()
    number = Store.objects.get().uuid
    for where in ("notes", number):
        for path in ("", "/file/garden/plan.md", "/history/garden/plan.md", "/download/garden/plan.md", "/policy"):
            assert stranger.get(f"/files/{where}{path}").status_code == 404, path
        for path in ("/edit/garden/plan.md", "/delete", "/delete/garden/plan.md", "/rename/garden/plan.md"):
            assert send(stranger, f"/files/{where}{path}", reason="x", to="y").status_code == 404, path
        assert stranger.get(f"/transcripts/{where}").status_code == 404
    assert 'href="/files/notes' not in words(stranger.get("/files")) and Store.objects.get().deleted_at is None


def test_pages_are_for_people_who_have_signed_in(people_client, notes):
    for path in ("/files", "/files/notes", "/files/notes/download/garden/plan.md", "/transcripts/notes"):
        assert people_client.get(path)["Location"].startswith("/sign-in"), path
