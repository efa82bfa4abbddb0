"""``python -m flows``: the commands that need a checkout."""

from flows.cli import experiment, profile, track, train
from fusesearch.cli.app import command_group

app = command_group(
    "Training on your own histories, experiments, profiles and records of this checkout. "
    "`dvc repro` runs the pipeline, `python -m flows.run STAGE` one stage."
)
app.add_typer(experiment.app, name="experiment")
app.add_typer(profile.app, name="profile")
app.command("track")(track.track)
app.command("train")(train.train)

if __name__ == "__main__":
    app(prog_name="python -m flows")
