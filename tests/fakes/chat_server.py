"""A chat server over real HTTP that plays given replies."""

import time

from fusesearch.agents.models.base import Message, Sampling
from fusesearch.agents.models.openai_compatible import OpenAICompatibleModel
from tests.fakes.local_server import Handler, LocalServer

GREP = {"type": "object", "properties": {"pattern": {"type": "string"}, "limit": {"type": "integer"}}}
TOOLS = [{"type": "function", "function": {"name": "grep", "description": "search", "parameters": GREP}}]
CHAT = [Message(role="system", content="Locate."), Message(role="user", content="It breaks.")]
SAMPLING = Sampling(temperature=0.5, top_p=0.9, max_new_tokens=8192, seed=3)


async def ask(server, messages=CHAT, tools=TOOLS, times=1, url=None, **options):
    """The last reply of a model that asks the server so often; nobody looks whether the server shows the tools."""
    model = OpenAICompatibleModel("m", url or server.url, **{"retries": 3, "backoff_seconds": 0.01, **options})
    model.dialect.shows = True
    try:
        for _ in range(times):
            reply = await model.complete(list(messages), tools, SAMPLING)
        return reply
    finally:
        await model.close()


class ChatServer(LocalServer):
    """A chat server that plays a list of replies: (status, headers, body), or 'drop', 'cut'; the last one repeats."""

    def __init__(self, replies):
        self.replies = replies
        self.requests = []
        self.paths = []
        self.headers = []
        self.times = []
        endpoint = self

        class Playing(Handler):
            def do_POST(self):
                sent = self.asked()
                endpoint.times.append(time.monotonic())
                endpoint.requests.append(sent)
                endpoint.paths.append(self.path)
                endpoint.headers.append({name.lower(): value for name, value in self.headers.items()})
                index = min(len(endpoint.requests), len(endpoint.replies)) - 1
                reply = endpoint.replies[index]
                endpoint.play(self, reply(sent) if callable(reply) else reply)

        super().__init__(Playing)

    @staticmethod
    def play(handler, reply):
        if reply == "drop":
            handler.connection.close()
            return
        if reply == "cut":
            handler.send(200, completion("cut"), missing=100)
            handler.connection.close()
            return
        status, headers, body = reply
        handler.send(status, body, headers)


def completion(content="", tool_calls=None, finish="stop", **extra):
    """A chat completion; ``extra`` are more fields of its message."""
    message = {"role": "assistant", "content": content, "tool_calls": tool_calls, **extra}
    usage = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}
    choice = {"index": 0, "message": message, "finish_reason": finish}
    return {"id": "x", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice], "usage": usage}


def ok(content="fine", **options):
    """A reply of status 200."""
    return 200, {}, completion(content, **options)


def refusal(status, message="no", headers=None, **error):
    """A reply with an error."""
    return status, headers or {}, {"error": {"message": message, **error}}
