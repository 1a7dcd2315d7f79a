// How far an import is: the server's own words, fetched again every second until it has finished.
"use strict";

(() => {
  const EVERY = 1000;

  async function look() {
    const answer = await fetch(location.href, { headers: { Accept: "text/html" } }).catch(() => null);
    if (answer?.ok && !answer.redirected) {
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      const fresh = page.getElementById("progress");
      const shown = document.getElementById("progress");
      if (!fresh) return;
      if (!shown.contains(document.activeElement)) shown.replaceWith(fresh);
      if ("finished" in fresh.dataset) return;
    }
    setTimeout(look, EVERY);
  }

  setTimeout(look, EVERY);
})();
