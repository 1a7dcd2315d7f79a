// The board page: when something on the board changes, the server's own rows take the place of those shown.
"use strict";

(() => {
  const board = document.getElementById("board");
  const state = document.getElementById("live");
  const here = `boards/${board.dataset.board}`;
  const QUIET = 150; // milliseconds: a burst of changes is fetched once
  let asked = false;
  let waiting = false;

  async function fetchPart() {
    asked = true;
    waiting = false;
    const address = new URL(location.href);
    address.searchParams.set("part", "1");
    const answer = await fetch(address, { headers: { Accept: "text/html" } }).catch(() => null);
    if (answer?.ok && !answer.redirected) show(await answer.text());
    asked = false;
    if (waiting) soon();
  }

  function show(text) {
    const versions = new Map([...board.querySelectorAll("[data-key]")].map((row) => [row.dataset.key, row.dataset.version]));
    const known = new Set([...board.querySelectorAll("[data-lock]")].map((one) => one.dataset.lock));
    board.innerHTML = text;
    for (const row of board.querySelectorAll("[data-key]")) {
      if (versions.get(row.dataset.key) !== row.dataset.version) row.classList.add("new");
    }
    for (const one of board.querySelectorAll("[data-lock]")) if (!known.has(one.dataset.lock)) one.classList.add("new");
    window.flux.tellTimes(board);
  }

  function soon() {
    waiting = true;
    if (!asked) setTimeout(() => { if (waiting && !asked) fetchPart(); }, QUIET);
  }

  window.flux.feed({
    space: board.dataset.space,
    since: board.dataset.since,
    hear: (event) => { if (event.data.in === here) soon(); },
    say: (name, words) => { state.dataset.state = name; state.textContent = words; },
  });
  // What expires is gone without anybody changing it.
  setInterval(() => {
    const now = Date.now();
    const over = [...board.querySelectorAll("time[data-clock]")].some((time) => {
      const ends = time.closest("[data-label=Expires], [data-lock]");
      return ends && new Date(time.dateTime).getTime() <= now;
    });
    if (over) soon();
  }, 1000);
})();
