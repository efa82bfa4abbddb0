"""The loop with a toolbox under the test's control: order, limits, failures, cancellation."""

import asyncio
from collections import defaultdict

import pytest

from fusesearch.agents.conversation import messages_of
from fusesearch.agents.loop import Episode, run_episode, run_episodes
from fusesearch.agents.models.base import Completion, Sampling
from fusesearch.agents.models.scripted import ScriptedModel
from fusesearch.agents.parsing import format_calls
from fusesearch.core.config import Agent
from fusesearch.core.errors import InfrastructureError, ModelUnavailable
from fusesearch.core.schema import Instance, Tokens, ToolCall, Trajectory, Usage
from fusesearch.localizers.episodes import spec_named
from fusesearch.search.results import Outcome

INSTANCE = Instance(instance_id="i", repo="o/n", base_commit="c", problem_statement="It breaks.")
ANSWER = "## Locations to Modify\n- /repo/a.py::f\n"
SAMPLING = Sampling(seed=7)


class WaitingToolbox:
    """``wait`` takes the given seconds, or waits until ``after`` has ended, and returns one entity; ``broken`` fails."""

    def __init__(self):
        self.running = 0
        self.most = 0
        self.started = 0
        self.ended = defaultdict(asyncio.Event)

    async def call(self, name, arguments):
        if name == "broken":
            raise InfrastructureError("ripgrep is\ngone")
        self.started += 1
        self.running += 1
        self.most = max(self.most, self.running)
        try:
            if "after" in arguments:
                await self.ended[arguments["after"]].wait()
            await asyncio.sleep(arguments.get("seconds", 0))
        finally:
            await asyncio.sleep(arguments.get("cleanup", 0))
            self.running -= 1
            self.ended[arguments.get("entity")].set()
        return Outcome(output=f"saw {arguments.get('entity')}", entities=[str(arguments.get("entity"))])


def calls(*entities, seconds=0.0):
    return format_calls([("wait", {"entity": entity, "seconds": seconds}) for entity in entities])


async def episode(script, toolbox=None, agent=None, **options):
    model = script if hasattr(script, "complete") else ScriptedModel(script)
    agent, guidance = agent or Agent(), options.get("guidance")
    told = spec_named("fusesearch").instruct(agent, INSTANCE.problem_statement, guidance)
    return await run_episode(Episode(INSTANCE, toolbox or WaitingToolbox(), model, agent, SAMPLING, told, "x", **options))


async def test_calls_of_a_turn_run_at_once_and_keep_their_order():
    toolbox = WaitingToolbox()
    waits = [{"entity": "a", "after": "c"}, {"entity": "b"}, {"entity": "c", "after": "b", "seconds": 0.05}]
    trajectory = await episode([format_calls([("wait", arguments) for arguments in waits]), ANSWER], toolbox)
    assert toolbox.most == 3
    assert [seen.output for seen in trajectory.turns[0].observations] == ["saw a", "saw b", "saw c"]
    assert [seen.call_id for seen in trajectory.turns[0].observations] == [call.id for call in trajectory.turns[0].calls]
    assert trajectory.turns[0].seconds_tools >= trajectory.turns[0].observations[2].seconds >= 0.05
    trajectory = await episode([calls("a", "a"), calls("a", "b"), ANSWER])  # gain is what no earlier turn returned
    gains = [[(seen.gain_turn, seen.gain_call) for seen in turn.observations] for turn in trajectory.turns]
    assert gains == [[(1, 1), (1, 0)], [(0, 0), (1, 1)], []]


async def test_an_answer_ends_the_episode_with_everything_recorded_and_told():
    seen = []
    trajectory = await episode(
        [calls("a"), ANSWER], guidance=4, on_event=lambda kind, payload: seen.append((kind, payload.get("number")))
    )
    assert seen == [("turn", 1), ("observations", 1), ("turn", 2), ("end", None)]
    assert (trajectory.stop, trajectory.error, trajectory.answer.functions) == ("answer", None, ["a.py::f"])
    assert (trajectory.instance_id, trajectory.repo, trajectory.base_commit) == ("i", "o/n", "c")
    assert (trajectory.localizer, trajectory.model, trajectory.guidance, trajectory.seed) == ("x", "scripted", 4, 7)
    assert "about 4 tool calls" in trajectory.system
    assert trajectory.seconds > 0
    assert Trajectory.model_validate_json(trajectory.model_dump_json()) == trajectory


@pytest.mark.parametrize(("text", "answered"), [("", False), ("I give up.", False), ("## Related Context\n- /repo/b.py\n", True)])
async def test_a_final_message_without_locations_is_no_answer(text, answered):
    trajectory = await episode([text])
    assert (trajectory.stop, trajectory.error) == ("no_answer", None)
    assert (trajectory.answer is not None) == answered


