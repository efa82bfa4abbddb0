"""A server that speaks vLLM's token protocol, for a tiny checkpoint: started, asked and told to change its weights like vLLM.

``python -m tests.fakes.token_server`` takes vLLM's command line, of which it reads three options. Of its environment variables,
``RAW`` is a fault: log-probabilities are those at temperature 1; with ``BY_PROMPT`` the prompt alone decides what is sampled,
whoever asks.
"""

from __future__ import annotations

import argparse
import os
import stat
import sys
import threading
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from tests.fakes.local_server import Handler, QuietServer
from tests.fakes.numpy_model import NumpyModel, log_softmax


def interpreter(path: Path) -> Path:
    """A program at ``path`` that starts this server when it is called as vLLM's Python is."""
    root = Path(__file__).parents[2]
    path.write_text(f'#!/bin/sh\ncd {root}\nshift 3\nexec {sys.executable} -m tests.fakes.token_server "$@"\n')
    path.chmod(path.stat().st_mode | stat.S_IEXEC)
    return path


class Engine:
    """The model behind the server, and what was asked of it."""

    def __init__(self, checkpoint: str, name: str) -> None:
        self.name = name
        self.model = NumpyModel(Path(checkpoint))
        self.lock = threading.Lock()
        self.asleep: set[str] = set()
        self.requests: list[tuple[str, dict[str, Any]]] = []

    def reload(self, checkpoint: str) -> None:
        """Take other weights. Raises ``ValueError`` if they have other shapes."""
        with self.lock:
            new = NumpyModel(Path(checkpoint))
            if {name: value.shape for name, value in new.weights.items()} != self.model.shapes():
                raise ValueError("weights of other shapes")
            self.model = new

    def complete(self, asked: dict[str, Any]) -> dict[str, Any]:
        """A completion of token ids."""
        seed = zlib.crc32(repr(asked["prompt"]).encode()) if os.environ.get("BY_PROMPT") else asked["seed"]
        drawn = np.random.default_rng(seed)
        ids, sampled, logprobs = list(asked["prompt"]), [], []
        while len(sampled) < asked["max_tokens"]:
            with self.lock:
                logits = self.model.last_logits(ids)
            scaled = log_softmax(logits / (asked["temperature"] or 1))
            token = int((scaled + drawn.gumbel(size=len(scaled)) if asked["temperature"] else scaled).argmax())
            ids, sampled = [*ids, token], [*sampled, token]
            logprobs.append(float((log_softmax(logits) if os.environ.get("RAW") else scaled)[token]))
            if token in asked["stop_token_ids"]:
                break
        reason = "stop" if sampled[-1] in asked["stop_token_ids"] else "length"
        choice = {"index": 0, "text": "", "token_ids": sampled, "finish_reason": reason}
        choice["logprobs"] = {"token_logprobs": logprobs}
        return {"id": "x", "object": "text_completion", "created": 1, "model": self.name, "choices": [choice]}

    def generate(self, asked: dict[str, Any]) -> dict[str, Any]:
        """A reply of ``/inference/v1/generate``, which verifiers trains with."""
        (choice,) = self.complete({"seed": 0, **asked["sampling_params"], "prompt": asked["token_ids"]})["choices"]
        pairs = zip(choice["token_ids"], choice["logprobs"]["token_logprobs"], strict=True)
        content = [{"token": f"token_id:{token}", "logprob": logprob} for token, logprob in pairs]
        return {"request_id": "x", "choices": [{**choice, "logprobs": {"content": content}}]}


def handler_of(engine: Engine) -> type[Handler]:
    """vLLM's endpoints over ``engine``."""

    class Serving(Handler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            length = engine.model.config["max_position_embeddings"]
            self.send(200, {"data": [{"id": engine.name, "max_model_len": length}]})

        def do_POST(self) -> None:
            path = self.path.partition("?")[0]
            asked = self.asked()
            engine.requests.append((self.path, asked))
            if not path.startswith(("/v1", "/inference")):
                print(self.path, flush=True)
            if engine.asleep and (path == "/v1/completions" or (path == "/collective_rpc" and "weights" in engine.asleep)):
                self.send(400, {"error": {"message": "asleep"}})
            elif path == "/v1/completions" and asked["model"] != engine.name:
                self.send(404, {"error": {"message": f"The model `{asked['model']}` does not exist."}})
            elif path == "/v1/completions":
                self.send(200, engine.complete(asked))
            elif path == "/inference/v1/generate":
                self.send(200, engine.generate(asked))
            elif path in ("/sleep", "/wake_up"):
                woken = {tag for tag in engine.asleep if self.path.endswith(f"={tag}")}
                engine.asleep = {"weights", "kv_cache"} if path == "/sleep" else engine.asleep - woken
                self.send(200, {})
            else:
                try:
                    engine.reload(asked["kwargs"]["weights_path"])
                except ValueError as error:
                    self.send(500, {"error": {"message": str(error)}})
                else:
                    self.send(200, {"results": [None]})

    return Serving


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    for option in ("--model", "--served-model-name"):
        parser.add_argument(option)
    parser.add_argument("--port", type=int)
    known, _ = parser.parse_known_args()
    QuietServer(("127.0.0.1", known.port), handler_of(Engine(known.model, known.served_model_name))).serve_forever()
