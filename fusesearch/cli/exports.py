"""``fusesearch export-predictions``: answers in the format of another system's next step."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def export_predictions(
    answers: Annotated[
        str,
        typer.Argument(help="A cell of a folder that `evaluate` wrote, or a file of predictions.", metavar="DIR/cells/NAME|FILE"),
    ],
    instances: Annotated[Path, typer.Option(help="Their instances: .json, .jsonl or .parquet.", metavar="FILE")],
    repos: Annotated[Path, typer.Option(help="Folder of bare repositories `owner__name.git`.", metavar="DIR")],
    out: Annotated[Path, typer.Option(help="File to write.", metavar="FILE")] = Path("loc_outputs.jsonl"),
) -> None:
    """Export answers for Agentless's repair.

    Writes `loc_outputs.jsonl` as Agentless's localization does: files, and the functions to edit in each. Files that the
    snapshot lacks are left out, since Agentless stops at them.

    ```
    fusesearch export-predictions artifacts/evaluate/cells/sft+rl --instances data/splits/validation.parquet --repos data/repos
    ```
    """
    from fusesearch.core.schema import Score
    from fusesearch.core.storage import read_jsonl, write_jsonl
    from fusesearch.data.repositories import Repositories
    from fusesearch.data.swe_bench import instances as tasks_of
    from fusesearch.data.swe_bench import read_rows
    from fusesearch.evaluation.predictions import Prediction, read_predictions
    from fusesearch.evaluation.published.formats import agentless_line
    from fusesearch.evaluation.results import SCORES

    source = Path(answers)
    if source.is_dir():
        scores = [row for row in read_jsonl(source / SCORES, Score) if row.run == 0 and row.error is None]
        found = {
            row.instance_id: Prediction(instance_id=row.instance_id, files=row.predicted_files, functions=row.predicted_functions)
            for row in scores
        }
    else:
        found = read_predictions(source)
    lines, unknown = [], 0
    with Repositories(repos) as repositories:
        for instance in tasks_of(str(instances), read_rows(instances)):
            if instance.instance_id in found:
                answer, read = found[instance.instance_id], repositories.reader(instance)
                files = list(dict.fromkeys([*answer.files, *(name.partition("::")[0] for name in answer.functions)]))
                known = {path for path in files if read(path) is not None}
                unknown += len(files) - len(known)
                functions = [name for name in answer.functions if name.partition("::")[0] in known]
                lines.append(agentless_line(instance.instance_id, [path for path in files if path in known], functions))
    write_jsonl(out, lines)
    typer.echo(f"{out}: {len(lines)} answers; {unknown} files that do not exist are left out")
