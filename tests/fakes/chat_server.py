"""A chat server over real HTTP that plays given replies."""

import json
import threading
import time
from http.server import BaseHTTPRequestHandler

from tests.fakes.local_server import QuietServer


class ChatServer:
    """A chat server that plays a list of replies: (status, headers, body), or 'drop', 'cut'; the last one repeats.

    It lists ``models``, or has no such list without any.
    """

    def __init__(self, replies):
        self.replies = replies
        self.models = []
        self.requests = []
        self.headers = []
        self.times = []
        endpoint = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                endpoint.times.append(time.monotonic())
                endpoint.requests.append(json.loads(body))
                endpoint.headers.append({name.lower(): value for name, value in self.headers.items()})
                index = min(len(endpoint.requests), len(endpoint.replies)) - 1
                reply = endpoint.replies[index]
                endpoint.play(self, reply(endpoint.requests[-1]) if callable(reply) else reply)

            def do_GET(self):
                listed = {"object": "list", "data": endpoint.models}
                endpoint.play(self, (200, {}, listed) if endpoint.models else refusal(404))

            def log_message(self, *_):
                pass

        self.server = QuietServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/v1"
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()

    def stop(self):
        """End it."""
        self.server.shutdown()
        self.server.server_close()

    @staticmethod
    def play(handler, reply):
        if reply == "drop":
            handler.connection.close()
            return
        status, headers, body = (200, {}, json.dumps(completion("cut")).encode()) if reply == "cut" else reply
        data = body if isinstance(body, bytes) else body.encode() if isinstance(body, str) else json.dumps(body).encode()
        handler.send_response(status)
        for name, value in {"Content-Type": "application/json", **headers}.items():
            handler.send_header(name, value)
        handler.send_header("Content-Length", str(len(data) + (100 if reply == "cut" else 0)))
        handler.end_headers()
        handler.wfile.write(data)
        handler.wfile.flush()
        if reply == "cut":
            handler.connection.close()


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
