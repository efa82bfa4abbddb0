"""A document as a browser parses it, as far as tests need: elements, attributes and text."""

from html.parser import HTMLParser


class Page(HTMLParser):
    """Tags, attributes and text of a page, read as a browser would."""

    def __init__(self, html):
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: list[tuple[str, str | None]] = []
        self.open: list[str] = []
        self.text = ""
        self.texts: dict[str, str] = {}
        self.feed(html)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes += attrs
        identity = dict(attrs).get("id")
        self.open += [identity or ""] * (tag != "meta")

    def handle_endtag(self, tag):
        self.open.pop()

    def handle_data(self, data):
        self.text += data
        for identity in filter(None, self.open):
            self.texts[identity] = self.texts.get(identity, "") + data

    def ids(self):
        return [value for name, value in self.attributes if name == "id" and value]
