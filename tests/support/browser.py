"""A real browser without a window, where there is one: Debian's Chromium, driven by playwright."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

NAMES = ("chromium", "chromium-browser", "google-chrome")
PROGRAM = next(filter(None, map(shutil.which, NAMES)), None)
MISSING = (
    ("" if find_spec("playwright") else "playwright is not installed")
    if PROGRAM
    else f"there is none of {', '.join(NAMES)}"
)
# The frames after a search was typed: how long the longest took, in milliseconds.
LONGEST_FRAME = """async () => {
  const words = document.getElementById("ui-words");
  let longest = 0, before = performance.now(), on = true;
  const frame = (now) => {
    longest = Math.max(longest, now - before); before = now; if (on) requestAnimationFrame(frame);
  };
  requestAnimationFrame((now) => { before = now; requestAnimationFrame(frame); });
  words.value = "lantern tide";
  words.dispatchEvent(new Event("input", { bubbles: true }));
  const status = document.getElementById("ui-status"), begun = performance.now();
  while (!status.textContent) await new Promise((done) => setTimeout(done, 5));
  const answered = performance.now() - begun;
  await new Promise((done) => setTimeout(done, 300));
  on = false;
  return [answered, longest];
}"""
# Scrolling through each part of the page, a screen a frame: the longest frame.
SCROLL = """async () => {
  const frame = () => new Promise((done) => requestAnimationFrame(done));
  let longest = 0;
  for (const part of document.querySelectorAll("main > section")) {
    part.scrollIntoView();
    await frame();
    for (let n = 0, before = await frame(); n < 60; n += 1) {
      scrollBy(0, innerHeight);
      const now = await frame();
      longest = Math.max(longest, now - before);
      before = now;
    }
  }
  return longest;
}"""
BUSY_MS = 300_000  # on a busy machine what is measured may take long
PAINT = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime"


@contextmanager
def opened() -> Iterator[Browser]:
    """Start a browser."""
    from playwright.sync_api import sync_playwright

    sandbox = ["--no-sandbox"] if not hasattr(os, "getuid") or os.getuid() == 0 else []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=PROGRAM, args=sandbox)
        try:
            yield browser
        finally:
            browser.close()


def wait(shown: Page, expression: str) -> None:
    """Wait until something holds; playwright's own way would need `eval`, which a policy forbids.

    Raises:
        TimeoutError: If it does not within half a minute.
    """
    ends = time.monotonic() + 30
    while not shown.evaluate(expression):
        if time.monotonic() > ends:
            raise TimeoutError(expression)
        time.sleep(0.02)


def timings(browser: Browser, page: Path) -> dict[str, float]:
    """Return how long a report takes to be drawn, searched and scrolled through."""
    with browser.new_context(viewport={"width": 1280, "height": 900}) as context:
        shown = context.new_page()
        shown.goto(page.as_uri(), wait_until="load", timeout=BUSY_MS)
        wait(shown, PAINT)
        paint = shown.evaluate(PAINT)
        load = shown.evaluate("performance.getEntriesByType('navigation')[0].loadEventEnd")
        scrolled = shown.evaluate(SCROLL)
        answered, longest = shown.evaluate(LONGEST_FRAME)
        nodes = shown.evaluate("document.querySelectorAll('*').length")
    return {
        "ms to first paint": paint,
        "ms until loaded": load,
        "ms, longest frame while scrolling": scrolled,
        "ms until a search is answered": answered,
        "ms, longest frame while searching": longest,
        "elements": nodes,
    }
