"""``python -m experiments.benchmarks.localizers model|free``: the checks behind ``RESULTS.md``, over your clones."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(add_completion=False, no_args_is_help=True, help="Localizers over real instances from clones.")

InstancesOption = Annotated[Path, typer.Option("--dataset", help="Instances in the SWE-bench schema, JSONL.", metavar="FILE")]
ReposOption = Annotated[Path, typer.Option(help="Folder of bare clones `owner__name.git`.", metavar="DIR")]
CacheOption = Annotated[Path, typer.Option(help="Folder of snapshots.", metavar="DIR")]
CACHE = Path(".fusesearch/snapshots")


@app.command()
def model(
    dataset: InstancesOption,
    repos: ReposOption,
    localizer: Annotated[list[str] | None, typer.Option(help="One localizer; may be repeated. Default: all that ask.")] = None,
    instances: Annotated[int, typer.Option(help="How many, spread over the repositories.", min=1)] = 20,
    fail: Annotated[float, typer.Option(help="Share of requests that fail.", min=0, max=1)] = 0.0,
    cache: CacheOption = CACHE,
) -> None:
    """Run localizers that ask a model against scripted stand-ins, and print what happened as a table.

    A stand-in knows nothing, so its F1 says nothing about a localizer. Exit code 1 when it failed itself, or when an
    episode errored though no request did.
    """
    from experiments.benchmarks.localizers.driven import HEADER, as_row, drive, markdown, problems
    from experiments.benchmarks.localizers.instances import load, snapshots
    from tasks.localizers.registry import LOCALIZERS
    from tests.fakes.policies import STYLES

    places = snapshots(cache, repos)
    chosen = load(dataset, repos, places, instances)
    rows, wrong = [], []
    for name in localizer or [name for name, entry in LOCALIZERS.items() if entry.asks_model]:
        for style in STYLES:
            done = asyncio.run(drive(name, style, chosen, places, fail=fail))
            rows.append(as_row(done))
            wrong += problems(done)
            typer.echo(" | ".join(rows[-1]), err=True)
    typer.echo(markdown(HEADER, rows))
    for problem in wrong[:20]:
        typer.echo(problem, err=True)
    sys.exit(1 if wrong else 0)


@app.command()
def free(
    dataset: InstancesOption,
    repos: ReposOption,
    instances: Annotated[int, typer.Option(help="How many, spread over the repositories.", min=1)] = 120,
    skip: Annotated[int, typer.Option(help="Instances to leave out first: those that choices were made on.", min=0)] = 0,
    concurrency: Annotated[int, typer.Option(min=1)] = 16,
    cache: CacheOption = CACHE,
) -> None:
    """Measure the localizers without a model: all protocols with intervals, and their times.

    Times include making indexes but not snapshots. Exit code 1 when an episode errored or oracle is not 1.
    """
    from collections import Counter

    from experiments.benchmarks.localizers.free import flaws, page, run_all
    from experiments.benchmarks.localizers.instances import load, snapshots

    places = snapshots(cache, repos)
    seen = {one.instance_id for one in load(dataset, repos, places, skip)} if skip else set()
    chosen = [one for one in load(dataset, repos, places, skip + instances) if one.instance_id not in seen]
    counts = Counter(one.repo for one in chosen)
    typer.echo(f"{len(chosen)} instances: {', '.join(f'{count} {repo}' for repo, count in counts.most_common())}\n")
    runs = run_all(chosen, places, concurrency, lambda text: typer.echo(text, err=True))
    typer.echo(page(runs))
    wrong = flaws(runs)
    for flaw in wrong:
        typer.echo(flaw, err=True)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    app()
