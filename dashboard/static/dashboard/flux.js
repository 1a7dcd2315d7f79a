// Script of all pages: times in the viewer's time zone, and on the Overview page the latest events as they happen.
// Pages work without it; they then show UTC and the state of when they were loaded.
"use strict";

(() => {
  const short = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" });
  const past = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short", year: "numeric", hour: "2-digit", minute: "2-digit" });
  const clock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit" });
  const long = new Intl.DateTimeFormat(undefined, { dateStyle: "full", timeStyle: "long" });

  function tellTimes(root) {
    for (const time of root.querySelectorAll("time[datetime]")) {
      const moment = new Date(time.dateTime);
      if (Number.isNaN(moment.getTime())) continue;
      const today = new Date();
      const isToday = moment.toDateString() === today.toDateString();
      const isThisYear = moment.getFullYear() === today.getFullYear();
      time.textContent = ("clock" in time.dataset && isToday ? clock : isThisYear ? short : past).format(moment);
      time.title = long.format(moment);
    }
  }

  tellTimes(document);
  window.flux = { tellTimes, feed, glimpses }; // for the scripts of single pages
  const list = document.getElementById("events");
  if (list) follow(list);

  // Follows a space over one socket, and over as many more as it takes: after a break the next one goes on from the
  // last position it heard, so nothing is missed. `hear` gets each event, `say` what the connection is like.
  function feed({ space, since, hear, say }) {
    let failed = 0;

    function connect() {
      const address = new URL("/live", location.href);
      address.protocol = location.protocol === "https:" ? "wss:" : "ws:";
      address.searchParams.set("space", space);
      if (since) address.searchParams.set("since", since);
      const socket = new WebSocket(address);
      let opened = Infinity;
      socket.onopen = () => { opened = Date.now(); };
      socket.onmessage = (message) => {
        const event = JSON.parse(message.data);
        since = event.position;
        if (event.kind === "live.open") say("live", "Live");
        else hear(event);
      };
      socket.onclose = (end) => {
        if (end.code === 4401) return say("ended", "Disconnected: your session has ended. Reload the page to sign in.");
        if (end.code === 4403) return say("ended", "Disconnected: you no longer have a role in this space.");
        say("broken", failed < 5 ? "Disconnected. Reconnecting …" : "Disconnected. Reconnecting … Reload the page if this takes long.");
        if (Date.now() - opened > 10_000) failed = 0; // it went well for a while
        const seconds = Math.min(60, 2 ** failed);
        failed += 1;
        // Not all pages at once when the server comes back.
        setTimeout(connect, (0.5 + Math.random() / 2) * seconds * 1000);
      };
    }

    say("waiting", "Connecting …");
    connect();
  }

  // What recalls were about, for those who may know it: asked for many at once, and not at every one.
  function glimpses(address, tell) {
    const EVERY = 1000;
    const MOST = 20;
    let wanted = [];
    let asking = false;

    async function ask() {
      const query = new URLSearchParams(wanted.slice(-MOST).map((trace) => ["trace", trace]));
      wanted = [];
      const answer = await fetch(`${address}?${query}`, { headers: { Accept: "application/json" } }).catch(() => null);
      if (answer?.ok && answer.headers.get("content-type").includes("json")) (await answer.json()).recalls.forEach(tell);
      setTimeout(() => { asking = false; look(); }, EVERY);
    }

    function look() {
      if (asking || !wanted.length) return;
      asking = true;
      setTimeout(ask, 60); // those of one flush together
    }

    return (trace) => {
      wanted.push(trace);
      look();
    };
  }

  function follow(list) {
    const SHOWN = 50;
    const state = document.getElementById("live");
    const row = document.getElementById("event").content.firstElementChild;
    const known = new Set([...list.children].map((line) => line.dataset.position));
    const refresh = refresher();
    const names = JSON.parse(document.getElementById("words").textContent); // of dashboard/event_sentences.py
    const plain = (name) => name.split(/[._]/).map((word) => names[word] || word).join(" ");

    function say(name, text) {
      state.dataset.state = name;
      if (state.textContent !== text) state.textContent = text;
    }

    function show(event) {
      if (event.kind === "job.done") return; // the page Live tells of those
      if (known.has(event.position)) return; // the page had it already, or a new connection said it again
      known.add(event.position);
      const line = row.cloneNode(true);
      const details = Object.entries(event.data).filter(([, value]) => ["string", "number", "boolean"].includes(typeof value));
      const parts = {
        kind: plain(event.kind),
        actor: event.actor,
        subject: event.subject,
        details: details.map(([name, value]) => `${plain(name)} ${value}`).join(" · "),
      };
      for (const [name, text] of Object.entries(parts)) line.querySelector(`[data-part=${name}]`).textContent = text;
      line.querySelector("time").dateTime = event.at;
      line.dataset.position = event.position;
      line.classList.add("new");
      tellTimes(line);
      list.prepend(line);
      document.getElementById("no-events").hidden = true;
      while (list.children.length > SHOWN) list.lastElementChild.remove();
      if (event.kind !== "grains.recalled") refresh(); // a recall changes no count
    }

    feed({ space: list.dataset.space, since: list.dataset.since, hear: show, say });
  }

  // The counts are the server's to say: fetched again after something happened, never more often than this.
  function refresher() {
    const EVERY = 5000;
    let last = 0;
    let waiting = false;

    async function fetchAgain() {
      waiting = false;
      last = Date.now();
      const answer = await fetch(location.href, { headers: { Accept: "text/html" } }).catch(() => null);
      if (!answer?.ok) return;
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      // Another window may have switched to another space meanwhile.
      if (page.getElementById("events")?.dataset.space !== document.getElementById("events").dataset.space) return;
      for (const id of ["needs", "numbers"]) {
        const fresh = page.getElementById(id);
        const shown = document.getElementById(id);
        if (shown.contains(document.activeElement)) continue; // somebody is about to follow a link in it
        tellTimes(fresh);
        shown.replaceWith(fresh);
      }
    }

    return () => {
      if (waiting) return;
      waiting = true;
      setTimeout(fetchAgain, Math.max(300, last + EVERY - Date.now()));
    };
  }
})();
