"""What the training curve of GRPO says of the rollouts of a step."""

from tasks.core.schema import Score
from tasks.training.rollouts import rollout_figures


def test_tool_success_is_over_all_calls_and_errored_rollouts_are_only_counted():
    rows = [
        Score(instance_id="a", f1=1.0, calls=4, failed_calls=1, redundancy=0.5, calls_per_turn=2.0),
        Score(instance_id="b", f1=0.0, calls=0, failed_calls=0, calls_per_turn=0.0),
        Score(instance_id="c", error="endpoint down"),
    ]
    found = rollout_figures(rows)
    assert (found["f1"], found["calls_per_turn"], found["errored"]) == (0.5, 1.0, 1.0)
    assert (found["tool_success"], found["failed_calls"], found["redundancy"]) == (0.75, 0.5, 0.5)
    assert "efficiency" not in found


def test_a_step_without_calls_has_no_tool_success():
    assert rollout_figures([Score(instance_id="a", calls=0, failed_calls=0)]) == {
        "calls": 0.0,
        "failed_calls": 0.0,
        "errored": 0.0,
    }
    assert rollout_figures([]) == {"errored": 0.0}
