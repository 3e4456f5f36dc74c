"use strict";
(() => {
  // A number is not shown in part, under the column that is kept in view or at an edge: its rest is another number.
  const hideCutNumbers = (place) => {
    const heads = [...place.querySelectorAll("thead tr:last-child > *")];
    const kept = heads.findIndex((head) => head.classList.contains("kept"));
    const { left, right } = place.getBoundingClientRect();
    const edge = kept < 0 ? left : heads[kept].getBoundingClientRect().right;
    const isCut = heads.map((head, column) => {
      const box = head.getBoundingClientRect();
      const end = box.right - parseFloat(getComputedStyle(head).paddingRight);
      return column > kept && box.width < right - edge && (box.left < edge - 1 || (box.left < right && end > right + 1));
    });
    for (const { cells } of place.querySelectorAll("tbody tr")) {
      [...cells].forEach((cell, column) => cell.classList.toggle("cut", isCut[column] && /^[-+<]?\d/.test(cell.textContent)));
    }
  };
  // A table that is wider than its place says so, also where that becomes narrower, or is unfolded later.
  const widths = new ResizeObserver((entries) => {
    for (const { target } of entries) {
      target.classList.toggle("wide", target.scrollWidth > target.clientWidth + 1);
      hideCutNumbers(target);
    }
  });
  for (const place of document.querySelectorAll(".scroll")) {
    widths.observe(place);
    place.addEventListener("scroll", () => requestAnimationFrame(() => hideCutNumbers(place)));
  }
})();
