"""The report and the index in a real browser, headless: drawn, quiet, offline, usable by keyboard and on a phone."""

from __future__ import annotations

import re
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from chromium import DESKTOP, MARKS, PHONE, Seen, browser, seen
from gallery_samples import fleet_of_twenty, six_systems, sizing, sweep_of_levels
from report_samples import HOSTILE, interrupted_run, sample_run

from tidegauge import store
from tidegauge.cli.main import run_command
from tidegauge.report.html.index_rows import index_row
from tidegauge.report.html.page import index_page, report_page

__all__ = ["browser", "seen"]
pytestmark = MARKS


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("runs")
    sample = sample_run(directory, hostile=HOSTILE, trials=1)
    time.sleep(1.0)  # Runs are told apart and ordered by the second in which they began.
    for path in (sample, interrupted_run(directory)):
        assert run_command(["report", path.name, "--runs-dir", str(directory)]) == 0
    assert run_command(["index", "--runs-dir", str(directory)]) == 0
    return directory


@pytest.fixture(scope="module")
def report(runs: Path) -> Path:
    return store.list_runs(runs)[0].path / "report.html"


def colour(page: Any, selector: str, what: str) -> tuple[int, ...]:
    text = page.evaluate(f"getComputedStyle(document.querySelector({selector!r})).{what}")
    return tuple(int(float(part)) for part in text[text.index("(") + 1 : text.index(")")].split(",")[:3])


def opened_all(seen: Seen, report: Path) -> Any:
    """The report with every part unfolded."""
    page = seen.opened(report.as_uri())
    page.locator("#unfold").click()
    return page


def test_plots_are_drawn_and_nothing_is_asked_for_or_complained_about(seen: Seen, report: Path) -> None:
    page = opened_all(seen, report)
    sizes = page.eval_on_selector_all(
        ".plots:not(.more .plots) .canvas svg", "all => all.map(one => one.querySelectorAll('path').length)"
    )
    assert len(sizes) > 10
    assert min(sizes) > 5
    lines = page.eval_on_selector_all(
        ".canvas svg .system-0 path, .canvas svg path.system-0", "all => all.map(one => one.getTotalLength())"
    )
    assert sum(length > 20 for length in lines) > 10
    assert seen.requests == [report.as_uri()]
    assert seen.complaints == []


def test_hostile_words_run_nothing(seen: Seen, report: Path) -> None:
    page = opened_all(seen, report)
    assert "alert(1)" in page.inner_text("#reproduce")
    assert page.locator("img").count() == 0
    assert seen.complaints == []


def test_a_script_that_slipped_in_would_not_run(seen: Seen, report: Path, tmp_path: Path) -> None:
    spoilt = tmp_path / "spoilt.html"
    spoilt.write_text(report.read_text().replace("<h1>", "<h1><script>document.title = 'run'</script>", 1))
    page = seen.opened(spoilt.as_uri())
    assert page.title() != "run"
    assert any("Content Security Policy" in text for text in seen.complaints)


def test_values_by_pointer_and_by_keyboard(seen: Seen, report: Path) -> None:
    page = opened_all(seen, report)
    canvas = page.locator(".canvas").nth(2)
    tip = canvas.locator(".tip")
    assert tip.is_hidden()
    canvas.hover()
    assert "ms" in tip.inner_text()
    page.mouse.move(0, 0)
    assert tip.is_hidden()
    canvas.focus()
    canvas.press("ArrowRight")
    first = tip.inner_text()
    canvas.press("ArrowRight")
    assert tip.inner_text() != first
    canvas.press("ArrowDown")
    assert tip.inner_text().split(",")[0] != first.split(",")[0]
    canvas.press("Escape")
    assert tip.is_hidden()


def test_the_first_screen_has_the_answer_and_the_rest_is_folded(seen: Seen, report: Path) -> None:
    page = seen.opened(report.as_uri())
    tops = page.eval_on_selector_all(
        "h1, .verdict, .badges, .picture, #unsaid, #again", "all => all.map(one => one.getBoundingClientRect().top)"
    )
    assert len(tops) > 6
    assert max(tops) < DESKTOP["height"]
    assert page.locator("#trials table").is_hidden()


