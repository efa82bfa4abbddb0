"""A main agent with the command line, configuration and trajectory of mini-swe-agent 2, for where that is not installed.

It asks the endpoint, runs the commands of its calls, and ends as mini-swe-agent does: submitted, at its limits, or with the
name of the endpoint's error.
"""

import json
import os
import subprocess
import sys
import time
import urllib.error
import urllib.request
from itertools import pairwise
from pathlib import Path
from typing import Any

import yaml


def main(words: list[str]) -> int:
    """Work on the task of the configuration that is given last."""
    options = dict(pairwise(words))
    config, trajectory = yaml.safe_load(Path(words[3]).read_text()), Path(options["-o"])
    assert words[:3] == ["-c", "mini.yaml", "-c"]
    messages: list[dict[str, Any]] = [{"role": "system", "content": ""}, {"role": "user", "content": config["run"]["task"]}]
    started, status = time.monotonic(), ""
    while not status:
        if time.monotonic() - started >= config["agent"]["wall_time_limit_seconds"]:
            status = "TimeExceeded"
        elif sum(message["role"] == "assistant" for message in messages) >= config["agent"]["step_limit"]:
            status = "LimitsExceeded"
        else:
            status = step(messages, config)
        info = {"exit_status": status}
        trajectory.write_text(json.dumps({"info": info, "messages": messages, "trajectory_format": "mini-swe-agent-1.1"}))
    return 0


def step(messages: list[dict[str, Any]], config: dict[str, Any]) -> str:
    """One request and its commands; how the run ended, if it did."""
    model = config["model"]
    body = {"model": model["model_name"].removeprefix("openai/"), "messages": [
        {name: value for name, value in message.items() if name != "extra"} for message in messages
    ]}  # fmt: skip
    request = urllib.request.Request(
        f"{model['model_kwargs']['api_base']}/chat/completions", json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    try:
        with urllib.request.urlopen(request) as reply:
            response = json.load(reply)
    except (urllib.error.URLError, ConnectionError) as error:
        print(error)
        return "InternalServerError"
    message = response["choices"][0]["message"]
    messages.append({**message, "extra": {"response": response}})
    for call in message.get("tool_calls") or []:
        environment = config["environment"]
        done = subprocess.run(
            json.loads(call["function"]["arguments"])["command"], shell=True, cwd=environment["cwd"], start_new_session=True,
            env={**os.environ, **environment["env"]}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            check=False,
        )  # fmt: skip
        if done.returncode == 0 and done.stdout.startswith("COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"):
            return "Submitted"
        messages.append({"role": "tool", "tool_call_id": call["id"], "content": done.stdout})
    return ""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
