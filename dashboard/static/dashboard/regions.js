// Clusters as coloured, named regions behind the graph, and a legend that hides and shows them. graph.js says on #graph
// that it has drawn; which region a grain is in stands on its node. Colours are in graph.css; every region also
// carries its name, so that nobody has to tell colours apart.
"use strict";

(() => {
  const root = document.getElementById("graph");
  const frame = document.getElementById("regions");
  if (!root || !frame) return;
  const legend = frame.querySelector("ul");
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const FAR = 2.5; // a member this many times further from the middle than most is no part of the shape
  const FILL = 0.14;
  const EDGE = 0.6;
  const hidden = new Set(); // ids of clusters, so that a picture drawn anew keeps what was chosen
  const scratch = document.createElement("canvas").getContext("2d");
  let renderer, regions, shades, names, colours, ink, paper;

  function readColours() {
    const style = getComputedStyle(document.documentElement);
    const value = (name) => style.getPropertyValue(name).trim();
    colours = regions.map((_, place) => value(`--region-${place + 1}`));
    [ink, paper] = [value("--ink"), value("--surface")];
  }

  const median = (values) => values.sort((a, b) => a - b)[Math.floor(values.length / 2)];

  function gather(graph) {
    regions = graph.getAttribute("regions").map((one) => ({ ...one, places: [] }));
    graph.forEachNode((_, data) => { if (data.region) regions[data.region - 1].places.push({ x: data.x, y: data.y }); });
    for (const one of regions) {
      one.middle = { x: median(one.places.map((at) => at.x)), y: median(one.places.map((at) => at.y)) };
      const away = (at) => Math.hypot(at.x - one.middle.x, at.y - one.middle.y);
      const most = FAR * Math.max(median(one.places.map(away)), 0.01);
      one.places = one.places.filter((at) => away(at) <= most);
      one.top = Math.max(...one.places.map((at) => at.y)); // the graph's own up
    }
  }

  function layer(name, before) {
    const canvas = renderer.createCanvas(name, { beforeLayer: before, style: { pointerEvents: "none" } });
    canvas.setAttribute("aria-hidden", "true");
    return canvas.getContext("2d");
  }

  function fit(context) {
    const { width, height } = renderer.getDimensions();
    const dense = window.devicePixelRatio || 1;
    const { canvas } = context;
    if (canvas.width !== Math.round(width * dense) || canvas.height !== Math.round(height * dense)) {
      canvas.width = Math.round(width * dense);
      canvas.height = Math.round(height * dense);
      canvas.style.width = `${width}px`;
      canvas.style.height = `${height}px`;
    }
    context.setTransform(dense, 0, 0, dense, 0, 0);
    context.clearRect(0, 0, width, height);
  }

  // Discs around the members, drawn as one shape: where they overlap nothing gets darker.
  function shape(points, radius, colour) {
    scratch.fillStyle = colour;
    scratch.beginPath();
    for (const { x, y } of points) {
      scratch.moveTo(x + radius, y);
      scratch.arc(x, y, radius, 0, 2 * Math.PI);
    }
    scratch.fill();
  }

  function stamp(alpha) {
    const { width, height } = renderer.getDimensions();
    shades.globalAlpha = alpha;
    shades.drawImage(scratch.canvas, 0, 0, width, height);
    shades.globalAlpha = 1;
  }

  function draw() {
    fit(shades);
    fit(names);
    const shown = regions.filter((one) => !hidden.has(one.id) && one.places.length);
    const radius = Math.min(Math.max(20 / Math.sqrt(renderer.getCamera().ratio), 10), 64);
    for (const one of shown) {
      const points = one.places.map((at) => renderer.graphToViewport(at));
      const colour = colours[regions.indexOf(one)];
      fit(scratch);
      shape(points, radius, colour);
      stamp(FILL);
      scratch.globalCompositeOperation = "destination-out";
      shape(points, radius - 1.5, "black");
      scratch.globalCompositeOperation = "source-over";
      stamp(EDGE);
    }
    const taken = [];
    for (const one of shown) write(one, radius, taken);
    root.dataset.regions = shown.length;
  }

  // Above its region. The largest first; a name that would lie on another one moves down, or is left to the legend.
  function write(one, radius, taken) {
    const { width, height } = renderer.getDimensions();
    const at = renderer.graphToViewport({ x: one.middle.x, y: one.top });
    const middle = renderer.graphToViewport(one.middle);
    if (middle.x < 0 || middle.y < 0 || middle.x > width || middle.y > height) return;
    at.y = Math.max(at.y - radius - 6, 18);
    names.font = `600 13px ${getComputedStyle(document.body).fontFamily}`;
    const wide = names.measureText(one.name).width;
    const left = Math.max(6, Math.min(at.x - wide / 2, width - wide - 6));
    for (let top = at.y; top < at.y + 60; top += 20) {
      const box = { left, right: left + wide, top: top - 14, bottom: top + 6 };
      if (taken.some((other) => box.left < other.right && box.right > other.left && box.top < other.bottom && box.bottom > other.top)) continue;
      taken.push(box);
      names.lineJoin = "round";
      names.lineWidth = 4;
      names.strokeStyle = paper;
      names.strokeText(one.name, left, top);
      names.fillStyle = ink;
      names.fillText(one.name, left, top);
      return;
    }
  }

  function tell() {
    const quiet = regions.flatMap((one, place) => (hidden.has(one.id) ? [place + 1] : []));
    root.dispatchEvent(new CustomEvent("quiet", { detail: new Set(quiet) }));
  }

  function list() {
    frame.hidden = !regions.length;
    legend.replaceChildren(...regions.map((one, place) => {
      const box = document.createElement("input");
      box.type = "checkbox";
      box.checked = !hidden.has(one.id);
      box.addEventListener("change", () => {
        hidden[box.checked ? "delete" : "add"](one.id);
        tell();
      });
      const swatch = document.createElement("i");
      swatch.className = `swatch region-${place + 1}`;
      const label = document.createElement("label");
      label.append(box, swatch, `${one.name} (${one.grains})`);
      const line = document.createElement("li");
      line.append(label);
      return line;
    }));
  }

  root.addEventListener("drawn", ({ detail }) => {
    renderer = detail.renderer;
    gather(detail.graph);
    readColours();
    list();
    shades = layer("regions", "edges");
    names = layer("region-names", "hovers");
    renderer.on("afterRender", draw);
    if (hidden.size) tell();
    else renderer.refresh({ skipIndexation: true });
  });
  dark.addEventListener("change", () => { if (regions) readColours(); });
})();