def test_a_link_opens_the_part_that_it_leads_to(seen: Seen, report: Path) -> None:
    page = seen.opened(report.as_uri())
    page.locator(".badge", has_text="Level").click()
    assert page.locator("#durability ul").is_visible()
    assert page.locator("#trials table").is_hidden()
    again = seen.opened(f"{report.as_uri()}#trials")
    assert again.locator("#trials table").is_visible()
    assert seen.complaints == []


def test_on_paper_every_part_is_open_and_what_pictures_show_already_is_not_listed(seen: Seen, report: Path) -> None:
    page = seen.opened(report.as_uri())
    page.emulate_media(media="print")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.locator("#trials table").is_visible()
    assert page.locator(".plot .canvas").first.is_visible()
    assert page.locator(".plot details:visible").count() == 0
    marks = page.eval_on_selector_all("summary", "all => all.map(one => getComputedStyle(one).listStyleType)")
    assert set(marks) == {"none"}, "what is open for good has no mark that it can be opened"
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.locator("#trials").get_attribute("open") is None


def test_a_system_can_be_hidden_everywhere(seen: Seen, report: Path) -> None:
    page = opened_all(seen, report)
    button = page.locator(".legend button").first
    button.focus()
    button.press("Enter")
    assert button.get_attribute("aria-pressed") == "false"
    shown = "all => all.filter(one => one.style.display !== 'none').length"
    assert page.eval_on_selector_all(".canvas .system-0", shown) == 0
    assert page.eval_on_selector_all(".canvas .system-1", shown) > 10
    button.press("Enter")
    assert page.eval_on_selector_all(".canvas .system-0", shown) > 10


def test_everything_that_reacts_can_be_reached_by_tab(seen: Seen, report: Path) -> None:
    page = seen.opened(report.as_uri())
    reached = set()
    for _ in range(60):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("document.activeElement.className || document.activeElement.tagName"))
    assert {"skip", "A", "BUTTON", "canvas", "SUMMARY"} <= reached


@pytest.mark.parametrize("seen", [{"color_scheme": "dark"}], indirect=True)
def test_dark_mode(seen: Seen, report: Path) -> None:
    page = seen.opened(report.as_uri())
    assert max(colour(page, "body", "backgroundColor")) < 60
    assert min(colour(page, "body", "color")) > 180
    assert min(colour(page, ".canvas svg text", "fill")) > 100


def test_a_phone_needs_no_scrolling_sideways(seen: Seen, report: Path) -> None:
    page = opened_all(seen, report)
    page.set_viewport_size(PHONE)
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    widths = page.eval_on_selector_all(".canvas svg", "all => all.map(one => one.getBoundingClientRect().width)")
    assert max(widths) <= PHONE["width"]
    height = page.eval_on_selector(".canvas svg text", "one => one.getBoundingClientRect().height * 1")
    assert height >= 9
    assert seen.complaints == []


def test_a_table_that_is_wider_than_the_screen_says_so(seen: Seen, report: Path) -> None:
    hint = "one => getComputedStyle(one, '::before').content"
    page = opened_all(seen, report)
    assert page.locator(".figures .scroll.wide").count() == 0
    page.set_viewport_size(PHONE)
    page.wait_for_function("document.querySelectorAll('#trials .scroll.wide').length === 1")
    assert "scroll sideways" in page.eval_on_selector("#trials .scroll", hint)
    said = page.eval_on_selector_all(
        ".scroll",
        """all => all.filter(one => one.checkVisibility()).map(
           one => [one.scrollWidth > one.clientWidth + 1, one.classList.contains('wide')])""",
    )
    assert all(wide == marked for wide, marked in said)
    assert {wide for wide, _ in said} == {True, False}


BROKEN_NAMES = """() => [...document.querySelectorAll("tbody th")].flatMap((head) => {
  const text = head.firstChild;
  return [...(text?.textContent || "").matchAll(/\\S+@\\S+/g)].filter((name) => {
    const range = document.createRange();
    range.setStart(text, name.index);
    range.setEnd(text, name.index + name[0].length);
    return new Set([...range.getClientRects()].map((line) => line.top)).size > 1;
  }).map((name) => name[0]);
})"""


