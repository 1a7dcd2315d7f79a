// Plays a kept recall scene by scene: the drawing and the text are the page's own, this shows them in time.
"use strict";

(() => {
  const root = document.getElementById("replay");
  if (!root) return;
  const LASTS = 2600; // milliseconds of a scene while it plays
  const TRAVELS = 1100; // of a signal on its way
  const drawing = document.getElementById("drawing");
  const scenes = [...document.querySelectorAll("#scenes > li")];
  const drawn = [...drawing.querySelectorAll("[data-scene]")];
  const worth = [...drawing.querySelectorAll("[data-worth]")];
  const rank = [...drawing.querySelectorAll("[data-rank]")];
  const play = root.querySelector("[data-do=play]");
  const still = matchMedia("(prefers-reduced-motion: reduce)");
  const last = scenes.length;
  let now = last;
  let timer = null;
  let journey = 0; // of the sparks that travel now; older ones stop

  const is = (element, name, on) => element.classList.toggle(name, on);

  function go(scene, { travel = true } = {}) {
    now = Math.min(Math.max(scene, 1), last);
    for (const one of [...drawn, ...scenes]) {
      is(one, "later", Number(one.dataset.scene) > now);
      is(one, "current", Number(one.dataset.scene) === now);
    }
    for (const one of worth) is(one, "later", now < last - 1);
    for (const one of rank) is(one, "later", now < last);
    scenes.forEach((one, at) => (at === now - 1 ? one.setAttribute("aria-current", "step") : one.removeAttribute("aria-current")));
    root.dataset.scene = now;
    journey += 1;
    drawing.querySelectorAll(".spark").forEach((spark) => spark.remove());
    if (travel && !still.matches) send(drawn.filter((one) => one.matches("path.ray.current")), journey);
    if (now === last) stop();
  }

  function send(rays, mine) {
    const sparks = rays.slice(0, 80).map((ray) => {
      const spark = document.createElementNS("http://www.w3.org/2000/svg", "circle");
      spark.setAttribute("class", "spark");
      spark.setAttribute("r", 3 + Number(ray.getAttribute("stroke-width")) / 2);
      drawing.append(spark);
      return { spark, ray, length: ray.getTotalLength() };
    });
    const began = performance.now();
    const move = (moment) => {
      if (mine !== journey) return;
      const at = Math.min(Math.max(moment - began, 0) / TRAVELS, 1);
      for (const { spark, ray, length } of sparks) {
        const { x, y } = ray.getPointAtLength(length * at);
        spark.setAttribute("cx", x);
        spark.setAttribute("cy", y);
      }
      if (at < 1) requestAnimationFrame(move);
      else sparks.forEach(({ spark }) => spark.remove());
    };
    if (sparks.length) requestAnimationFrame(move);
  }

  function stop() {
    clearInterval(timer);
    timer = null;
    play.textContent = "Play";
    play.setAttribute("aria-pressed", "false");
  }

  function start() {
    play.textContent = "Pause";
    play.setAttribute("aria-pressed", "true");
    clearInterval(timer);
    timer = setInterval(() => go(now + 1), LASTS);
    go(now === last ? 1 : now);
  }

  const does = {
    play: () => (timer ? stop() : start()),
    first: () => { stop(); go(1); },
    back: () => { stop(); go(now - 1); },
    step: () => { stop(); go(now + 1); },
    last: () => { stop(); go(last); },
  };
  const keys = { " ": "play", ArrowLeft: "back", ArrowRight: "step", Home: "first", End: "last" };

  document.getElementById("player").hidden = false;
  document.getElementById("keys").hidden = false;
  is(root, "playing", true);
  document.getElementById("player").addEventListener("click", (event) => does[event.target.closest("[data-do]")?.dataset.do]?.());
  root.addEventListener("keydown", (event) => {
    const what = keys[event.key];
    const onButton = event.target.closest("button") && event.key === " "; // a button has its own use for it
    if (!what || onButton || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    does[what]();
  });
  go(last, { travel: false });
})();
