// Script of the pages of files and transcripts: what others write appears without a reload, and a line is marked when its
// number is clicked. Pages work without it.
"use strict";

(() => {
  const part = document.getElementById("part");
  const state = document.getElementById("live");
  const QUIET = 200; // milliseconds: a burst of changes is fetched once
  let asked = false;
  let waiting = false;

  // Whether an event is about what the page shows.
  function concerns(event) {
    const { store, kinds, path } = part.dataset;
    if (!kinds.split(" ").some((kind) => event.kind.startsWith(kind))) return false;
    return (!store || event.data.store === store) && (!path || event.data.path === path);
  }

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

  // What the reader has opened, typed or selected stays.
  function show(text) {
    const page = new DOMParser().parseFromString(text, "text/html");
    const versions = new Map([...part.querySelectorAll("[data-key]")].map((row) => [row.dataset.key, row.dataset.version]));
    const open = new Set([...part.querySelectorAll("details[open]")].map(name));
    const checked = new Set([...part.querySelectorAll("input:checked")].map((input) => input.value));
    const atEnd = innerHeight + scrollY >= document.documentElement.scrollHeight - 80;
    part.replaceChildren(...page.body.childNodes);
    for (const row of part.querySelectorAll("[data-key]")) if (versions.get(row.dataset.key) !== row.dataset.version) row.classList.add("new");
    for (const one of part.querySelectorAll("details")) if (open.has(name(one))) one.open = true;
    for (const input of part.querySelectorAll("input[type=checkbox]")) input.checked = checked.has(input.value);
    window.flux.tellTimes(part);
    if (part.dataset.follow && atEnd) scrollTo(0, document.documentElement.scrollHeight);
  }

  const name = (details) => `${details.closest("[data-key]")?.dataset.key} ${details.querySelector("summary").textContent}`;

  function soon() {
    // Not while somebody types into a form of this part.
    if (part.contains(document.activeElement) && document.activeElement.matches("input:not([type=checkbox]), textarea")) return;
    waiting = true;
    if (!asked) setTimeout(() => { if (waiting && !asked) fetchPart(); }, QUIET);
  }

  if (part && state) {
    window.flux.feed({
      space: part.dataset.space,
      since: part.dataset.since,
      hear: (event) => { if (concerns(event)) soon(); },
      say: (name, words) => { state.dataset.state = name; if (state.textContent !== words) state.textContent = words; },
    });
  }

  // A click on a number marks the line in the address, with Shift as the end of a range: such an address can be sent on.
  let begin = 0;
  part?.addEventListener("click", (event) => {
    const link = event.target.closest(".lines a");
    if (!link || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    const line = Number(link.dataset.line);
    const [first, last] = event.shiftKey && begin ? [Math.min(begin, line), Math.max(begin, line)] : [line, line];
    if (!event.shiftKey) begin = line;
    const address = new URL(location.href);
    address.searchParams.set("view", "source");
    address.searchParams.set("first", first);
    address.searchParams.set("last", last);
    address.hash = "";
    history.replaceState(null, "", address);
    for (const one of part.querySelectorAll(".lines li")) one.classList.toggle("marked", one.value >= first && one.value <= last);
  });

  // A transcript opens at its newest message.
  if (part?.dataset.follow && !location.hash) scrollTo(0, document.documentElement.scrollHeight);

  // Commands can be copied.
  for (const pre of navigator.clipboard ? document.querySelectorAll(".empty pre") : []) {
    const button = Object.assign(document.createElement("button"), { type: "button", className: "button quiet slim copy", textContent: "Copy" });
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(pre.textContent);
      button.textContent = "Copied";
    });
    const frame = Object.assign(document.createElement("div"), { className: "copied" });
    pre.replaceWith(frame);
    frame.append(pre, button);
  }

  // Files dropped on the field are those that will be uploaded.
  const drop = document.querySelector(".drop");
  const chosen = drop?.querySelector("input[type=file]");
  for (const kind of ["dragenter", "dragover"]) {
    drop?.addEventListener(kind, (event) => { event.preventDefault(); drop.classList.add("over"); });
  }
  drop?.addEventListener("dragleave", () => drop.classList.remove("over"));
  drop?.addEventListener("drop", (event) => {
    event.preventDefault();
    drop.classList.remove("over");
    chosen.files = event.dataTransfer.files;
  });
})();