def test_on_a_phone_names_of_systems_stay_whole_and_every_list_says_that_it_is_wider(
    seen: Seen, report: Path, runs: Path
) -> None:
    page = opened_all(seen, report)
    page.set_viewport_size(PHONE)
    assert page.evaluate(BROKEN_NAMES) == []
    page.add_style_tag(
        content="tbody th { width: 3rem; max-width: 3rem !important; overflow-wrap: anywhere !important; }"
    )
    assert page.evaluate(BROKEN_NAMES), "it can fail"
    page.goto((runs / "index.html").as_uri())
    page.wait_for_function("document.querySelectorAll('.scroll.wide').length > 0")
    assert page.locator(".scroll:not(.wide, .list)").count() == 0


NUMBERS_IN_PART = """(left) => [...document.querySelectorAll(".scroll.wide:has(.kept)")].flatMap((place) => {
  const { right } = place.getBoundingClientRect();
  return [...place.querySelectorAll("tbody tr")].flatMap((row) => {
    const edge = row.querySelector(".kept").getBoundingClientRect().right;
    return [...row.querySelectorAll("td.number")].filter((cell) => {
      const range = document.createRange();
      range.selectNodeContents(cell);
      const box = range.getBoundingClientRect();
      const cut = [edge, right].some((at) => box.left < at - 1 && box.right > at + 1);
      return cut && getComputedStyle(cell).visibility !== "hidden";
    }).map((cell) => cell.textContent);
  });
})"""
SCROLL_ALL = """async (left) => {
  for (const place of document.querySelectorAll(".scroll.wide")) place.scrollLeft = left;
  for (let frame = 0; frame < 3; frame++) await new Promise(requestAnimationFrame);
}"""


def test_of_a_table_that_scrolls_no_number_is_shown_in_part(seen: Seen, report: Path) -> None:
    """Of 20,000 under the column that is kept in view 000 would be left, which is another number."""
    page = opened_all(seen, report)
    page.set_viewport_size(PHONE)
    page.wait_for_function("document.querySelectorAll('.scroll.wide:has(.kept)').length > 2")

    def numbers_in_part() -> list[str]:
        numbers: list[str] = []
        for left in (0, 40, 75, 110, 170):
            page.evaluate(SCROLL_ALL, left)
            numbers += page.evaluate(NUMBERS_IN_PART)
        return numbers

    assert numbers_in_part() == []
    page.add_style_tag(content="td.cut { visibility: visible !important; }")
    assert numbers_in_part(), "it can fail"
    assert seen.complaints == []


def heights_where(is_wrong: Callable[[list[str]], bool], page: Any, tmp_path: Path, heights: range) -> list[int]:
    """At which heights of what stands above the sheets, as texts, are wrong."""
    wrong = []
    for height in heights:
        page.evaluate("height => { document.querySelector('#above').style.height = `${height}px`; }", height)
        page.pdf(path=str(tmp_path / "page.pdf"), format="A4")
        text = subprocess.run(["pdftotext", tmp_path / "page.pdf", "-"], check=True, capture_output=True, text=True)
        if is_wrong(text.stdout.rstrip("\f").split("\f")):
            wrong.append(height)
    return wrong


@pytest.mark.skipif(not shutil.which("pdftotext"), reason="no pdftotext here (Debian: apt-get install poppler-utils)")
def test_on_paper_no_heading_stands_alone_at_the_foot_of_a_page(seen: Seen, report: Path, tmp_path: Path) -> None:
    page = seen.opened(report.as_uri())
    page.evaluate("""() => {
      const part = document.querySelector("#fairness");
      for (const other of [...document.querySelector("main").children]) if (other !== part) other.remove();
      for (const one of [...part.children].slice(1)) one.remove();
      part.insertAdjacentHTML("beforeend", "<p>Nothing was found.</p>");
      part.insertAdjacentHTML("beforebegin", "<div id=above></div>");
    }""")

    def is_heading_alone(sheets: list[str]) -> bool:
        first, *others = sheets
        return "Fairness" in first and "Nothing was found." in " ".join(others)

    def heights_with_a_heading_alone() -> list[int]:
        return heights_where(is_heading_alone, page, tmp_path, range(940, 1030, 10))

    assert heights_with_a_heading_alone() == []
    page.add_style_tag(content="@media print { .fold > summary::after { display: none !important; } }")
    assert heights_with_a_heading_alone(), "it can fail"


