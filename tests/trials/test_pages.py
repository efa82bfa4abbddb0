"""Every page of the dashboard in Chromium, on a phone and at three widths, light and dark: ``make pages`` (not in ``make test``).

``CHROMIUM`` names the browser, ``PICTURES`` a folder for a picture of each page, ``DASHBOARD_ROOT`` another project to look at.
"""

import base64
import os
import threading
from http.server import ThreadingHTTPServer
from pathlib import Path

import pytest

from dashboards.app import handler
from tasks.experiments.spec import experiment_names

playwright = pytest.importorskip("playwright.sync_api")
ROOT = Path(os.environ.get("DASHBOARD_ROOT", "."))
PAGES = ["/", "/experiments", "/trajectories", *(f"/experiments/{name}" for name in experiment_names(ROOT / "experiments"))]
WIDE, OVER, SHRUNK = "wider than the screen", "over another part", "a chart whose words are too small"
FAULTS = f"""() => {{
  const found = [], shown = [...document.querySelectorAll('h1, h2, p, nav, form, iframe, figure img, figcaption, .wide, .word')]
    .map(one => [one, one.getBoundingClientRect()]).filter(([, box]) => box.width && box.height);
  if (document.documentElement.scrollWidth > innerWidth) found.push('{WIDE}: the page');
  for (const [one, box] of shown) {{
    const name = `${{one.tagName}} ${{(one.textContent || one.alt || '').slice(0, 40)}}`;
    if (box.right > innerWidth + 1 || box.left < 0) found.push(`{WIDE}: ${{name}}`);
    if (one.tagName === 'IMG' && (!one.naturalWidth || box.width < 0.85 * one.naturalWidth)) found.push(`{SHRUNK}: ${{name}}`);
    for (const [other, area] of shown)
      if (one !== other && !one.contains(other) && !other.contains(one) && box.top < area.bottom - 2 && area.top < box.bottom - 2
          && box.left < area.right - 2 && area.left < box.right - 2) found.push(`{OVER}: ${{name}}`);
  }}
  return found;
}}"""
WORDS = """() => {
  const words = [...document.querySelectorAll('text')].filter(one => one.textContent.trim());
  const boxes = words.map(one => [one.textContent, one.getBoundingClientRect()]);
  const over = (box, area) => box.left < area.right - 3 && area.left < box.right - 3 && box.top < area.bottom - 4
    && area.top < box.bottom - 4;
  return boxes.flatMap(([one, box], place) => boxes.slice(place + 1).filter(([, area]) => over(box, area))
    .map(([other]) => `${one} | ${other}`));
}"""


@pytest.fixture(scope="module")
def address():
    with ThreadingHTTPServer(("127.0.0.1", 0), handler(ROOT, "127.0.0.1")) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture(scope="module")
def chromium():
    with playwright.sync_playwright() as started:
        options = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
        browser = started.chromium.launch(executable_path=os.environ.get("CHROMIUM", "/usr/bin/chromium"), args=options)
        yield browser
        browser.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1000, 1400, 2000])
def test_every_page_fits_and_asks_nobody_for_anything(chromium, address, width, scheme):
    context = chromium.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    page, drawing, faults, seen = context.new_page(), context.new_page(), [], set()
    page.on("console", lambda said: faults.append(("console", said.text)))
    page.on("pageerror", lambda error: faults.append(("error", str(error))))
    page.on("request", lambda asked: None if asked.url.startswith((address, "data:")) else faults.append(("asked", asked.url)))
    for path in PAGES:
        page.goto(f"{address}{path}", timeout=120_000)
        faults += [(path, fault) for frame in page.frames for fault in frame.evaluate(FAULTS)]
        for source in set(page.eval_on_selector_all("figure img", "all => all.map(one => one.currentSrc)")) - seen:
            seen.add(source)
            drawing.set_content(base64.b64decode(source.partition(",")[2]).decode())
            faults += [(path, f"words of a chart: {fault}") for fault in drawing.evaluate(WORDS)]
        if pictures := os.environ.get("PICTURES"):
            name = f"{path.strip('/').replace('/', '-') or 'report'}-{width}-{scheme}.png"
            page.screenshot(path=Path(pictures) / name, full_page=True)
    context.close()
    assert not faults, "\n".join(map(str, faults))
