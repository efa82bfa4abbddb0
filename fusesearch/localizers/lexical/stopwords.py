"""Words that do not help to find code."""

from __future__ import annotations


def word_set(text: str) -> frozenset[str]:
    """The blank-separated words of ``text``."""
    return frozenset(text.split())


STOPWORDS = word_set(
    """
    about above actual actually added after again against allow almost already also although always another anything appears
    apply around available avoid based because been before behavior behaviour being below better between both bug bugs call
    called calling calls cannot case cases cause caused causes change changed changes check code command comment common consider
    contains correct correctly could crash crashes create created current currently default describe description details did
    different does doesn doing done down during each either else enough environment error errors even every example examples
    exception exist exists expect expected expects fact fail failed failing fails failure false feature file files find first
    fixed follow following follows found from full function further getting give given gives goes going good hand happen
    happened happens have having hello help here however idea ideally instance instead into issue issues itself just keep know
    last latest least less like likely line lines linux list little local long look looking looks made main make makes making
    many maybe mean means message method might minimal missing more most much must name need needed needs never none nothing
    number object occurs once only open option options order other output over own package page particular pass passed
    perhaps please point possible prefer previous previously print probably problem produce produces program project provide
    provided python question quite raise raised raises rather reading really reason release report reported reproduce request
    required result results return returned returns running same says section see seem seems seen self send several should show
    shown shows similar simple simply since small some someone something sometimes sort specific start state still string such
    support sure system take takes test tested testing tests than that thank thanks that's their them then there therefore these
    they thing things think this those though through thus time title traceback tried trying type typical under unexpected
    unless until update upon usage used useful user users uses using value values various version versions very want wanted wants
    what when where whether which while whole will windows with within without work worked working works would write written
    wrong your none true additional dependencies steps stop stuff context setup installed install platform response actual
    instead input correct expression behaves gets come comes came
    """
)

SHORT_WORDS = word_set(
    """
    a an and any are as at but by can cls def do for has he how i if in is it its me my no not of off on or our out s self so t
    the to too was we what when where which while who why will with would yes you your
    """
)

COMMON_NAMES = word_set(
    """
    np pd plt nx sns os sys re math json time random itertools functools collections logging datetime pathlib typing
    array arange zeros ones linspace main foo bar baz test self cls args kwargs append join split strip format items keys
    values get pop update copy sort extend DataFrame Series assert_equal doctest ELLIPSIS NORMALIZE_WHITESPACE
    GitHub README JSON HTML JavaScript StackOverflow MacOS macOS PyPI OSError LibreSSL OpenSSL
    """
)
