// Draws each signal of the vitals page as a line over its healthy band. Without it the page says the same in numbers.
"use strict";

(() => {
  const lines = JSON.parse(document.getElementById("lines").textContent);
  const when = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" });
  const hour = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" });
  const day = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short" });
  const HEIGHT = 140;
  let drawn = [];

  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const said = (value) => (Math.abs(value) >= 100 ? Math.round(value).toLocaleString() : Number(value.toPrecision(3)).toString());

  // Everything that must be seen: the values, and the bounds they are held against.
  function scale(line) {
    const known = [...line.value, ...line.low, ...line.high].filter((value) => value !== null);
    const least = Math.min(...known), most = Math.max(...known);
    const room = (most - least || Math.abs(most) || 1) * 0.12;
    return [least < 0 || least - room >= 0 ? least - room : Math.min(least, 0), most + room];
  }

  // Hours of one day, days of more: whatever tells the ticks apart.
  function times(_, ticks, __, ___, step) {
    return ticks.map((at) => (step < 86400 ? hour : day).format(new Date(at * 1000)));
  }

  function draw(box) {
    const line = lines[box.dataset.signal];
    if (!line || !line.value.some((value) => value !== null)) return;
    box.hidden = false;
    const [bottom, top] = scale(line);
    const reading = box.closest(".vital").querySelector(".reading .muted");
    const usual = reading.textContent;
    const axis = { stroke: colour("--muted"), font: "12px system-ui, sans-serif", ticks: { show: false }, grid: { stroke: colour("--grid"), width: 1 } };
    const points = line.value.filter((value) => value !== null).length;
    const plot = new uPlot({
      width: box.clientWidth,
      height: HEIGHT,
      legend: { show: false },
      cursor: { y: false, drag: { setScale: false, x: false } },
      padding: [6, 24, 0, 0],
      scales: { y: { range: () => [bottom, top] } },
      axes: [{ ...axis, size: 30, space: 70, values: times }, { ...axis, size: 48, space: 34, values: (_, ticks) => ticks.map(said) }],
      series: [
        {},
        { stroke: "transparent", points: { show: false } },
        { stroke: "transparent", points: { show: false } },
        { stroke: colour("--accent"), width: 2, spanGaps: false, points: { show: points < 3, size: 6, fill: colour("--accent") } },
      ],
      bands: [{ series: [1, 2], fill: colour("--band") }],
      hooks: {
        setCursor: [({ cursor }) => {
          const at = cursor.idx;
          const known = at !== null && at !== undefined && line.value[at] !== null;
          reading.textContent = known ? `${said(line.value[at])} at ${when.format(new Date(line.at[at] * 1000))}` : usual;
        }],
      },
    }, [
      line.at,
      line.high.map((value) => (value === null ? top : value)),
      line.low.map((value) => (value === null ? bottom : value)),
      line.value,
    ], box);
    plot.root.addEventListener("mouseleave", () => { reading.textContent = usual; });
    drawn.push([box, plot]);
  }

  function drawAll() {
    for (const [, plot] of drawn) plot.destroy();
    drawn = [];
    for (const box of document.querySelectorAll(".chart")) draw(box);
  }

  drawAll();
  document.getElementById("numbers").open = false;
  new ResizeObserver(() => {
    for (const [box, plot] of drawn) {
      if (plot.width !== box.clientWidth && box.clientWidth) plot.setSize({ width: box.clientWidth, height: HEIGHT });
    }
  }).observe(document.querySelector(".vitals"));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);
})();
