// Draws the space's graph from packed arrays (memory/grains/graph_picture.py writes them). Positions come from the
// server; texts are fetched for the node somebody points at. Without WebGL the page keeps its list.
"use strict";

(() => {
  const root = document.getElementById("graph");
  const stage = document.getElementById("stage");
  const panel = document.getElementById("panel");
  const failed = document.getElementById("no-graph");
  if (!root) return;

  const chosen = { node: null, near: new Set(), lit: null, hovered: null, hidden: new Set(), quiet: new Set(), least: 0 };
  const known = new Map(); // what the server said about a grain
  const still = matchMedia("(prefers-reduced-motion: reduce)");
  const dark = matchMedia("(prefers-color-scheme: dark)");
  let colours = {};
  let graph, renderer, header, etag;

  function giveUp(says) {
    root.hidden = true;
    failed.textContent = `${says} The most linked memories are listed below.`;
    failed.hidden = false;
  }

  function hasWebGL() {
    const canvas = document.createElement("canvas");
    const context = canvas.getContext("webgl2") || canvas.getContext("webgl");
    context?.getExtension("WEBGL_lose_context")?.loseContext();
    return Boolean(context);
  }

  function readColours() {
    const style = getComputedStyle(document.documentElement);
    const names = ["people", "agents", "elsewhere", "faded", "entry", "related", "supports", "contradicts", "supersedes",
      "caused-by", "next", "mentions", "ink", "muted", "surface", "accent", "line"];
    colours = Object.fromEntries(names.map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
  }

  function unpack(buffer) {
    const length = new DataView(buffer).getUint32(0, true);
    const found = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length)));
    let at = 4 + length;
    const take = (Type, count) => {
      const part = new Type(buffer, at, count);
      at += part.byteLength;
      return part;
    };
    return {
      header: found,
      places: take(Float32Array, 2 * found.nodes),
      pairs: take(Uint32Array, 2 * found.links),
      ids: take(Uint8Array, 16 * found.grains),
      kinds: take(Uint8Array, found.nodes),
      sizes: take(Uint8Array, found.nodes),
      relations: take(Uint8Array, found.links),
      weights: take(Uint8Array, found.links),
      regions: take(Uint8Array, found.grains),
    };
  }

  function uuid(bytes) {
    const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
    return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
  }

  function build(data) {
    header = data.header;
    const made = new graphology.MultiDirectedGraph();
    const names = [];
    const room = header.nodes > 1200 ? 1 : header.nodes > 300 ? 1.4 : 2;
    for (let node = 0; node < header.nodes; node += 1) {
      const isGrain = node < header.grains;
      const entry = isGrain ? null : header.entries[node - header.grains];
      const name = isGrain ? uuid(data.ids.subarray(16 * node, 16 * node + 16)) : `entry:${entry[0]}`;
      names.push(name);
      made.addNode(name, {
        x: data.places[2 * node],
        y: data.places[2 * node + 1],
        size: room * (2 + 5 * (data.sizes[node] / 255) ** 2),
        kind: isGrain ? header.kinds[data.kinds[node]] : "entry",
        says: isGrain ? null : header.kinds[data.kinds[node]],
        label: isGrain ? known.get(name)?.label ?? null : entry[1],
        region: isGrain ? data.regions[node] : 0, // 1 for the first of header.regions
      });
    }
    made.setAttribute("regions", header.regions);
    for (let link = 0; link < header.links; link += 1) {
      made.addDirectedEdge(names[data.pairs[2 * link]], names[data.pairs[2 * link + 1]], {
        relation: data.relations[link],
        weight: data.weights[link] / 255,
      });
    }
    return made;
  }

  const slug = (relation) => header.relations[relation].replace(/ /g, "-");

  function nodeLooks(node, data) {
    const looks = { ...data, color: colours[data.kind] || colours.agents };
    const isLit = chosen.lit?.has(node);
    const isNear = chosen.near.has(node);
    if (chosen.quiet.has(data.region) && !isLit && node !== chosen.node) {
      looks.color = colours.line;
      looks.label = null;
    } else if ((chosen.lit && !isLit && !isNear) || (!chosen.lit && chosen.node && !isNear)) {
      looks.color = colours.line;
      looks.label = null;
    } else if (isLit || (chosen.node && isNear)) {
      looks.zIndex = 1;
    }
    if (isLit) looks.size = Math.max(1.4 * data.size, 6);
    if (node === chosen.node) {
      looks.highlighted = true;
      looks.zIndex = 2;
    }
    return looks;
  }

  function edgeLooks(edge, data) {
    const hidden = chosen.hidden.has(data.relation) || data.weight < chosen.least;
    const ends = graph.extremities(edge);
    const touches = chosen.node ? ends.includes(chosen.node) : chosen.lit && ends.some((end) => chosen.lit.has(end));
    return {
      ...data,
      hidden: hidden || Boolean((chosen.node || chosen.lit) && !touches),
      size: (touches ? 1.2 : 0.5) + 1.6 * data.weight,
      color: colours[slug(data.relation)],
      zIndex: touches ? 1 : 0,
    };
  }

  // The chosen node and the one pointed at have their label above them.
  function drawLabel(context, data, settings) {
    if (!data.label || data.highlighted || data.key === chosen.hovered) return;
    context.font = `${settings.labelWeight} ${settings.labelSize}px ${settings.labelFont}`;
    context.fillStyle = colours.ink;
    context.fillText(data.label, data.x + data.size + 3, data.y + settings.labelSize / 3);
  }

  // Sigma's own label of a hovered node is black on white, whatever the page looks like.
  function drawHover(context, data, settings) {
    const size = settings.labelSize;
    context.font = `${settings.labelWeight} ${size}px ${settings.labelFont}`;
    context.fillStyle = colours.surface;
    context.strokeStyle = colours.accent;
    context.lineWidth = 2;
    context.beginPath();
    context.arc(data.x, data.y, data.size + 3, 0, 2 * Math.PI);
    context.fill();
    context.stroke();
    context.fillStyle = data.color;
    context.beginPath();
    context.arc(data.x, data.y, data.size, 0, 2 * Math.PI);
    context.fill();
    if (!data.label) return;
    const wide = context.measureText(data.label).width;
    // Above the node, and within the stage.
    const left = Math.max(4, Math.min(data.x - wide / 2 - 6, stage.clientWidth - wide - 16));
    const top = data.y - data.size - 3 * size > 0 ? data.y - data.size - 2.6 * size : data.y + data.size + 0.6 * size;
    context.fillStyle = colours.surface;
    context.strokeStyle = colours.line;
    context.lineWidth = 1;
    context.beginPath();
    context.roundRect(left, top, wide + 12, 2 * size, 6);
    context.fill();
    context.stroke();
    context.fillStyle = colours.ink;
    context.fillText(data.label, left + 6, top + 1.35 * size);
  }

  function draw() {
    readColours();
    renderer?.kill();
    renderer = new Sigma(graph, stage, {
      nodeReducer: nodeLooks,
      edgeReducer: edgeLooks,
      defaultDrawNodeHover: drawHover,
      defaultDrawNodeLabel: drawLabel,
      labelFont: getComputedStyle(document.body).fontFamily,
      labelSize: 13,
      labelDensity: 0.6,
      labelGridCellSize: 130,
      labelRenderedSizeThreshold: 5,
      zIndex: true,
      stagePadding: 24,
      minCameraRatio: 0.02,
      maxCameraRatio: 3,
    });
    renderer.on("clickNode", ({ node }) => choose(node));
    renderer.on("clickStage", () => choose(null));
    renderer.on("enterNode", ({ node }) => hover(node));
    renderer.on("leaveNode", () => hover(null));
    root.dataset.state = "drawn";
    root.dispatchEvent(new CustomEvent("drawn", { detail: { graph, renderer } }));
  }

  async function about(node) {
    if (!known.has(node)) {
      const answer = await fetch(root.dataset.grain.replace("00000000-0000-0000-0000-000000000000", node)).catch(() => null);
      if (!answer?.ok || !answer.headers.get("content-type").includes("json")) return null;
      const found = await answer.json();
      found.label = found.text.length > 60 ? `${found.text.slice(0, 59).trimEnd()}…` : found.text;
      known.set(node, found);
      if (graph.hasNode(node)) graph.setNodeAttribute(node, "label", found.label);
    }
    return known.get(node);
  }

  function hover(node) {
    chosen.hovered = node;
    stage.classList.toggle("pointing", Boolean(node));
    if (!node || node.startsWith("entry:")) return;
    // Only where the pointer rests: crossing the graph must not fetch all of it.
    setTimeout(() => { if (chosen.hovered === node) about(node); }, 150);
  }

  function element(name, text, attributes = {}) {
    const made = document.createElement(name);
    if (text) made.textContent = text;
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    return made;
  }

  function tie(one) {
    const line = element("li");
    line.append(element("small", `${one.relation}${one.weight === undefined ? "" : `, weight ${one.weight.toFixed(2)}`}`));
    if (one.node && graph.hasNode(one.node)) {
      const button = element("button", one.says || "…", { type: "button" });
      button.addEventListener("click", () => choose(one.node, { move: true }));
      line.append(button);
    } else {
      line.append(element("span", one.says));
    }
    return line;
  }

  async function choose(node, { move = false, focus = false } = {}) {
    chosen.node = node;
    chosen.near = new Set(node ? [node, ...graph.neighbors(node)] : []);
    renderer?.refresh({ skipIndexation: true });
    panel.dataset.node = node || "";
    if (!node) {
      panel.replaceChildren(element("p", "Select a node to see its details.", { class: "hint" }));
      return;
    }
    if (move) {
      const { x, y } = renderer.getNodeDisplayData(node);
      const view = { x, y, ratio: Math.min(renderer.getCamera().ratio, 0.5) };
      if (still.matches) renderer.getCamera().setState(view);
      else renderer.getCamera().animate(view, { duration: 400 });
    }
    if (node.startsWith("entry:")) await showEntry(node);
    else await showGrain(node);
    if (focus && chosen.node === node) {
      panel.focus({ preventScroll: true });
      root.scrollIntoView({ block: "start" });
    }
  }

  async function showGrain(node) {
    panel.replaceChildren(element("p", "Loading …", { class: "hint" }));
    const found = await about(node);
    if (chosen.node !== node) return;
    if (!found) return panel.replaceChildren(element("p", "This memory cannot be read now. Reload the page to update the graph.", { class: "hint" }));
    const facts = element("dl", "", { class: "facts" });
    const fact = (name, value) => {
      const row = element("div");
      row.append(element("dt", name), value);
      facts.append(row);
    };
    for (const [name, value] of found.facts) fact(name, element("dd", value));
    const when = element("dd", found.time ? new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" }).format(new Date(found.time)) : "");
    if (found.time) fact("Time", when);
    const leads = element("p");
    leads.append(element("a", "Open this memory", { href: found.address }));
    const parts = [element("p", found.text, { class: "text" }), facts, leads];
    if (found.ties.length) {
      const list = element("ul", "", { class: "ties" });
      list.append(...found.ties.map((one) => tie({ ...one, node: one.grain })));
      parts.push(element("h2", "Linked to"), list);
    }
    panel.replaceChildren(...parts);
    panel.scrollTop = 0;
  }

  async function showEntry(node) {
    const { label, says } = graph.getNodeAttributes(node);
    const list = element("ul", "", { class: "ties" });
    const near = graph.neighbors(node).slice(0, 12);
    const leads = element("p");
    leads.append(element("a", "Open this entity", { href: root.dataset.entry.replace("/0/", `/${node.slice(6)}/`) }));
    panel.replaceChildren(element("p", `Entity (${says}), in ${graph.degree(node)} of the drawn memories`, { class: "hint" }),
      element("p", label, { class: "text" }), leads, element("h2", "Memories that contain it"), list);
    await Promise.all(near.map(about));
    if (chosen.node !== node) return;
    list.append(...near.map((one) => tie({ relation: "memory", node: one, says: known.get(one)?.label || "a memory that cannot be read now" })));
  }

  function light(nodes) {
    chosen.lit = nodes;
    renderer.getCamera().setState({ x: 0.5, y: 0.5, ratio: 1, angle: 0 });
    renderer.refresh({ skipIndexation: true });
  }

  // The live page has the stage and the panel alone.
  document.getElementById("find")?.addEventListener("submit", async (event) => {
    event.preventDefault();
    const form = event.target;
    const query = form.elements.query.value.trim();
    const says = document.getElementById("found");
    await choose(null);
    if (!query) {
      says.textContent = "";
      return light(null);
    }
    says.textContent = "Searching …";
    const answer = await fetch(form.action, { method: "POST", body: new FormData(form) }).catch(() => null);
    const found = await answer?.json().catch(() => null);
    if (!answer?.ok || !found) {
      says.textContent = found?.message || "The search failed. Reload the page and try again.";
      return light(null);
    }
    const folded = query.toLowerCase();
    const entries = graph.filterNodes((node, data) => data.kind === "entry" && data.label.toLowerCase().includes(folded));
    const drawn = found.grains.filter((node) => graph.hasNode(node));
    const more = found.grains.length - drawn.length;
    light(new Set([...drawn, ...entries]));
    says.textContent = found.grains.length + entries.length
      ? `${drawn.length + entries.length} highlighted${more ? `; ${more} more are not drawn` : ""}.`
      : "No results. Clear the field to show everything again.";
  });
  document.getElementById("query")?.addEventListener("search", (event) => { if (!event.target.value) event.target.form.requestSubmit(); });
  document.getElementById("relations")?.addEventListener("change", (event) => {
    chosen.hidden[event.target.checked ? "delete" : "add"](Number(event.target.value));
    renderer.refresh({ skipIndexation: true });
  });
  document.getElementById("weight")?.addEventListener("input", (event) => {
    chosen.least = event.target.value / 100;
    document.getElementById("least").value = chosen.least.toFixed(2);
    renderer.refresh({ skipIndexation: true });
  });
  for (const button of root.querySelectorAll("[data-zoom]")) {
    button.addEventListener("click", () => {
      const camera = renderer.getCamera();
      const options = { duration: still.matches ? 1 : 200 };
      if (button.dataset.zoom === "in") camera.animatedZoom(options);
      else if (button.dataset.zoom === "out") camera.animatedUnzoom(options);
      else camera.animatedReset(options);
    });
  }
  dark.addEventListener("change", () => {
    if (!renderer) return;
    readColours();
    renderer.refresh();
  });
  root.addEventListener("quiet", ({ detail }) => {
    chosen.quiet = detail;
    renderer.refresh({ skipIndexation: true });
  });
  root.addEventListener("stale", () => { if (renderer) load().catch(() => null); });
  // A page that comes back asks whether something has changed; usually nothing has.
  document.addEventListener("visibilitychange", () => { if (!document.hidden && renderer) load().catch(() => null); });

  async function load() {
    const answer = await fetch(root.dataset.address, { headers: etag ? { "If-None-Match": etag } : {} });
    if (answer.status === 304) return;
    if (!answer.ok || !answer.headers.get("content-type").includes("octet-stream")) throw new Error("no picture");
    const data = unpack(await answer.arrayBuffer());
    etag = answer.headers.get("etag");
    graph = build(data);
    root.hidden = false;
    const view = renderer?.getCamera().getState();
    draw();
    if (view) renderer.getCamera().setState(view);
    if (chosen.node && !graph.hasNode(chosen.node)) choose(null);
  }

  if (!hasWebGL()) return giveUp("This browser cannot draw the graph: it has no WebGL.");
  load().then(() => {
    for (const button of document.querySelectorAll("[data-show]")) {
      button.hidden = !graph.hasNode(button.dataset.show);
      button.addEventListener("click", () => choose(button.dataset.show, { move: true, focus: true }));
    }
  }).catch(() => giveUp("The graph could not be loaded. Reload the page to try again."));
})();
