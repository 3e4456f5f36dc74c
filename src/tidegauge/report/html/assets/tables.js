"use strict";
(() => {
  // A table that is wider than its place says so, also where that becomes narrower, or is unfolded later.
  const widths = new ResizeObserver((entries) => {
    for (const { target } of entries) target.classList.toggle("wide", target.scrollWidth > target.clientWidth + 1);
  });
  for (const place of document.querySelectorAll(".scroll")) widths.observe(place);
})();
