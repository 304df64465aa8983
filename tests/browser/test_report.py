"""Reports in Chromium: nothing is complained of or asked for; they are read in any light, by keyboard and on paper."""

from __future__ import annotations

import os
import re
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import pytest

from tests.unit.report.made_groups import LONG_NAME

from .conftest import Watched

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from playwright.sync_api import Browser

PAGES = ("resnet-a100", "large", "hostile", "sweep")
WIDTHS = {"wide": 1280, "phone": 390}
Scheme = Literal["light", "dark"]
CONTRAST = 4.5
"""Of text on its background. Source: WCAG 2.2, 1.4.3."""

WORDS_IN_LINES = """(which) => [...document.querySelectorAll(which)].flatMap((element) => {
  const found = [];
  const texts = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    for (const match of texts.currentNode.data.matchAll(/\\S+/g)) {
      const range = document.createRange();
      range.setStart(texts.currentNode, match.index);
      range.setEnd(texts.currentNode, match.index + match[0].length);
      found.push([match[0], new Set([...range.getClientRects()].map((box) => Math.round(box.top))).size]);
    }
  }
  return found;
})"""
"""Each word of the elements that a selector names, and in how many lines it stands."""


@pytest.fixture
def look(browser: Browser, reports: Path) -> Iterator[Callable[..., Watched]]:
    """Open a page, in light or dark, on a wide screen or a phone; at the end nothing may have been complained of."""
    seen: list[Watched] = []
    contexts = []

    def open_page(name: str, scheme: Scheme = "light", width: int = 1280) -> Watched:
        context = browser.new_context(color_scheme=scheme, viewport={"width": width, "height": 900})
        contexts.append(context)
        seen.append(Watched(context.new_page(), reports / f"{name}.html"))
        return seen[-1]

    yield open_page
    for context in contexts:
        context.close()
    assert [complaint for watched in seen for complaint in watched.complaints] == []


