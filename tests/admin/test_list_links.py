"""Links of admin lists: every row leads to its own page, and no link is inside another one."""

from __future__ import annotations

import re

import pytest

from tests.admin.conftest import list_of, pages

pytestmark = pytest.mark.either_database

LINK = re.compile(r'<a\b[^>]*href="([^"]*)"|(</a>)')


def test_every_row_of_a_list_links_to_its_own_page(house):
    grain, removal = house.row("grains.grain"), house.row("grains.removal")
    type(removal).objects.filter(pk=removal.pk).update(digest=grain.digest, status=grain.status)
    client = house.client("administrator")
    wrong = {}
    for page in pages():
        html = client.get(list_of(page), follow=True).content.decode()
        table = html.partition('id="result_list"')[2].partition("</table>")[0]
        open_link, nested = "", []
        for address, end in LINK.findall(table):
            if address and open_link:
                nested.append((open_link, address))
            open_link = "" if end else address
        if nested or f"/{house.row(page).pk}/change/" not in table:
            wrong[page] = nested
    assert wrong == {}