@pytest.mark.parametrize(
    ("script", "stop"),
    [
        (["To fix it, look for the function.", calls("a"), ANSWER], "answer"),
        (["I would search.", ANSWER], "answer"),
        ([calls("a"), "It is somewhere.", "I give up."], "no_answer"),
        (["First.", "Second."], "no_answer"),
        (["## Locations to Modify\n- /repo/package/other.py::function", ANSWER], "answer"),  # the prompt's own example
    ],
)
async def test_prose_is_reminded_of_the_tools_once(script, stop):
    trajectory = await episode(script, agent=Agent(reminder=True))
    assert (trajectory.stop, [turn.text for turn in trajectory.turns]) == (stop, script)
    users = [message.content for message in messages_of(trajectory) if message.role == "user"]
    assert len(users) == 2
    assert "`grep`, `glob`" in users[1]
    assert '{"name": "grep", "arguments": {"pattern": "breaks"}}' in users[1]
    assert len((await episode(script[-2:], agent=Agent(reminder=True, max_turns=1))).turns) == 1


async def test_of_a_message_that_was_cut_whole_calls_run_and_prose_is_reminded_too():
    class Cut(ScriptedModel):
        async def complete(self, messages, tools, sampling):
            found = await super().complete(messages, tools, sampling)
            return found.model_copy(update={"finish_reason": "stop" if found.text == ANSWER else "length"})

    half = '{"name": "grep", "arguments": {"pattern": "a"}}\n{"name": "gr'
    trajectory = await episode(Cut(["long prose\nof two lines", half, ANSWER]), agent=Agent(reminder=True))
    assert (trajectory.stop, trajectory.turns[0].text) == ("answer", "long prose\nof two lines")
    assert [(call.name, call.error) for call in trajectory.turns[1].calls] == [("grep", None)]


async def test_the_example_of_the_prompt_is_no_answer_and_the_words_of_a_schema_are_no_arguments():
    system, (grep, *_) = spec_named("fusesearch").instruct(Agent(), "", None).system, spec_named("fusesearch").schemas()
    assert (await episode([system])).stop == "no_answer"
    assert (await episode([f"{ANSWER}- /repo/package/other.py::function"])).stop == "answer"
    rules = grep["function"]["parameters"]
    described = {"pattern": rules["properties"]["pattern"]["description"]}
    calls = (await episode([format_calls([("grep", rules), ("grep", described), ("unknown", rules)]), ANSWER])).turns[0].calls
    assert ["not arguments" in (call.error or "") for call in calls] == [True, True, False]


async def test_a_call_that_cannot_be_read_teaches_and_spoils_no_other():
    trajectory = await episode(['<tool_call>{"name": </tool_call>\n' + calls("a"), ANSWER])
    first, second = trajectory.turns[0].observations
    assert first.output.startswith("Error: the call is not valid JSON")
    assert (second.output, trajectory.stop) == ("saw a", "answer")


@pytest.mark.parametrize(
    ("agent", "most"), [(Agent(max_calls_per_turn=2), "2 calls are"), (Agent(mode="sequential"), "1 call is")]
)
async def test_calls_over_the_limit_of_a_turn_or_of_the_mode_are_errors(agent, most):
    toolbox = WaitingToolbox()
    trajectory = await episode([calls(*"abc"), ANSWER], toolbox, agent)
    assert (trajectory.mode, toolbox.started) == (agent.mode, int(most[0]))
    refused = f"not run: at most {most} run per turn; make it in a later turn"
    errors = [seen.error for seen in trajectory.turns[0].observations]
    assert errors == [None] * toolbox.started + [refused] * (3 - toolbox.started)


async def test_remaining_turns_are_shown_and_searching_on_at_the_last_turn_ends_it():
    seen = []

    def search(messages):
        seen.append(messages)
        return calls("a")

    toolbox = WaitingToolbox()
    trajectory = await episode(search, toolbox, Agent(max_turns=3))
    assert "2 turns remain" in seen[1][-1].content
    assert "answer now" in seen[2][-1].content
    assert (trajectory.stop, trajectory.answer, len(trajectory.turns), toolbox.started) == ("max_turns", None, 3, 2)
    assert all(observation.error for observation in trajectory.turns[-1].observations)
    assert [message.role for message in messages_of(trajectory)][-1] == "assistant"


async def test_the_nano_prompt_shows_neither_notice_nor_schemas():
    given = []

    class Recorder(ScriptedModel):
        async def complete(self, messages, tools, sampling):
            given.append(tools)
            return await super().complete(messages, tools, sampling)

    trajectory = await episode(Recorder([calls("a"), ANSWER]), agent=Agent(prompt="nano"))
    assert messages_of(trajectory)[3].content == "saw a"
    assert given == [[], []]
    await episode(Recorder([ANSWER]))
    assert {tool["function"]["name"] for tool in given[2]} == {"grep", "glob", "read_file"}


