"use strict";
(() => {
  const SVG = "http://www.w3.org/2000/svg";
  const WIDTH = 400, HEIGHT = 170, LEFT = 46, RIGHT = 8, BOTTOM = 34, TOP = 22, NOW_S = 5, EMPTY_S = 5;
  const MARKS_MAX = { x: 5, y: 4 };
  const CHARTS = [
    ["msgs_per_s", "Rate, msg/s"],
    ["response_p50_ms", "Response p50, ms"],
    ["response_p99_ms", "Response p99, ms"],
    ["end_to_end_p99_ms", "End-to-end p99, ms"],
    ["backlog_msgs", "Backlog, messages"],
    ["in_flight_msgs", "In flight, messages"],
    ["worker_cpu_cores", "Load generator, cores"],
    ["server_cpu_cores", "Servers, cores"],
    ["server_memory_mib", "Servers, MiB of memory"],
    ["host_cpu_percent", "Host CPU, %"],
    ["disk_busy_percent", "Disk busy, %"],
    ["disk_written_mb_per_s", "Written to disk, MB/s"],
  ];
  const main = document.getElementById("main");
  const byId = (id) => document.getElementById(id);
  const number = (value) => {
    if (value === null || value === undefined) return "-";
    return value >= 100 || Number.isInteger(value) ? Math.round(value).toLocaleString("en") : value.toPrecision(3);
  };

  // Of the plan, so in steps that do not feign more than it knows.
  const left = (seconds) => {
    if (seconds === null || seconds === undefined) return "";
    if (seconds <= 0) return "By the plan no time is left";
    if (seconds < 90) return `About ${Math.max(5, Math.ceil(seconds / 5) * 5)} s left`;
    const minutes = Math.round(seconds / 60), hours = Math.floor(minutes / 60);
    if (!hours) return `About ${minutes} min left`;
    return minutes % 60 ? `About ${hours} h ${minutes % 60} min left` : `About ${hours} h left`;
  };

  // Everything is set as text, never as markup: names and reasons come from others.
  const element = (name, text, attributes = {}) => {
    const made = document.createElement(name);
    made.textContent = text;
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    return made;
  };
  const shape = (name, attributes) => {
    const made = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    return made;
  };

  const charts = CHARTS.map(([key, title]) => {
    const figure = element("figure", "", { class: "plot" });
    const caption = element("figcaption", title);
    const value = element("output", "-", { class: "now" });
    const svg = shape("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": title });
    const small = { fill: "var(--faint)", "font-size": "12" };
    const band = shape("rect", { class: "window", y: TOP, height: HEIGHT - BOTTOM - TOP, fill: "var(--span)" });
    const marks = shape("g", { class: "axes" });
    const target = shape("line", { class: "target", x1: LEFT, x2: WIDTH - RIGHT, stroke: "var(--ink)", "stroke-dasharray": "5 3" });
    const line = shape("path", { fill: "none", stroke: "var(--system-0)", "stroke-width": "2", "stroke-linecap": "round" });
    const said = shape("text", { ...small, y: TOP - 8, x: LEFT });
    const measured = shape("text", { ...small, y: TOP - 8, "text-anchor": "end", x: WIDTH - RIGHT });
    const unit = shape("text", { ...small, y: HEIGHT - 3, "text-anchor": "middle", x: (LEFT + WIDTH - RIGHT) / 2 });
    unit.textContent = "seconds since load began";
    svg.append(band, marks, target, line, said, measured, unit);
    caption.append(value);
    figure.append(caption, svg);
    byId("charts").append(figure);
    return { key, figure, value, line, band, marks, target, said, measured };
  });

  // Round values from one to another, at most so many: 1, 2 or 5 times a power of ten apart.
  const roundValues = (from, to, most) => {
    const least = Math.max((to - from) / most, 1e-9), power = 10 ** Math.floor(Math.log10(least));
    const step = [1, 2, 5, 10].map((times) => times * power).find((size) => size >= least * 0.999);
    const values = [];
    for (let at = Math.ceil(from / step - 1e-6); at * step <= to + step * 1e-6; at += 1) values.push(at * step);
    return values;
  };
  const brief = (value) => {
    for (const [least, unit] of [[1e6, "M"], [1e4, "k"]]) if (value >= least) return `${+(value / (unit === "M" ? 1e6 : 1e3)).toPrecision(3)}${unit}`;
    return value >= 1000 ? Math.round(value).toLocaleString("en") : `${+value.toPrecision(3)}`;
  };

  // The axes: a line with its value at each round figure, and the seconds below.
  const drawAxes = (chart, from, to, most, across, up) => {
    const parts = [];
    const write = (text, attributes) => {
      const made = shape("text", { fill: "var(--faint)", "font-size": "12", ...attributes });
      made.textContent = text;
      parts.push(made);
    };
    for (const value of roundValues(0, most, MARKS_MAX.y)) {
      parts.push(shape("line", { x1: LEFT, x2: WIDTH - RIGHT, y1: up(value), y2: up(value), stroke: value ? "var(--grid)" : "var(--faint)" }));
      write(brief(value), { x: LEFT - 5, y: up(value) + 4, "text-anchor": "end" });
    }
    for (const second of roundValues(from, to, MARKS_MAX.x).filter(Number.isInteger)) {
      parts.push(shape("line", { x1: across(second), x2: across(second), y1: HEIGHT - BOTTOM, y2: HEIGHT - BOTTOM + 4, stroke: "var(--faint)" }));
      write(`${second}`, { x: across(second), y: HEIGHT - BOTTOM + 16, "text-anchor": "middle" });
    }
    chart.marks.replaceChildren(...parts);
  };

  const isKnown = (value) => value !== null && value !== undefined;

  // A line through what is known, with a gap where a second or its figure is missing; what stands alone is a dot.
  const path = (seconds, key, across, up) => {
    const pieces = [];
    let before = null;
    for (const one of seconds) {
      if (isKnown(one[key])) {
        if (before === null || one.second - before > 1) pieces.push([]);
        pieces[pieces.length - 1].push(`${across(one.second).toFixed(1)},${up(one[key]).toFixed(1)}`);
      }
      before = isKnown(one[key]) ? one.second : null;
    }
    return pieces.map((points) => `M${points.join(" L")}${points.length === 1 ? " h0" : ""}`).join(" ");
  };

  // `target`: the rate that is offered, which the chart of the rate has a line at; `over`: no value of it is now; `before`: it is
  // drawn in place of a trial that has no seconds yet.
  const draw = (seconds, target, over, before = false) => {
    const from = seconds.length ? seconds[0].second : 0, to = seconds.length ? seconds[seconds.length - 1].second : 0;
    const across = (second) => LEFT + ((second - from) / Math.max(1, to - from)) * (WIDTH - RIGHT - LEFT);
    const measured = seconds.filter((one) => !["", "warm-up", "drain"].includes(one.phase));
    const left = measured.length ? across(measured[0].second) : LEFT;
    const wide = measured.length ? across(measured[measured.length - 1].second) - left : 0;
    for (const chart of charts) {
      const aim = chart.key === "msgs_per_s" && isKnown(target) ? target : null;
      const known = seconds.map((one) => one[chart.key]).filter(isKnown);
      const most = Math.max(...known, aim || 0);
      const up = (value) => HEIGHT - BOTTOM - (value / (most || 1)) * (HEIGHT - BOTTOM - TOP);
      // Looks at what is used end a little after the seconds of the load; what is older than that is not now.
      const newest = over ? [] : seconds.slice(-NOW_S).map((one) => one[chart.key]).filter(isKnown);
      // Of what nobody looks at, nothing is drawn.
      chart.figure.hidden = seconds.length > EMPTY_S && !known.length && aim === null;
      drawAxes(chart, from, to, most, across, up);
      chart.line.setAttribute("d", path(seconds, chart.key, across, up));
      chart.line.setAttribute("opacity", before ? "0.5" : "1");
      chart.value.textContent = newest.length ? number(newest[newest.length - 1]) : over ? "" : "-";
      chart.target.setAttribute("visibility", aim === null ? "hidden" : "visible");
      chart.target.setAttribute("y1", up(aim || 0));
      chart.target.setAttribute("y2", up(aim || 0));
      chart.said.textContent = `${known.length ? `0 to ${number(Math.max(...known, 0))}` : ""}${aim === null ? "" : `, dashed: offered ${number(aim)}`}`;
      chart.measured.textContent = measured.length ? "shaded: measured" : "";
      chart.band.setAttribute("x", left);
      chart.band.setAttribute("width", wide);
    }
  };

  const VALIDITY_CLASSES = { valid: "good", doubtful: "doubt", invalid: "bad" };

  const table = (trials) => {
    byId("trials").replaceChildren(...trials.map((trial) => {
      const row = element("tr", "");
      const name = element("th", "", { scope: "row" });
      // Of one that has ended, a way to its seconds and figures.
      name.append(trial.status === "running" ? trial.trial_id : element("a", trial.trial_id, { href: `#${encodeURIComponent(trial.trial_id)}` }));
      const validity = element("td", trial.validity === "valid" ? "valid" : trial.validity.toUpperCase(), { class: VALIDITY_CLASSES[trial.validity] || "" });
      validity.classList.add("kept");
      row.append(
        name,
        validity,
        element("td", trial.system),
        element("td", trial.reason ? `${trial.status}: ${trial.reason}` : trial.status),
        element("td", number(trial.msgs_per_s), { class: "number" }),
        element("td", number(trial.response_p99_ms), { class: "number" }),
      );
      return row;
    }));
  };

  const figures = (section, body, named, keys) => {
    byId(section).hidden = !named.length;
    byId(body).replaceChildren(...named.map(([name, values]) => {
      const row = element("tr", "");
      row.append(
        element("th", name, { scope: "row" }),
        ...keys.map((key) => element("td", number(values[key]), { class: "number" })),
      );
      return row;
    }));
  };
  const generators = (workers) => figures(
    "workers", "generators", workers.map((worker) => [worker.worker, worker]),
    ["offered_msgs_per_s", "msgs_per_s", "received_msgs_per_s", "own_lag_max_ms"],
  );
  const hosts = (found) => figures(
    "hosts", "each-host", found.map((host) => [host.host, host]),
    ["cpu_percent", "io_stall_percent", "sent_mb_per_s", "received_mb_per_s"],
  );

  const toCome = (pending, more) => {
    byId("to-come").hidden = !pending.length;
    byId("pending").replaceChildren(...pending.map((trial) => {
      const rate = trial.target_msgs_per_s;
      return element("li", isKnown(rate) ? `${trial.trial_id}: ${trial.system} at ${number(rate)} msg/s` : `${trial.trial_id}: ${trial.system}`);
    }));
    byId("pending-more").textContent = more ? `and ${more} more` : "";
  };

  const show = (state) => {
    const run = state.run;
    const trials = `trial${run.trials_planned === 1 ? "" : "s"}`;
    // Before there is a plan nobody knows of how many.
    const words = run.trials_planned ? `${run.status}: ${run.trials_finished} of ${run.trials_planned} ${trials} finished` : run.status;
    if (byId("state").textContent !== words) byId("state").textContent = words;
    byId("left").textContent = left(state.seconds_left);
    byId("headline").textContent = state.headline;
    table(state.trials);
    toCome(state.pending || [], state.pending_more || 0);
    byId("chosen").hidden = !state.chosen;
    // A newest trial that goes on has no list of them; that of one which failed is empty.
    const figuresOfEnded = (state.chosen || state.trial || {}).figures;
    byId("figures").replaceChildren(...(figuresOfEnded || []).flatMap(
      (figure) => [element("dt", figure.name), element("dd", figure.value)],
    ));
    if (state.chosen) {
      byId("trial").textContent = `${state.chosen.trial_id}: ${state.chosen.phase}`;
      byId("before").hidden = true;
      draw(state.chosen.seconds, state.chosen.target_msgs_per_s, true);
      generators(state.chosen.workers);
      hosts(state.chosen.hosts);
    } else if (state.trial !== null) {
      // Until a trial has seconds of its own, those of the one before stay.
      const drawn = state.trial.seconds.length || !state.before ? state.trial : state.before;
      byId("trial").textContent = `${state.trial.trial_id}: ${state.trial.phase}`;
      byId("before").hidden = drawn === state.trial;
      byId("before").textContent = drawn === state.trial ? "" : `Drawn until it sends: ${drawn.trial_id}, ${drawn.phase}`;
      draw(drawn.seconds, drawn.target_msgs_per_s, drawn !== state.trial || figuresOfEnded !== undefined, drawn !== state.trial);
      generators(state.trial.workers);
      hosts(state.trial.hosts);
    }
    if (run.status !== "running") {
      byId("state").append(". ", element("a", "The report", { href: main.dataset.report }));
    }
    return run.status === "running";
  };

  // The state, or why there is none.
  const asked = async () => {
    try {
      const answer = await fetch(`${main.dataset.state}${location.hash.replace("#", "/")}`);
      if (answer.ok) return { state: await answer.json() };
      return { trouble: `The run's state could not be read: ${await answer.text()}` };
    } catch (problem) {
      return { trouble: "The run no longer answers: it may have ended, or can't be reached." };
    }
  };

  // `turn`: the newest question; what an older one brings is not shown, since another trial may be wanted now.
  let shown = false, next = 0, turn = 0;
  const ask = async () => {
    turn += 1;
    const mine = turn;
    const { state, trouble } = await asked();
    if (mine !== turn) return;
    let goesOn = true;
    try {
      if (state !== undefined) {
        shown = true;
        goesOn = show(state);
      } else {
        byId("state").textContent = `${trouble} This page goes on asking.`;
        byId("left").textContent = shown ? "What stands below was known last." : "";
      }
    } finally {
      if (goesOn) next = setTimeout(ask, 1000);
    }
  };
  window.addEventListener("hashchange", () => {
    clearTimeout(next);
    byId("trial").scrollIntoView();
    ask();
  });
  ask();
})();