@pytest.mark.skipif(not shutil.which("pdftotext"), reason="no pdftotext here (Debian: apt-get install poppler-utils)")
def test_on_paper_the_last_row_of_a_table_does_not_stand_alone(seen: Seen, report: Path, tmp_path: Path) -> None:
    page = seen.opened(report.as_uri())
    page.evaluate("""() => {
      const rows = [...Array(20).keys()].map((row) => `<tr><th>row-${row}-</th><td>1</td></tr>`).join("");
      document.querySelector("main").innerHTML = `<div id=above></div><div class=scroll><table>
        <thead><tr><th>name</th><td>figure</td></tr></thead><tbody>${rows}</tbody></table></div>`;
    }""")

    def is_row_alone(sheets: list[str]) -> bool:
        _, *others = sheets
        return bool(others) and re.findall(r"row-\d+-", others[-1]) == ["row-19-"]

    def heights_with_a_row_alone() -> list[int]:
        return heights_where(is_row_alone, page, tmp_path, range(700, 800, 5))

    assert heights_with_a_row_alone() == []
    page.add_style_tag(content="@media print { tbody tr:last-child { break-before: auto !important; } }")
    assert heights_with_a_row_alone(), "it can fail"


def test_on_paper_no_heading_stands_over_nothing(seen: Seen, tmp_path: Path) -> None:
    run = store.load_run(sweep_of_levels(tmp_path))
    store.write_page(run.path / "report.html", report_page(run, store.details_of(run)))
    page = seen.opened((run.path / "report.html").as_uri())
    page.emulate_media(media="print")
    heading = page.locator("h3", has_text="durability=2")
    assert heading.count() == 1
    assert not heading.is_visible()
    kept_together = "one => getComputedStyle(one).breakAfter"
    selectors = ("h3", ".fold > summary + p", "#reproduce p:has(+ pre)")
    assert {page.eval_on_selector(at, kept_together) for at in selectors} == {"avoid"}
    page.evaluate("for (const one of document.querySelectorAll('.more')) one.open = true")
    assert heading.is_visible()


@pytest.fixture(scope="module")
def fleet_report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = store.load_run(fleet_of_twenty(tmp_path_factory.mktemp("fleet")))
    return store.write_page(run.path / "report.html", report_page(run, store.details_of(run)))


def test_on_paper_no_hosts_are_folded_and_no_row_takes_two_lines(seen: Seen, fleet_report: Path) -> None:
    page = seen.opened(fleet_report.as_uri())
    assert not page.locator("#hosts table").is_visible()
    page.set_viewport_size({"width": 703, "height": 1030})
    page.emulate_media(media="print")
    assert page.locator("#hosts table").is_visible()
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    for rows in ("#trials tbody tr", "#hosts tbody tr"):
        heights = page.eval_on_selector_all(rows, "all => all.map(one => one.offsetHeight)")
        assert max(heights) < 20, rows
    top, right = page.eval_on_selector("#hosts", "one => [one.getBoundingClientRect().top, one.offsetWidth]")
    assert right > 650, "they have the whole sheet"
    bottoms = "all => Math.max(...all.map(one => one.getBoundingClientRect().bottom))"
    assert page.eval_on_selector_all(".picture, #unsaid, #again", bottoms) <= top
    first_row = "#trials tbody tr:first-child"
    assert page.eval_on_selector(first_row, "one => getComputedStyle(one).breakBefore") == "avoid"


@pytest.mark.parametrize("width", [980, 1400])
def test_no_figure_beside_the_first_picture_is_cut(seen: Seen, tmp_path: Path, width: int) -> None:
    run = store.load_run(six_systems(tmp_path))
    page = seen.opened(store.write_page(tmp_path / "six.html", report_page(run, store.details_of(run))).as_uri())
    page.set_viewport_size({"width": width, "height": 900})
    place = page.locator(".beside .figures .scroll")
    assert place.evaluate("one => [one.scrollWidth - one.clientWidth, one.querySelectorAll('tbody tr').length]") == [
        0,
        12,
    ]


