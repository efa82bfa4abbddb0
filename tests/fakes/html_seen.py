"""A document as a browser parses it, as far as tests need: elements, attributes and text."""

from html.parser import HTMLParser


class Seen(HTMLParser):
    """Tags and text of a document."""

    def __init__(self, html):
        super().__init__()
        self.tags, self.text, self.attributes = [], "", []
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data):
        self.text += data