async def test_messages_of_rebuilds_what_the_model_was_given():
    given = []
    tokens = Tokens(prompt_ids=[1], completion_ids=[2], logprobs=[-0.1])
    native = Completion(text="Looking.", calls=[ToolCall(id="srv", name="wait", arguments={"entity": "n"})], tokens=tokens)
    script = [calls("a", "b"), native, Completion(text="", calls=[ToolCall(id="", name="wait")]), ANSWER]

    def reply(messages):
        given.append([message.model_copy(deep=True) for message in messages])
        return script[len(given) - 1]

    trajectory = await episode(reply)
    rebuilt = messages_of(trajectory)
    for messages in given:
        assert rebuilt[: len(messages)] == messages
    assert rebuilt[-1].content == ANSWER
    assert len(rebuilt) == len(given[-1]) + 1
    hermes, server = rebuilt[2], rebuilt[5]
    assert (hermes.tool_calls, hermes.content) == ([], script[0])
    assert (server.tool_calls[0].id, server.content, server.tokens) == ("srv", "Looking.", tokens)
    assert rebuilt[7].tool_calls[0].id == rebuilt[8].tool_call_id == "call_3_0"


async def test_a_full_context_ends_the_search_but_not_an_answer():
    full = Usage(prompt_tokens=90, completion_tokens=10)
    agent = Agent(max_context_tokens=100)
    trajectory = await episode([Completion(text=calls("a"), usage=full)], agent=agent)
    assert (trajectory.stop, trajectory.error) == ("max_context", None)
    assert trajectory.turns[0].observations[0].error
    assert (await episode([Completion(text=ANSWER, usage=full)], agent=agent)).stop == "answer"
    trajectory = await episode([calls("a"), Completion(text="", finish_reason="context")])  # what the model cannot take
    assert (trajectory.stop, trajectory.error, len(trajectory.turns)) == ("max_context", None, 1)
    assert messages_of(trajectory)[-1].role == "assistant"


async def test_an_infrastructure_failure_gives_an_errored_trajectory_with_its_turns_and_a_defect_is_raised():
    with pytest.raises(ZeroDivisionError):
        await episode(lambda messages: 1 / 0)
    trajectory = await episode([calls("a")])  # the script ends: the model is unavailable
    assert (trajectory.stop, len(trajectory.turns), trajectory.answer) == ("error", 1, None)
    assert "only 1 replies" in trajectory.error
    trajectory = await episode([format_calls([("wait", {}), ("broken", {})]), ANSWER])
    assert (trajectory.stop, trajectory.error) == ("error", "ripgrep is gone")
    toolbox = WaitingToolbox()
    await episode([format_calls([("broken", {}), ("wait", {"seconds": 0.05})])], toolbox)
    assert (toolbox.started, toolbox.running) == (1, 0)
    assert Trajectory.model_validate_json(trajectory.model_dump_json()) == trajectory


async def test_an_episode_over_its_time_is_errored_and_leaves_nothing_running():
    toolbox = WaitingToolbox()
    trajectory = await episode([calls("a", "b", seconds=30)], toolbox, Agent(max_seconds=0.1))
    assert (trajectory.stop, trajectory.error) == ("error", "the episode took over 0.1 s")
    assert toolbox.running == 0


async def test_cancellation_goes_through_ends_all_calls_and_hands_out_what_there_is():
    toolbox, ended, searching = WaitingToolbox(), [], asyncio.Event()

    def on_event(kind, payload):
        if kind == "end":
            ended.append(payload["trajectory"])
        searching.set()

    script = [format_calls([("wait", {"entity": e, "seconds": 30, "cleanup": s}) for e, s in (("a", 0), ("b", 0.05))])]
    task = asyncio.create_task(episode(script, toolbox, on_event=on_event))
    await searching.wait()
    await asyncio.sleep(0.05)
    assert toolbox.running == 2
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert toolbox.running == 0
    assert (ended[0].stop, ended[0].error, len(ended[0].turns)) == ("error", "interrupted", 1)
    assert asyncio.all_tasks() == {asyncio.current_task()}


def sleeper(seconds, log=None):
    async def job():
        try:
            await asyncio.sleep(seconds)
            return seconds
        finally:
            if log is not None:
                log.append(seconds)

    return job


async def test_episodes_come_as_they_finish_and_a_slow_one_holds_up_nobody():
    finished, others_ended = [], asyncio.Event()

    async def slow():
        await others_ended.wait()
        return "slow"

    async for result in run_episodes([slow, *[sleeper(0.001)] * 5], concurrency=2):
        finished.append(result)
        if len(finished) == 5:
            others_ended.set()
    assert finished == [0.001] * 5 + ["slow"]


async def test_no_more_than_the_limit_run_at_once_and_jobs_are_taken_as_needed():
    running, most, taken, done = 0, 0, 0, 0

    async def job():
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0.001)
        running -= 1

    def jobs():
        nonlocal taken
        while taken < 50:
            taken += 1
            yield job

    async for _ in run_episodes(jobs(), concurrency=5):
        done += 1
        assert taken <= done + 5
    assert (most, taken, done) == (5, 50, 50)


async def test_a_job_that_raises_and_a_cancelled_consumer_end_the_others():
    async def bad():
        raise ModelUnavailable("gone")

    async def consume(jobs):
        async for _ in run_episodes(jobs, concurrency=3):
            pass

    ended = []
    with pytest.raises(ModelUnavailable):
        await consume([sleeper(30, ended), bad])
    task = asyncio.create_task(consume([sleeper(30, ended)] * 3))
    await asyncio.sleep(0.05)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert ended == [30] * 4
    assert asyncio.all_tasks() == {asyncio.current_task()}