def test_pictures_of_a_row_stand_at_one_height(seen: Seen, report: Path) -> None:
    page = opened_all(seen, report)
    page.evaluate("""() => {
      const [first] = document.querySelectorAll(".plots figcaption");
      first.textContent = "A title of several words that takes several lines of one picture. ".repeat(3);
    }""")
    first, second = page.eval_on_selector_all(
        ".plots .canvas", "all => all.slice(0, 2).map(one => one.getBoundingClientRect().top)"
    )
    heads = page.eval_on_selector_all(
        ".plots figcaption", "all => all.slice(0, 2).map(one => one.getBoundingClientRect().top)"
    )
    assert heads[0] == heads[1], "they are of one row"
    assert first == pytest.approx(second, abs=1)
    page.add_style_tag(content=".plots > .plot { display: block !important; }")
    tops = page.eval_on_selector_all(".plots .canvas", "all => all.map(one => one.getBoundingClientRect().top)")
    assert tops[0] > tops[1] + 10, "it can fail"


def test_on_paper_nothing_that_is_read_in_one_go_is_broken_and_heads_stand_apart(seen: Seen, report: Path) -> None:
    page = seen.opened(report.as_uri())
    page.emulate_media(media="print")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    breaks = page.eval_on_selector_all("main li, main p", "all => all.map(one => getComputedStyle(one).breakInside)")
    assert set(breaks) == {"avoid"}
    gaps = page.evaluate("""() => [...document.querySelectorAll("thead tr")].flatMap((row) => {
      const boxes = [...row.querySelectorAll("th[colspan] span")].map((head) => head.getBoundingClientRect());
      return boxes.slice(1).map((box, place) => box.left - boxes[place].right);
    }).filter((gap) => gap < 50)""")
    assert len(gaps) > 5
    assert min(gaps) >= 5


def test_on_a_phone_the_first_table_shows_all_its_figures_at_once(seen: Seen, fleet_report: Path) -> None:
    page = seen.opened(fleet_report.as_uri())
    page.set_viewport_size({"width": 390, "height": 844})
    first = page.locator(".figures:not(.hosts) .scroll").first
    assert first.evaluate("one => one.scrollWidth <= one.clientWidth")
    assert first.locator("thead td").evaluate("one => getComputedStyle(one).borderBottomWidth") == "0px"


def test_on_a_phone_words_have_room_and_figures_of_two_kinds_stand_apart(seen: Seen, tmp_path: Path) -> None:
    run = store.load_run(sizing(tmp_path))
    page = seen.opened(store.write_page(tmp_path / "sizing.html", report_page(run, store.details_of(run))).as_uri())
    page.set_viewport_size(PHONE)
    page.locator("#unfold").click()
    words = page.locator("td", has_text="of the offered rate")
    assert words.count() > 3
    assert min(words.evaluate_all("all => all.map(one => one.offsetWidth)")) >= 150
    gaps = page.evaluate("""() => [...document.querySelectorAll(".figures tbody td.begin.number")].map((cell) => {
      const [text, before] = [cell, cell.previousElementSibling].map((one) => {
        const range = document.createRange();
        range.selectNodeContents(one);
        return range.getBoundingClientRect();
      });
      return text.left - before.right;
    })""")
    assert len(gaps) == 8
    assert min(gaps) >= 9, "8 50,000 is no number"


def test_paper_takes_few_pages(seen: Seen, report: Path) -> None:
    page = seen.opened(report.as_uri())
    pages = len(re.findall(rb"/Type\s*/Page\b(?!s)", page.pdf(format="A4")))
    assert 1 < pages <= 6
    page.emulate_media(media="print")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.locator("#settings").is_visible()
    assert page.locator("#settings details:visible").count() == 0


def test_a_list_of_runs_with_long_names_needs_no_scrolling_sideways(seen: Seen, runs: Path, tmp_path: Path) -> None:
    rows = [index_row(store.load_run(run.path), "") for run in store.list_runs(runs)]
    address = tmp_path / "index.html"
    address.write_text(index_page([{**row, "name": f"{row['name']}-of-a-very-long-campaign"} for row in rows]))
    page = seen.opened(address.as_uri())
    wide = page.eval_on_selector(".scroll", "one => [one.scrollWidth, one.clientWidth]")
    assert wide[0] <= wide[1]


