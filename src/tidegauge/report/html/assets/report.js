"use strict";
(() => {
  const SVG = "http://www.w3.org/2000/svg";

  // Hiding and showing systems, in all plots at once. Classes in the drawings are "system-0", "system-1" ...
  const hidden = new Set();
  for (const button of document.querySelectorAll(".legend button")) {
    button.addEventListener("click", () => {
      const system = Number(button.dataset.system);
      const shown = button.getAttribute("aria-pressed") !== "true";
      button.setAttribute("aria-pressed", String(shown));
      if (shown) hidden.delete(system); else hidden.add(system);
      for (const part of document.querySelectorAll(`.canvas .system-${system}`)) part.style.display = shown ? "" : "none";
    });
  }

  // Values of points: nearest to the pointer, or walked through by arrow keys.
  for (const figure of document.querySelectorAll(".plot")) {
    const canvas = figure.querySelector(".canvas");
    const svg = canvas.querySelector("svg");
    const tip = canvas.querySelector(".tip");
    const all = JSON.parse(figure.querySelector(".points").textContent);
    const [, , width, height] = svg.getAttribute("viewBox").split(" ").map(Number);
    let dot = null;
    let current = null;
    const usable = () => all.filter((point) => !hidden.has(point[2]));

    const show = (point) => {
      current = point;
      if (dot === null) {
        dot = document.createElementNS(SVG, "circle");
        dot.setAttribute("class", "dot");
        dot.setAttribute("r", "5");
        svg.appendChild(dot);
      }
      dot.style.display = "";
      dot.setAttribute("cx", point[0]);
      dot.setAttribute("cy", point[1]);
      tip.textContent = point[3];
      tip.hidden = false;
      const half = tip.offsetWidth / 2;
      const at = (point[0] / width) * canvas.clientWidth;
      tip.style.left = `${Math.min(Math.max(at, half), Math.max(half, canvas.clientWidth - half))}px`;
      tip.style.top = `${Math.max((point[1] / height) * svg.clientHeight, tip.offsetHeight + 10)}px`;
    };
    const hide = () => {
      current = null;
      tip.hidden = true;
      if (dot !== null) dot.style.display = "none";
    };

    canvas.addEventListener("pointermove", (event) => {
      const box = svg.getBoundingClientRect();
      const x = ((event.clientX - box.left) / box.width) * width;
      const y = ((event.clientY - box.top) / box.height) * height;
      let best = null;
      let least = Infinity;
      for (const point of usable()) {
        const distance = (point[0] - x) ** 2 + 0.3 * (point[1] - y) ** 2;
        if (distance < least) { least = distance; best = point; }
      }
      if (best !== null) show(best);
    });
    canvas.addEventListener("pointerleave", hide);
    canvas.addEventListener("blur", hide);
    canvas.addEventListener("keydown", (event) => {
      const points = usable();
      if (points.length === 0) return;
      const walks = { ArrowRight: 1, ArrowLeft: -1 };
      if (event.key === "Escape") { hide(); return; }
      if (event.key in walks) {
        const own = current === null ? points.filter((point) => point[2] === points[0][2])
          : points.filter((point) => point[2] === current[2]);
        const place = current === null ? -1 : own.indexOf(current);
        const next = current === null ? (walks[event.key] > 0 ? 0 : own.length - 1) : place + walks[event.key];
        show(own[Math.min(Math.max(next, 0), own.length - 1)]);
      } else if (event.key === "ArrowUp" || event.key === "ArrowDown") {
        const systems = [...new Set(points.map((point) => point[2]))];
        const place = current === null ? -1 : systems.indexOf(current[2]);
        const step = event.key === "ArrowDown" ? 1 : systems.length - 1;
        const system = systems[Math.max(place + step, 0) % systems.length];
        const at = current === null ? 0 : current[0];
        const own = points.filter((point) => point[2] === system);
        show(own.reduce((one, other) => (Math.abs(other[0] - at) < Math.abs(one[0] - at) ? other : one)));
      } else {
        return;
      }
      event.preventDefault();
    });
  }

  // A link leads to a part that may be folded: it is opened, with all that it stands in.
  const openTo = (anchor) => {
    let one = anchor ? document.getElementById(anchor) : null;
    if (one === null) return;
    for (let at = one; at !== null; at = at.parentElement) if (at.tagName === "DETAILS") at.open = true;
    one.scrollIntoView();
  };
  const here = () => openTo(decodeURIComponent(location.hash.slice(1)));
  window.addEventListener("hashchange", here);
  for (const link of document.querySelectorAll('a[href^="#"]')) {
    link.addEventListener("click", () => openTo(link.getAttribute("href").slice(1)));
  }
  here();
  const unfold = document.getElementById("unfold");
  unfold?.addEventListener("click", () => {
    const opened = unfold.getAttribute("aria-pressed") !== "true";
    unfold.setAttribute("aria-pressed", String(opened));
    unfold.textContent = opened ? "close all" : "open all";
    for (const one of document.querySelectorAll("details.fold")) one.open = opened;
  });

  // On paper nothing can be opened. What a picture shows already, and lists of what is as everywhere, stay folded.
  const opened = [];
  window.addEventListener("beforeprint", () => {
    for (const one of document.querySelectorAll("details:is(.fold, .points):not([open])")) { one.open = true; opened.push(one); }
  });
  window.addEventListener("afterprint", () => { while (opened.length) opened.pop().open = false; });
})();
