"""The funnel from mined pairs to what is learned from."""

from pathlib import Path

from dashboards.content.funnel import funnel_page
from dashboards.view.shown import show_page

show_page("Funnel", lambda: funnel_page(Path()))