def long_list(runs: Path, tmp_path: Path) -> Path:
    """A list of so many runs that it takes several sheets of paper."""
    row = index_row(store.load_run(store.list_runs(runs)[0].path), "")
    address = tmp_path / "long.html"
    address.write_text(index_page([{**row, "name": f"{row['name']}-{number}"} for number in range(90)]))
    return address


def test_on_a_phone_a_list_of_runs_says_everything_of_each_without_scrolling_sideways(
    seen: Seen, runs: Path, tmp_path: Path
) -> None:
    page = seen.opened(long_list(runs, tmp_path).as_uri())
    page.set_viewport_size(PHONE)
    ends = "all => Math.max(...all.map(one => one.getBoundingClientRect().right))"
    assert page.eval_on_selector_all(".list :is(th, td)", ends) <= PHONE["width"]
    assert page.eval_on_selector_all(
        ".list td", "all => all.every(one => one.checkVisibility({visibilityProperty: true}))"
    )
    heights = page.eval_on_selector_all(".list td:nth-child(5)", "all => all.map(one => one.offsetHeight)")
    assert max(heights) < 30, "no word is broken where a line ends"
    assert page.locator(".list thead button").first.is_visible(), "it can be sorted"
    assert "wide" not in page.locator(".list").get_attribute("class")


@pytest.mark.skipif(not shutil.which("pdftotext"), reason="no pdftotext here (Debian: apt-get install poppler-utils)")
def test_on_paper_a_list_of_runs_has_its_heads_on_every_page_and_asks_nothing(
    seen: Seen, runs: Path, tmp_path: Path
) -> None:
    page = seen.opened(long_list(runs, tmp_path).as_uri())
    page.pdf(path=str(tmp_path / "page.pdf"), format="A4")
    text = subprocess.run(["pdftotext", tmp_path / "page.pdf", "-"], check=True, capture_output=True, text=True).stdout
    sheets = text.split("\f")[:-1]
    assert len(sheets) > 2
    assert all(re.search(r"^(run|validity|answer|experiment)$", sheet, re.MULTILINE) for sheet in sheets)
    page.emulate_media(media="print")
    assert page.locator("input.chosen:visible, #comparison:visible").count() == 0


@pytest.mark.parametrize("selector", [".keys", ".kicker", ".figures table", ".beside h2", ".badge", ".legend"])
def test_on_paper_no_letters_are_larger_than_those_of_the_title(seen: Seen, report: Path, selector: str) -> None:
    page = seen.opened(report.as_uri())
    page.emulate_media(media="print")
    size = "one => parseFloat(getComputedStyle(one).fontSize)"
    title, text = page.eval_on_selector("h1", size), page.eval_on_selector("body", size)
    most = title if selector.endswith("h2") else text
    assert page.eval_on_selector(selector, size) <= most


def test_figures_of_runs_are_sorted_and_chosen_by_clicking(seen: Seen, runs: Path, tmp_path: Path) -> None:
    (run, *_) = [store.load_run(stored.path) for stored in store.list_runs(runs)]
    row = index_row(run, "")
    cells = [("9", "9.0"), ("1,000", "1000.0"), ("", ""), ("20", "20.0")]
    line = {"experiment": "latency", "system": "x", "trials": "1/1", "validity": "valid"}
    rows = [
        {**row, "name": f"2026-{place}", "figures": [{**line, "cells": [cell] * 4}]} for place, cell in enumerate(cells)
    ]
    address = tmp_path / "index.html"
    address.write_text(index_page(rows))
    page = seen.opened(address.as_uri())
    shown = "all => all.filter(one => !one.parentNode.hidden).map(one => one.textContent)"

    def rates() -> list[str]:
        return page.eval_on_selector_all("table.figures tbody td:nth-child(5)", shown)  # type: ignore[no-any-return]

    page.get_by_role("button", name="rate, msg/s").click()
    assert rates() == ["9", "20", "1,000", ""]
    page.get_by_role("button", name="rate, msg/s").click()
    assert rates() == ["1,000", "20", "9", ""]
    page.get_by_label("Compare 2026-3").check()
    page.get_by_label("Compare 2026-0").check()
    assert page.locator("#comparison code").text_content() == "tidegauge compare 2026-0 2026-3"
    assert sorted(rates()) == ["20", "9"]
    page.get_by_label("Compare 2026-0").uncheck()
    assert len(rates()) == 4
    assert seen.complaints == []


