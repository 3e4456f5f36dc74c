"use strict";
(() => {
  const SVG = "http://www.w3.org/2000/svg";
  const WIDTH = 400, HEIGHT = 150, LEFT = 4, BOTTOM = 20, TOP = 22, NOW_S = 5;
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
    const span = shape("text", { ...small, x: LEFT, y: TOP - 8 });
    const band = shape("rect", { y: TOP, height: HEIGHT - BOTTOM - TOP, fill: "var(--span)" });
    const base = shape("line", { x1: LEFT, x2: WIDTH, y1: HEIGHT - BOTTOM, y2: HEIGHT - BOTTOM, stroke: "var(--faint)" });
    const line = shape("path", { fill: "none", stroke: "var(--system-0)", "stroke-width": "2", "stroke-linecap": "round" });
    const measured = shape("text", { ...small, y: TOP - 8, "text-anchor": "end", x: WIDTH });
    const begin = shape("text", { ...small, x: LEFT, y: HEIGHT - BOTTOM + 14 });
    const end = shape("text", { ...small, x: WIDTH, y: HEIGHT - BOTTOM + 14, "text-anchor": "end" });
    svg.append(band, base, line, span, measured, begin, end);
    caption.append(value);
    figure.append(caption, svg);
    byId("charts").append(figure);
    return { key, value, line, band, span, measured, begin, end };
  });

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

  const draw = (seconds) => {
    const from = seconds.length ? seconds[0].second : 0, to = seconds.length ? seconds[seconds.length - 1].second : 0;
    const across = (second) => LEFT + ((second - from) / Math.max(1, to - from)) * (WIDTH - LEFT);
    const measured = seconds.filter((one) => !["", "warm-up", "drain"].includes(one.phase));
    const left = measured.length ? across(measured[0].second) : 0;
    const wide = measured.length ? across(measured[measured.length - 1].second) - left : 0;
    for (const chart of charts) {
      const known = seconds.map((one) => one[chart.key]).filter(isKnown);
      const most = Math.max(...known, 0);
      const up = (value) => HEIGHT - BOTTOM - (value / (most || 1)) * (HEIGHT - BOTTOM - TOP);
      // Looks at what is used end a little after the seconds of the load; what is older than that is not now.
      const newest = seconds.slice(-NOW_S).map((one) => one[chart.key]).filter(isKnown);
      chart.line.setAttribute("d", path(seconds, chart.key, across, up));
      chart.value.textContent = newest.length ? number(newest[newest.length - 1]) : "-";
      chart.span.textContent = known.length ? `0 to ${number(most)}` : "";
      chart.measured.textContent = measured.length ? "shaded: measured" : "";
      chart.begin.textContent = seconds.length ? `second ${from + 1}` : "";
      chart.end.textContent = seconds.length ? `${to + 1}` : "";
      chart.band.setAttribute("x", left);
      chart.band.setAttribute("width", wide);
    }
  };

  const VALIDITY_CLASSES = { valid: "good", doubtful: "doubt", invalid: "bad" };

  const table = (trials) => {
    byId("trials").replaceChildren(...trials.map((trial) => {
      const row = element("tr", "");
      row.append(
        element("th", trial.trial_id, { scope: "row" }),
        element("td", trial.system),
        element("td", trial.reason ? `${trial.status}: ${trial.reason}` : trial.status),
        element("td", number(trial.msgs_per_s), { class: "number" }),
        element("td", number(trial.response_p99_ms), { class: "number" }),
        element("td", trial.validity === "valid" ? "valid" : trial.validity.toUpperCase(), { class: VALIDITY_CLASSES[trial.validity] || "" }),
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

  const show = (state) => {
    const run = state.run;
    const trials = `trial${run.trials_planned === 1 ? "" : "s"}`;
    // Before there is a plan nobody knows of how many.
    const words = run.trials_planned ? `${run.status}: ${run.trials_finished} of ${run.trials_planned} ${trials} finished` : run.status;
    if (byId("state").textContent !== words) byId("state").textContent = words;
    byId("left").textContent = left(state.seconds_left);
    byId("headline").textContent = state.headline;
    table(state.trials);
    if (state.trial !== null) {
      byId("trial").textContent = `${state.trial.trial_id}: ${state.trial.phase}`;
      draw(state.trial.seconds);
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
      const answer = await fetch(main.dataset.state);
      if (answer.ok) return { state: await answer.json() };
      return { trouble: `The run's state could not be read: ${await answer.text()}` };
    } catch (problem) {
      return { trouble: "The run no longer answers: it may have ended, or can't be reached." };
    }
  };

  let shown = false;
  const ask = async () => {
    const { state, trouble } = await asked();
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
      if (goesOn) setTimeout(ask, 1000);
    }
  };
  ask();
})();