@pytest.fixture(scope="session")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the screenshots: PAISLURM_SCREENSHOTS, or one that is kept as long as pytest keeps it."""
    named = os.environ.get("PAISLURM_SCREENSHOTS")
    folder = Path(named) if named else tmp_path_factory.mktemp("screenshots")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("screen", WIDTHS)
@pytest.mark.parametrize("name", PAGES)
def test_a_page_fits_its_screen(
    look: Callable[..., Watched], pictures: Path, name: str, screen: str, scheme: Scheme
) -> None:
    page = look(name, scheme, WIDTHS[screen]).page
    page.screenshot(path=pictures / f"{name}-{screen}-{scheme}.png", full_page=True)
    assert page.evaluate("document.documentElement.scrollWidth") == WIDTHS[screen]
    shown = page.locator("figure svg:visible")
    assert shown.count() > 0
    for number in range(shown.count()):
        box = shown.nth(number).bounding_box()
        assert box is not None
        assert 0 <= box["x"] <= WIDTHS[screen] - box["width"]


@pytest.mark.parametrize("width", [600, 1000, 1400])
@pytest.mark.parametrize("name", ["long-reason", "compared"])
def test_no_label_is_broken_within_a_word(look: Callable[..., Watched], pictures: Path, name: str, width: int) -> None:
    page = look(name, "light", width).page
    page.screenshot(path=pictures / f"{name}-{width}.png", full_page=True)
    words = page.evaluate(WORDS_IN_LINES, "thead th, .facts dt, .pairs th, tbody .t, .state")
    assert {"long-reason": "Submitted", "compared": "optimizer"}[name] in [word for word, _ in words]
    assert [word for word, lines in words if lines > 1 and word != LONG_NAME] == []


def test_comparison_columns_fit_without_horizontal_scrolling(look: Callable[..., Watched]) -> None:
    page = look("compared", "light", 1000).page
    assert page.locator("thead th").all_inner_texts()[:5] == ["Job", "lr", "optimizer", "Result", "State"]
    assert page.evaluate("document.querySelectorAll('.scroll').length") == 1
    assert page.evaluate(
        "[...document.querySelectorAll('.scroll')].map((one) => one.scrollWidth - one.clientWidth)"
    ) == [0]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", PAGES)
def test_text_has_enough_contrast_with_its_background(look: Callable[..., Watched], name: str, scheme: Scheme) -> None:
    page = look(name, scheme).page
    pairs = page.evaluate(
        """() => {
          const behind = (element) => {
            for (let at = element; at; at = at.parentElement) {
              const colour = getComputedStyle(at).backgroundColor;
              if (colour !== "rgba(0, 0, 0, 0)") return colour;
            }
            return "rgb(255, 255, 255)";
          };
          const found = new Set();
          for (const element of document.querySelectorAll("main *, nav *, footer *")) {
            if (![...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim())) continue;
            if (element instanceof SVGElement && element.tagName !== "text") continue;
            const style = getComputedStyle(element);
            found.add(`${element instanceof SVGElement ? style.fill : style.color}|${behind(element)}`);
          }
          return [...found];
        }"""
    )
    assert len(pairs) >= 4
    assert [pair for pair in pairs if contrast(*pair.split("|")) < CONTRAST] == []


def contrast(one: str, other: str) -> float:
    """Return how far two colours are from each other. Source: WCAG 2.2, contrast ratio."""
    lighter, darker = sorted((luminance(one), luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def luminance(colour: str) -> float:
    parts = [int(part) / 255 for part in re.findall(r"\d+", colour)[:3]]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def test_colours_of_charts_follow_the_page(look: Callable[..., Watched]) -> None:
    fill = "getComputedStyle(document.querySelector('figure rect.running')).fill"
    assert look("resnet-a100", "light").page.evaluate(fill) != look("resnet-a100", "dark").page.evaluate(fill)


def test_page_can_be_navigated_by_keyboard(look: Callable[..., Watched]) -> None:
    watched = look("resnet-a100")
    keyboard = watched.page.keyboard
    keyboard.press("Tab")
    assert watched.focused() == "How it ended"
    for _ in range(6):
        keyboard.press("Tab")
    assert watched.focused() == "Job file and script"
    keyboard.press("Enter")
    keyboard.press("Tab")
    assert watched.focused().startswith("Job file")
    before = watched.page.locator("#source details[open]").count()
    keyboard.press("Enter")
    assert watched.page.locator("#source details[open]").count() == before + 1


def test_long_task_tables_are_folded_and_can_be_opened(look: Callable[..., Watched]) -> None:
    page = look("large").page
    rows = page.locator("details.role tbody tr")
    assert rows.count() == 500
    assert page.locator("details.role tbody tr:visible").count() == 0
    page.locator("details.role summary").first.click()
    assert page.locator("details.role tbody tr:visible").count() == 480
    assert page.evaluate("document.querySelectorAll('*').length") < 12_000
    assert page.locator("figure svg:visible").count() == 2


def test_hostile_text_is_not_rendered_as_html(look: Callable[..., Watched]) -> None:
    page = look("hostile").page
    assert page.locator("img").count() == 0
    assert page.evaluate("document.scripts.length") == 1
    assert "<img src=x onerror=alert(1)>" in page.locator("h2 + table").first.inner_text()
    assert "\\u202e" in page.locator(".reason").inner_text()
    assert page.title() == "hostile FAILED"


def test_page_cannot_load_or_run_external_content(browser: Browser, reports: Path) -> None:
    context = browser.new_context()
    watched = Watched(context.new_page(), reports / "resnet-a100.html")
    done = watched.page.evaluate(
        """async () => {
          const image = new Image();
          const loaded = new Promise((told) => {
            image.onload = () => told("loaded");
            image.onerror = () => told("refused");
          });
          image.src = "http://127.0.0.1:9/";
          const asked = await fetch("http://127.0.0.1:9/").then(() => "answered", () => "refused");
          const text = document.createElement("script");
          text.textContent = "window.ran = true";
          document.body.append(text);
          return [await loaded, asked, window.ran === undefined];
        }"""
    )
    context.close()
    assert done == ["refused", "refused", True]
    policy = [complaint for complaint in watched.complaints if "Content Security Policy" in complaint]
    assert len(policy) >= 3, "it was the policy that refused"


def test_printing_includes_folded_sections(look: Callable[..., Watched], pictures: Path) -> None:
    page = look("resnet-a100").page
    folded = page.locator("details:not([open])").count()
    assert folded > 0
    data = page.pdf(path=pictures / "resnet-a100.pdf", format="A4")
    assert data.startswith(b"%PDF-")
    assert len(re.findall(rb"/Type\s*/Page\b", data)) >= 3
    assert page.locator("details:not([open])").count() == folded, "they are folded again"
    page.emulate_media(media="print", color_scheme="dark")
    assert page.evaluate("getComputedStyle(document.documentElement).backgroundColor") == "rgb(255, 255, 255)"
    assert not page.locator("nav.skip").is_visible()


def test_every_chart_has_a_name_and_a_table(look: Callable[..., Watched]) -> None:
    for name in PAGES:
        page = look(name).page
        charts = page.locator("figure svg:visible")
        names = [charts.nth(number).get_attribute("aria-label") for number in range(charts.count())]
        assert all(names)
        assert len(set(names)) == len(names)
        assert page.locator("section:has(figure) table").count() > 0 or name == "sweep"
        headings = page.evaluate("[...document.querySelectorAll('h1,h2,h3,h4')].map((one) => Number(one.tagName[1]))")
        assert headings[0] == 1
        assert all(after - before <= 1 for before, after in pairwise(headings))