def test_on_a_phone_no_first_column_hides_the_others(seen: Seen, report: Path) -> None:
    page = opened_all(seen, report)
    page.set_viewport_size(PHONE)
    widths = "all => all.map(one => one.getBoundingClientRect().width)"
    assert max(page.eval_on_selector_all("#trials table tbody th", widths)) <= PHONE["width"] / 2


def test_paper_has_names_of_systems_and_whole_lines(seen: Seen, report: Path) -> None:
    page = seen.opened(report.as_uri())
    assert page.locator(".paper:visible").count() == 0
    page.emulate_media(media="print")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.locator(".paper:visible").count() == page.locator(".plots:visible").count() > 2
    wide = "all => all.filter(one => one.scrollWidth > one.clientWidth + 1).length"
    assert page.eval_on_selector_all("pre", wide) == 0


def test_labels_do_not_stand_on_each_other_nor_outside(seen: Seen, report: Path) -> None:
    page = opened_all(seen, report)
    for size in (DESKTOP, PHONE):
        page.set_viewport_size(size)
        spoilt = page.evaluate(
            """() => [...document.querySelectorAll('.canvas svg')].filter(svg => svg.clientWidth).flatMap(svg => {
              const outer = svg.getBoundingClientRect();
              const texts = [...svg.querySelectorAll('text')];
              const boxes = texts.map(one => [one.textContent, one.getBoundingClientRect()]);
              const found = [];
              boxes.forEach(([text, box], place) => {
                if (box.left < outer.left - 3 || box.right > outer.right + 3) found.push('outside: ' + text);
                for (const [other, box2] of boxes.slice(place + 1)) {
                  const across = Math.min(box.right, box2.right) - Math.max(box.left, box2.left);
                  const down = Math.min(box.bottom, box2.bottom) - Math.max(box.top, box2.top);
                  if (across > 1 && down > 3) found.push(text + ' on ' + other);
                }
              });
              return found.map(words => svg.closest('figure').id + ': ' + words);
            })"""
        )
        assert spoilt == []


def test_an_interrupted_run_has_plots_too(seen: Seen, runs: Path) -> None:
    page = seen.opened((store.list_runs(runs)[1].path / "report.html").as_uri())
    assert page.locator("figure").count() > 5
    assert seen.complaints == []


def test_the_index_sorts_and_leads_to_a_report(seen: Seen, runs: Path) -> None:
    page = seen.opened((runs / "index.html").as_uri())
    names = page.locator("tbody th")
    assert names.first.inner_text().endswith("cut-off")
    page.locator("thead button").first.press("Enter")
    assert page.locator("thead th").first.get_attribute("aria-sort") == "ascending"
    assert names.first.inner_text().endswith("sample")
    page.locator("tbody a").first.click()
    assert "Tidegauge report" in page.title()
    assert seen.complaints == []


def test_hosts_of_a_large_fleet_are_read_without_scrolling_sideways(seen: Seen, tmp_path: Path) -> None:
    run = store.load_run(fleet_of_twenty(tmp_path))
    path = store.write_page(tmp_path / "fleet.html", report_page(run, store.details_of(run)))
    page = seen.opened(path.as_uri())
    page.set_viewport_size({"width": 400, "height": 800})
    page.locator("#hosts summary").click()
    place = page.locator("#hosts .scroll")
    assert place.evaluate("one => one.scrollWidth <= one.clientWidth")
    assert place.locator("tbody tr").last.inner_text().split("\n")[0].startswith("10.77.0.21")
    # What a cell is stands in it, since heads would be far above.
    head = place.locator("td").nth(1).evaluate("one => getComputedStyle(one, '::before').content")
    assert "CPUs" in head
    assert not seen.complaints
