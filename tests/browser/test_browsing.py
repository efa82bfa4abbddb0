"""Every page of the dashboard in a real browser: it shows what it should, fits a laptop, and fetches nothing from elsewhere."""

import os
from pathlib import Path

from dashboards.tabs import PAGES

TITLES = {name: page.TITLE for name, page in PAGES.items()}
FRAMES = {"report": 1, "experiments": 1, "trajectories": 2}
SCREENSHOTS = os.environ.get("SCREENSHOTS")


def settled(page, title):
    """Wait until a page is there and Streamlit has done its work."""
    page.get_by_role("heading", level=1, name=title, exact=True).wait_for()
    page.wait_for_function("() => !document.querySelector('[data-testid=stStatusWidget]')")
    page.wait_for_function("() => document.querySelector('[data-testid=stApp]').dataset.testScriptState === 'notRunning'")


def opened(page, dashboard, name):
    page.goto(f"{dashboard}/{'' if name == 'report' else name}", wait_until="domcontentloaded")
    settled(page, TITLES[name])


def photograph(page, name):
    if SCREENSHOTS:
        page.wait_for_timeout(1500)
        height = page.evaluate("document.querySelector('[data-testid=stMain]').scrollHeight")
        page.set_viewport_size({"width": 1366, "height": min(height, 3200)})
        page.wait_for_timeout(1500)
        Path(SCREENSHOTS).mkdir(parents=True, exist_ok=True)
        page.screenshot(path=Path(SCREENSHOTS) / f"{name}.png")
        page.set_viewport_size({"width": 1366, "height": 768})


def test_clicking_through_all_pages(page, dashboard):
    outside, broken = [], []
    page.on(
        "request",
        lambda request: (
            None if request.url.startswith((dashboard, "data:", "blob:", "about:", "ws:")) else outside.append(request.url)
        ),
    )
    page.on("pageerror", lambda error: broken.append(str(error)))
    page.goto(dashboard, wait_until="domcontentloaded")
    settled(page, TITLES["report"])
    for name in PAGES:
        page.get_by_role("link", name=TITLES[name], exact=True).click()
        settled(page, TITLES[name])
        page.locator("iframe").nth(FRAMES[name] - 1).wait_for()
        assert page.locator("[data-testid=stException]").count() == 0
        photograph(page, name)
    assert outside == []
    assert broken == []


def test_an_address_keeps_what_was_chosen(page, dashboard):
    page.goto(f"{dashboard}/trajectories?first=base&second=SFT", wait_until="domcontentloaded")
    settled(page, TITLES["trajectories"])
    for place, name in enumerate(("base", "sft")):
        about = page.frame_locator("iframe").nth(place).locator(".about")
        about.wait_for()
        assert f"fusesearch, {name}" in about.inner_text()


def test_hostile_text_stays_text_in_the_page_and_in_the_frames(page, dashboard):
    opened(page, dashboard, "trajectories")
    frames = page.locator("iframe")
    frames.nth(1).wait_for()
    assert all(frames.nth(place).get_attribute("src").startswith("data:text/html") for place in range(2))
    for place in range(2):
        inside = page.frame_locator("iframe").nth(place)
        inside.get_by_role("heading", name="Turn 1", exact=True).wait_for()
        assert inside.locator("script, img").count() == 0
        if "DASHBOARD_ROOT" not in os.environ:
            assert inside.get_by_text("<script>document.title").first.is_visible()
    assert "hacked" not in page.title()
    assert page.locator("img[src='x']").count() == 0


def test_a_call_in_the_map_of_a_frame_leads_to_its_card(page, dashboard):
    opened(page, dashboard, "trajectories")
    inside = page.frame_locator("iframe").first
    cell = inside.locator(".map a.cell").first
    anchor = cell.get_attribute("href").removeprefix("#")
    cell.click()
    card = inside.locator(".card:target")
    card.wait_for()
    assert card.get_attribute("id") == anchor


def test_the_page_fits_a_small_laptop_without_scrolling_sideways(page, dashboard):
    for name in TITLES:
        opened(page, dashboard, name)
        wide = page.evaluate("(m => m.scrollWidth - m.clientWidth)(document.querySelector('[data-testid=stMain]'))")
        assert wide <= 1, name
