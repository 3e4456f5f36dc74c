"use strict";
(() => {
  for (const table of document.querySelectorAll("table.sortable")) {
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, column) => {
      head.querySelector("button").addEventListener("click", () => {
        const rising = head.getAttribute("aria-sort") !== "ascending";
        for (const other of heads) other.removeAttribute("aria-sort");
        head.setAttribute("aria-sort", rising ? "ascending" : "descending");
        const body = table.tBodies[0];
        const rows = [...body.rows].sort((one, other) =>
          one.cells[column].textContent.localeCompare(other.cells[column].textContent, "en", { numeric: true }));
        if (!rising) rows.reverse();
        body.append(...rows);
      });
    });
  }
})();
