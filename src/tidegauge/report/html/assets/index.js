"use strict";
(() => {
  // Rows without a figure stay at the end, whichever way the others are sorted.
  const compare = (one, other, column, rising) => {
    const [first, second] = [one.cells[column], other.cells[column]];
    const sign = rising ? 1 : -1;
    if (first.dataset.sort === undefined) {
      return sign * first.textContent.localeCompare(second.textContent, "en", { numeric: true });
    }
    if (first.dataset.sort === "" || second.dataset.sort === "") {
      return (first.dataset.sort === "") - (second.dataset.sort === "");
    }
    return sign * (Number(first.dataset.sort) - Number(second.dataset.sort));
  };
  for (const table of document.querySelectorAll("table.sortable")) {
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, column) => {
      head.querySelector("button")?.addEventListener("click", () => {
        const rising = head.getAttribute("aria-sort") !== "ascending";
        for (const other of heads) other.removeAttribute("aria-sort");
        head.setAttribute("aria-sort", rising ? "ascending" : "descending");
        const body = table.tBodies[0];
        body.append(...[...body.rows].sort((one, other) => compare(one, other, column, rising)));
      });
    });
  }
  const line = document.getElementById("comparison");
  const hint = line?.textContent;
  for (const box of document.querySelectorAll("input.chosen")) {
    box.addEventListener("change", () => {
      // Names begin with their time, so the oldest becomes the baseline.
      const names = [...document.querySelectorAll("input.chosen:checked")].map((one) => one.value).sort();
      const chosen = new Set(names);
      for (const row of document.querySelector("table.figures")?.tBodies[0].rows ?? []) {
        row.hidden = names.length > 1 && !chosen.has(row.cells[0].textContent);
      }
      line.replaceChildren();
      if (names.length < 2) {
        line.textContent = hint;
        return;
      }
      const command = document.createElement("code");
      command.textContent = `tidegauge compare ${names.join(" ")}`;
      line.append("The first is the baseline: ", command);
    });
  }
})();
