import pytest

from fusesearch.core.config import Tools
from fusesearch.core.errors import ToolError
from fusesearch.search.read_file import ReadFile, decode
from fusesearch.search.repository import Repository
from fusesearch.search.ripgrep import RipgrepRun

NANO = Tools(read_lines=40, line_chars=80, output_chars=1200)


@pytest.fixture
def repository(tmp_path):
    (tmp_path / "a.py").write_text("".join(f"line {number}\n" for number in range(1, 101)))
    (tmp_path / "empty.py").touch()
    return Repository(tmp_path)


def read(repository, limits=NANO, path="a.py", start=None, end=None):
    return ReadFile(path, start, end).run(repository, limits, RipgrepRun())


def test_a_range_is_shown_with_numbers_and_without_a_notice(repository):
    outcome = read(repository, start=3, end=5)
    assert outcome.output == "3\tline 3\n4\tline 4\n5\tline 5"
    assert outcome.entities == ["a.py:3", "a.py:4", "a.py:5"]
    assert read(repository, Tools()).output.splitlines()[-1] == "100\tline 100"  # nor has a whole file within the limits


def test_long_files_and_ranges_are_cut_and_the_notice_says_what_is_shown(repository):
    for start, end, first, last in ((None, None, 1, 40), (90, 200, 90, 100), (-3, 4, 1, 4), (10, 99, 10, 49), (50, None, 50, 89)):
        outcome = read(repository, start=start, end=end)
        assert outcome.output.splitlines()[-2:] == [f"{last}\tline {last}", f"(lines {first}-{last} of 100)"]
        assert len(outcome.entities) == last - first + 1


@pytest.mark.parametrize(
    ("start", "end", "words"), [(101, None, "past the end of /repo/a.py, which has 100 lines"), (9, 3, "before start_line 9")]
)
def test_ranges_that_hold_nothing_are_errors(repository, start, end, words):
    with pytest.raises(ToolError, match=words):
        read(repository, start=start, end=end)


def test_characters_are_limited_too(repository):
    outcome = read(repository, Tools(output_chars=200))
    assert len(outcome.output) <= 200
    assert outcome.output.endswith(f"(lines 1-{len(outcome.entities)} of 100)")


def test_an_empty_file_says_so_and_long_lines_are_cut(repository):
    assert read(repository, path="empty.py").output == "(empty file)"
    (repository.root / "min.js").write_text("x" * 5_000_000 + "\nend\n")
    assert read(repository, path="min.js").output == "1\t" + "x" * 79 + "…\n2\tend"


def test_lines_are_counted_by_newlines_alone(repository):
    (repository.root / "odd.py").write_bytes("a\x0cb\u2028c\r\nd\x85e".encode())
    assert read(repository, path="odd.py").output == "1\ta\ufffdb\ufffdc\n2\td\ufffde\n(lines end in CR LF)"


def test_huge_files_are_read_in_part(repository):
    with open(repository.root / "huge.txt", "wb") as handle:
        handle.write(b"first\n" * 10)
        handle.seek(20 << 20)
        handle.write(b"last\n")
    with open(repository.root / "text.txt", "w") as handle:
        handle.write("0123456789abcde\n" * (2 << 20))
    with pytest.raises(ToolError, match="is a binary file"):
        read(repository, path="huge.txt")
    outcome = read(repository, path="text.txt", start=2, end=2)
    assert outcome.output == "2\t0123456789abcde\n(only the first 16 MiB of the file)"


@pytest.mark.parametrize(
    ("data", "text", "notices"),
    [
        ("naïve\n".encode(), "naïve\n", []),
        ("naïve\n".encode("utf-8-sig"), "naïve\n", []),
        ("naïve\n".encode("utf-16"), "naïve\n", []),
        ("naïve\n".encode("latin-1"), "naïve\n", ["(not UTF-8; read as Latin-1)"]),
    ],
)
def test_encodings_are_told_apart(data, text, notices):
    assert decode(data, "/repo/a") == (text, notices)
    assert decode("é".encode() * 10 + b"\xc3", "/repo/a", cut_off=True) == ("é" * 10, [])  # torn by the cut
