"""A house with people in it, and what every one of its pages must be on any screen."""

from __future__ import annotations

import base64
import json
from urllib.parse import urljoin

from tests.instances import Instance
from tests.sign_in_codes import code_for

PASSWORD = "four unrelated words here"
DESK, PHONE = {"width": 1280, "height": 900}, {"width": 390, "height": 844}

# Texts that are hard to read: WCAG's contrast of a text with what is painted behind it, below 4.5.
FAINT = """() => {
  const parts = (colour) => colour.match(/[\\d.]+/g).map(Number);
  const light = (colour) => {
    const linear = (c) => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
    const [r, g, b] = parts(colour).map((c) => linear(c / 255));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const colour = getComputedStyle(at).backgroundColor;
      if ((parts(colour)[3] ?? 1) > 0) return colour;
    }
    return "rgb(255, 255, 255)";
  };
  const found = [];
  for (const element of document.querySelectorAll("body *")) {
    const text = [...element.childNodes].filter((node) => node.nodeType === 3).map((node) => node.data.trim()).join("");
    if (!text || !element.checkVisibility()) continue;
    const [one, two] = [light(getComputedStyle(element).color), light(behind(element))].sort((a, b) => b - a);
    const contrast = (one + 0.05) / (two + 0.05);
    if (contrast < 4.5) found.push(`${contrast.toFixed(2)} ${text.slice(0, 40)}`);
  }
  return found;
}"""
# Fields nobody has named, buttons and links without words.
NAMELESS = """() => [...document.querySelectorAll("input:not([type=hidden]), select, button, a[href]")]
  .filter((element) => !(element.labels?.length || element.textContent.trim() || element.ariaLabel))
  .map((element) => element.outerHTML)"""
# What sticks out, if the page can be scrolled sideways.
TOO_WIDE = """() => document.documentElement.scrollWidth <= innerWidth ? [] : [...document.querySelectorAll("body *")]
  .filter((element) => element.getBoundingClientRect().right > innerWidth + 1)
  .map((element) => element.outerHTML.slice(0, 90))"""


def heading(page) -> str:
    return str(page.get_by_role("heading", level=1).inner_text())


def fit(page, title: str) -> None:
    """The page is the one meant, and can be read and used however it is looked at."""
    page.wait_for_load_state()
    assert heading(page) == title
    assert page.evaluate("[...document.styleSheets].some((sheet) => sheet.cssRules.length > 50)"), "not styled"
    assert page.evaluate(NAMELESS) == [], title
    for size in (DESK, PHONE):
        page.set_viewport_size(size)
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            assert page.evaluate(TOO_WIDE) == [], (title, size)
            assert page.evaluate(FAINT) == [], (title, size, scheme)


class House:
    """A running instance with two spaces, and its administrator as soon as somebody needs one."""

    def __init__(self, home) -> None:
        self.instance = Instance(home).with_tables().start()
        self.people = self.instance.state["urls"]["people"]
        self.instance.command("flux_space", "create", "research")
        self.codes: list[str] = []

    def open(self, browser, **options):
        """A page; nothing moves on it, so that colours are what they are."""
        context = browser.new_context(reduced_motion="reduce", viewport=DESK, **options)
        return context.new_page()

    def go(self, page, path: str) -> None:
        page.goto(urljoin(self.people, path))

    def enrol(self, page, link: str) -> list[str]:
        """Through a one-time link, whatever it asks for; the backup codes it shows."""
        page.goto(link)
        for label, value in {"User name": "ada", "Password": PASSWORD, "The same password again": PASSWORD}.items():
            if page.get_by_label(label, exact=True).count():
                page.get_by_label(label, exact=True).fill(value)
        key = base64.b32decode("".join(page.inner_text(".key").split()))
        page.get_by_label("Code from the app").fill(code_for(key))
        page.locator("main button[type=submit]").click()
        page.locator(".codes").wait_for()
        return page.locator(".codes code").all_inner_texts()

    def enter(self, page) -> None:
        """As the administrator: enrolled the first time, signed in with a backup code later."""
        if not self.codes:
            self.codes = self.enrol(page, self.instance.state["enrolment"])
            page.get_by_role("link", name="Done, I saved them").click()
        else:
            self.go(page, "/sign-in")
            page.get_by_label("User name").fill("ada")
            page.get_by_label("Password").fill(PASSWORD)
            page.get_by_role("button", name="Continue").click()
            page.get_by_label("Code").fill(self.codes.pop())
            page.get_by_role("button", name="Sign in").click()
        page.locator(".frame").wait_for()
        page.wait_for_load_state()

    def link(self, *arguments: str) -> str:
        return str(json.loads(self.instance.command("flux_admin", *arguments, "--json").stdout)["link"])

    def store(self, content: str) -> str:
        answer = self.instance.call("POST", "/store", {"content": content})
        assert answer.status == 200, answer.body
        return str(answer.json()["grain_id"])


def answered(complaints, *statuses: int) -> None:
    """The browser complains of every answer from 400 on; these were wanted."""
    wanted = [text for status in statuses for text in (f"{status} http", f"a status of {status} ")]
    assert [said for said in complaints if not any(text in said for text in wanted)] == []
    assert complaints or not statuses
    complaints.clear()
