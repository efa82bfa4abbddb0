"""Scores of the episodes that veRL's workers run, for the training curve: a file of lines for each process."""

from __future__ import annotations

from pathlib import Path

from fusesearch.core.schema import Record, Score


class Noted(Record):
    """The score of an episode of a step; ``held_out``: of its validation."""

    step: int
    held_out: bool
    score: Score

    def append(self, path: Path) -> None:
        """Add a line to ``path``, which one process alone writes."""
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a", encoding="utf-8") as file:
            file.write(f"{self.model_dump_json(exclude_defaults=True)}\n")


def noted(folder: Path, step: int) -> list[Noted]:
    """What was noted of ``step``, by instance. The last line of a process that died may be cut off, and does not count."""
    texts = [path.read_text(encoding="utf-8") for path in folder.glob("*.jsonl")]
    lines = [line for text in texts for line in text.splitlines(keepends=True) if line.startswith(f'{{"step":{step},')]
    rows = [Noted.model_validate_json(line) for line in lines if line.endswith("\n")]
    return sorted(rows, key=lambda row: row.score.instance_id)
