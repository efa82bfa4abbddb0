"""``python -m experiments.questions import|rewrite|calibrate``."""

from experiments.questions.command import calibrate_questions, import_questions, rewrite_questions
from fusesearch.cli.app import command_group

app = command_group("Open questions: import released ones, rewrite mined ones, keep those of the right difficulty.")
app.command("import")(import_questions)
app.command("rewrite")(rewrite_questions)
app.command("calibrate")(calibrate_questions)

if __name__ == "__main__":
    app(prog_name="python -m experiments.questions")
