"""The program that checks the names of repositories, over the constructs of all languages."""

from experiments.spans.names import checked
from tests.unit.code.test_readings import EVERY


def test_names_of_all_constructs_come_back_through_every_reader(tmp_path):
    for number, (path, source, _) in enumerate(EVERY):
        (tmp_path / f"{number}.{path.rpartition('.')[2]}").write_text(source)
    lost = [(name, reader) for _, name, faults in checked(tmp_path) for reader, _ in faults if reader != "ranker"]
    assert lost == []
