// The review pages: the list shows what the server has whenever an item changes; an open item says that it has changed,
// and is not replaced, so that nobody decides something that they have just begun to read.
"use strict";

(() => {
  const QUIET = 150; // milliseconds: a burst of changes is fetched once
  const list = document.getElementById("review");
  const item = document.getElementById("item");
  const root = list || item;
  const watched = JSON.parse(item?.dataset.watched || "{}");
  const state = document.getElementById("live");
  let asked = false;
  let waiting = false;

  async function fetchPage() {
    asked = true;
    waiting = false;
    const address = new URL(location.href);
    if (list) address.searchParams.set("part", "1");
    const answer = await fetch(address, { headers: { Accept: "text/html" } }).catch(() => null);
    if (answer?.ok && !answer.redirected) (list ? showList : compareItem)(await answer.text());
    asked = false;
    if (waiting) soon();
  }

  function showList(text) {
    const known = new Map([...list.querySelectorAll("[data-item]")].map((row) => [row.dataset.item, row.dataset.changed]));
    list.innerHTML = text;
    for (const row of list.querySelectorAll("[data-item]")) {
      if (known.get(row.dataset.item) !== row.dataset.changed) row.classList.add("new");
    }
    window.flux.tellTimes(list);
  }

  function compareItem(text) {
    const fresh = new DOMParser().parseFromString(text, "text/html").getElementById("item");
    if (fresh && fresh.dataset.shown !== item.dataset.shown) document.getElementById("changed").hidden = false;
  }

  function soon() {
    waiting = true;
    if (!asked) setTimeout(() => { if (waiting && !asked) fetchPage(); }, QUIET);
  }

  function concerns(event) {
    if (event.kind.startsWith("review.")) return list !== null || event.data.item === item.dataset.item || !event.data.item;
    return item !== null && watched.kind !== undefined && event.kind.startsWith(watched.kind)
      && Object.entries(watched).every(([name, value]) => name === "kind" || event.data[name] === value);
  }

  window.flux.feed({
    space: root.dataset.space,
    since: root.dataset.since,
    hear: (event) => { if (concerns(event)) soon(); },
    say: (name, words) => { if (state) { state.dataset.state = name; state.textContent = words; } },
  });
})();
