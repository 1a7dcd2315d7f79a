// Touched grains pulse on the graph. graph.js says on #graph that it has drawn; whoever knows of a touched grain says
// so on the document. On a page that follows the space itself this asks the feed.
"use strict";

(() => {
  const root = document.getElementById("graph");
  if (!root) return;
  const LASTS = 1600; // milliseconds of a pulse
  const STANDS = 4000; // of a ring that does not move
  const MOST = 200; // pulses at once
  const REDRAW_EVERY = 20_000; // how often at most a grain that is not drawn yet has the picture fetched again
  const still = matchMedia("(prefers-reduced-motion: reduce)");
  const canvas = document.createElement("canvas");
  canvas.className = "pulses";
  canvas.setAttribute("aria-hidden", "true");
  let graph, renderer, colours;
  let running = false;
  let pulses = [];
  let waiting = []; // touched before they were drawn
  let fetched = Date.now();

  function colour(kind) {
    const style = getComputedStyle(document.documentElement);
    return style.getPropertyValue(`--${{ recalls: "entry", votes: "supersedes" }[kind] || "accent"}`).trim() || "teal";
  }

  function touch(nodes, kind) {
    const now = performance.now();
    for (const node of nodes) {
      if (graph?.hasNode(node)) pulses.push({ node, kind, began: now });
      else waiting.push({ node, kind });
    }
    pulses = pulses.slice(-MOST);
    waiting = waiting.slice(-MOST);
    if (waiting.length && Date.now() - fetched > REDRAW_EVERY) {
      fetched = Date.now();
      root.dispatchEvent(new Event("stale"));
    }
    if (!running && renderer && pulses.length) {
      running = true;
      requestAnimationFrame(draw);
    }
  }

  function fit() {
    const { width, height } = renderer.getDimensions();
    const dense = window.devicePixelRatio || 1;
    if (canvas.width !== width * dense || canvas.height !== height * dense) {
      canvas.width = width * dense;
      canvas.height = height * dense;
      canvas.style.width = `${width}px`;
      canvas.style.height = `${height}px`;
    }
    return dense;
  }

  function draw() {
    const now = performance.now();
    const lasts = still.matches ? STANDS : LASTS;
    const dense = fit();
    const context = canvas.getContext("2d");
    context.setTransform(dense, 0, 0, dense, 0, 0);
    context.clearRect(0, 0, canvas.width, canvas.height);
    pulses = pulses.filter((one) => now - one.began < lasts && graph.hasNode(one.node));
    for (const { node, kind, began } of pulses) {
      const shown = renderer.getNodeDisplayData(node);
      const { x, y } = renderer.framedGraphToViewport(shown);
      const size = Math.max(renderer.scaleSize(shown.size), 3);
      const at = still.matches ? 0.3 : (now - began) / lasts;
      context.globalAlpha = still.matches ? 1 : 1 - at;
      context.strokeStyle = colours[kind] ??= colour(kind);
      context.lineWidth = 2.5;
      context.beginPath();
      context.arc(x, y, size + 3 + 26 * at, 0, 2 * Math.PI);
      context.stroke();
      context.fillStyle = colours[kind];
      context.beginPath();
      context.arc(x, y, size + 1.5, 0, 2 * Math.PI);
      context.fill();
    }
    context.globalAlpha = 1;
    running = pulses.length > 0;
    root.dataset.lit = pulses.length;
    // A ring that stands still is wiped away once; one that moves is drawn at every frame.
    if (running) still.matches ? setTimeout(() => requestAnimationFrame(draw), 200) : requestAnimationFrame(draw);
  }

  root.addEventListener("drawn", ({ detail }) => {
    ({ graph, renderer } = detail);
    colours = {};
    document.getElementById("stage").append(canvas);
    const late = waiting;
    waiting = [];
    for (const { node, kind } of late) if (graph.hasNode(node)) touch([node], kind);
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { colours = {}; });
  document.addEventListener("flux:touched", ({ detail }) => touch(detail.nodes, detail.kind));

  if (root.dataset.space) {
    const wonder = window.flux.glimpses(root.dataset.touched, (recall) => touch(recall.grains, "recalls"));
    window.flux.feed({
      space: root.dataset.space,
      hear: ({ kind, subject, data }) => {
        if (kind === "grains.recalled") data.recalls.forEach((recall) => wonder(recall.trace));
        else if (["grain", "vote"].includes(kind.split(".")[0])) touch([subject], kind.startsWith("vote") ? "votes" : "stores");
      },
      say: (name) => { root.dataset.feed = name; },
    });
  }
})();
