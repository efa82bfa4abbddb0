"""Pages as HTML that is safe to open whatever the episode contains.

Everything from an episode goes through one filter and Jinja's escaping. A page has no script, and its Content-Security-Policy
allows only its own stylesheet, by digest, so injected markup could not act.
"""

from __future__ import annotations

import base64
import hashlib
import re
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from fusesearch.reporting.episodes.page import Page

# HTML does not allow control characters and lone surrogates; marks of direction could make code look like other code.
_UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufff0-\uffff\ud800-\udfff]")


def render(page: Page) -> str:
    """The page as one self-contained document."""
    environment = _environment()
    style = environment.get_template("episode.css.j2").render()
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    return environment.get_template("episode.html.j2").render(page=page, style=Markup(style), digest=digest)  # noqa: S704


@cache
def _environment() -> Environment:
    """Cached, so that the templates of thousands of pages are compiled once."""
    return Environment(
        loader=PackageLoader("fusesearch.reporting", "episodes"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=visible,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def visible(value: Any) -> Any:
    """Replace invisible characters in text, as Jinja's ``finalize``. Markup of the templates stays."""
    if not isinstance(value, str) or isinstance(value, Markup):
        return value
    return _UNSEEN.sub("\ufffd", value.replace("\r\n", "\n"))
