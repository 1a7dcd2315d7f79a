// The Live page: events that arrive become lines; while paused they are queued and counted; filters hide groups.
// Sentences come from the server (dashboard/event_sentences.py), so that a line reads the same whoever wrote it.
"use strict";

(() => {
  const list = document.getElementById("lines");
  const SHOWN = 400; // lines kept in the page
  const HELD = 1000; // lines kept back while paused
  const table = JSON.parse(document.getElementById("telling").textContent);
  const row = document.getElementById("line").content.firstElementChild;
  const state = document.getElementById("live");
  const pause = document.getElementById("pause");
  const missed = document.getElementById("missed");
  const filters = document.getElementById("filters");
  const known = new Set([...list.children].map((line) => line.dataset.key));
  const held = []; // newest last
  let lost = 0; // kept back no longer: there were too many

  const group = (kind) => table.kinds[kind] || table.words[kind.split(".")[0]] || table.others;
  const isShown = (name) => filters.querySelector(`[value="${name}"]`)?.checked ?? true;
  const isWord = (value) => ["string", "number", "boolean"].includes(typeof value);

  const plain = (name) => name.split(/[._]/).map((word) => table.names[word] || word).join(" ");

  function sentence(kind, data) {
    const values = Object.fromEntries(Object.entries(data).filter(([, value]) => isWord(value)));
    if ("confidence" in values) values.confidence = Math.round(100 * values.confidence);
    if ("useful" in values) values.verdict = values.missed ? "missed" : values.useful ? "useful" : "not useful";
    if (Object.hasOwn(table.reasons, values.why)) values.why = table.reasons[values.why];
    for (const name of table.plain) if (name in values) values[name] = String(values[name]).replaceAll("_", " ");
    const known = table.sentences[kind === table.recalled ? "recall" : kind];
    const places = [...(known || "").matchAll(/\{(\w+)(?:\|(\w+))?\}/g)];
    if (!known || places.some(([, name]) => !(name in values))) {
      const details = Object.entries(data).filter(([, value]) => isWord(value)).map(([name, value]) => `${plain(name)} ${value}`);
      return plain(kind) + (details.length ? `: ${details.join(" · ")}` : "");
    }
    return known.replace(/\{(\w+)(?:\|(\w+))?\}/g, (_, name, word) =>
      word ? `${values[name]} ${values[name] === 1 ? word : table.many[word] || `${word}s`}` : values[name]);
  }

  // One thing for each line: a flush of recalls is one event and as many lines.
  function things(event) {
    if (event.kind !== table.recalled) return [{ ...event, key: event.position, linked: true }];
    return event.data.recalls.map((recall) => ({
      ...event, key: `${event.position}/${recall.trace}`, actor: recall.actor, subject: recall.trace, data: recall,
      linked: Boolean(list.dataset.all) || recall.actor === list.dataset.me,
    }));
  }

  function lineOf(thing) {
    const line = row.cloneNode(true);
    const part = (name) => line.querySelector(`[data-part=${name}]`);
    const word = thing.kind === table.recalled ? "recall" : thing.kind.split(".")[0];
    const page = table.pages[word];
    line.dataset.key = thing.key;
    line.dataset.group = group(thing.kind);
    part("actor").textContent = thing.actor || "unknown";
    part("says").textContent = sentence(thing.kind, thing.data);
    line.querySelector("time").dateTime = thing.at;
    const about = thing.subject.split("/").pop(); // the id of a store is behind its kind
    if (page && thing.linked && !table.gone.includes(thing.kind) && /^[0-9a-f-]{36}$/.test(about)) {
      part("link").href = page[1].replace(table.nobody, about);
      part("link").textContent = page[0];
      part("link").hidden = false;
    }
    line.classList.add("new");
    window.flux.tellTimes(line);
    return line;
  }

  function touch(nodes, kind) {
    if (nodes.length) document.dispatchEvent(new CustomEvent("flux:touched", { detail: { nodes, kind } }));
  }

  function show(thing) {
    const line = lineOf(thing);
    line.hidden = !isShown(line.dataset.group);
    list.prepend(line);
    while (list.children.length > SHOWN) {
      known.delete(list.lastElementChild.dataset.key);
      list.lastElementChild.remove();
    }
    if (thing.kind === table.recalled) {
      if (thing.linked) wonder(thing.subject);
    } else if (["grain", "vote"].includes(thing.kind.split(".")[0])) {
      touch([thing.subject], group(thing.kind));
    }
    tidy();
  }

  function hear(event) {
    for (const thing of things(event)) {
      if (known.has(thing.key)) continue; // the page had it already, or a new connection said it again
      known.add(thing.key);
      if (pause.getAttribute("aria-pressed") !== "true") {
        show(thing);
        continue;
      }
      held.push(thing);
      if (held.length > HELD) {
        held.shift();
        lost += 1;
      }
      tellMissed();
    }
  }

  function tellMissed() {
    const count = held.length + lost;
    missed.hidden = !count;
    missed.textContent = count ? `${count} event${count === 1 ? "" : "s"} since you paused.` : "";
  }

  const wonder = window.flux.glimpses(list.dataset.touched, (recall) => {
    const query = list.querySelector(`[data-key$="/${recall.trace}"] [data-part=query]`);
    if (query) {
      query.textContent = recall.query.length > 140 ? `${recall.query.slice(0, 139)}…` : recall.query;
      query.hidden = false;
    }
    touch(recall.grains, "recalls");
  });

  function tidy() {
    document.getElementById("no-lines").hidden = [...list.children].some((line) => !line.hidden);
  }

  pause.hidden = false;
  pause.addEventListener("click", () => {
    const paused = pause.getAttribute("aria-pressed") !== "true";
    pause.setAttribute("aria-pressed", paused);
    pause.textContent = paused ? "Continue" : "Pause";
    if (paused) return;
    for (const thing of held.splice(0)) show(thing);
    missed.hidden = !lost;
    missed.textContent = lost ? `${lost} older events are not shown: there were too many during the pause. Reload the page to see the newest.` : "";
    lost = 0;
  });

  filters.addEventListener("change", () => {
    for (const line of list.children) line.hidden = !isShown(line.dataset.group);
    tidy();
  });
  for (const line of list.children) line.hidden = !isShown(line.dataset.group);

  window.flux.feed({
    space: list.dataset.space,
    since: list.dataset.since,
    hear,
    say: (name, text) => {
      state.dataset.state = name;
      if (state.textContent !== text) state.textContent = text;
    },
  });
})();
