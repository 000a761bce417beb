#!/usr/bin/env python3
"""A small external worker for Helix, on the standard library alone.

It claims a turn, shows every few seconds that it lives, searches the library for the words of the
objective, quotes the first sentence that it finds, and hands that in. Replace `solve` by something
better; the rest is what every worker needs.

    HELIX_URL=http://127.0.0.1:8787 HELIX_WORKER_TOKEN=hx_wk_... python3 worker.py

`--once` ends after one turn.
"""

import json
import os
import sys
import threading
import time
import urllib.error
import urllib.request

BASE = os.environ.get("HELIX_URL", "http://127.0.0.1:8787").rstrip("/") + "/api/v1/agent-workers/"
TOKEN = os.environ.get("HELIX_WORKER_TOKEN", "")
READ = "research-library.read_document"
HEARTBEAT_EVERY = 5.0  # seconds; 0.5 to 10


class Refused(Exception):
    """An answer that is no success."""

    def __init__(self, status, body):
        self.status, self.code = status, body.get("error", "")
        super().__init__(f"{status} {self.code}: {body.get('message', '')}")


def post(verb, body, timeout=90):
    request = urllib.request.Request(
        BASE + verb,
        data=json.dumps(body).encode(),
        headers={"Authorization": "Bearer " + TOKEN, "Content-Type": "application/json"},
        method="POST",
    )
    try:
        with urllib.request.urlopen(request, timeout=timeout) as answer:
            return json.loads(answer.read() or b"null")
    except urllib.error.HTTPError as error:
        try:
            body = json.loads(error.read())
        except ValueError:
            body = {}
        raise Refused(error.code, body) from None


class Turn:
    """One attempt at a turn: kept by its own thread, given up when the server says so."""

    def __init__(self, given):
        self.token = given["turn_token"]
        self.input = given["input"]
        self.stopped = threading.Event()
        self.done = threading.Event()
        self.keeper = threading.Thread(target=self._keep, daemon=True)

    def __enter__(self):
        self.keeper.start()
        return self

    def __exit__(self, *_):
        self.done.set()
        self.keeper.join()

    def _keep(self):
        while not self.done.wait(HEARTBEAT_EVERY):
            try:
                heard = post("heartbeat", {"turn_token": self.token}, timeout=10)
            except Refused as refused:
                if refused.status in (401, 409):
                    self.stopped.set()
                    return
            except OSError:
                continue  # The lease lasts longer than one lost beat.
            else:
                if heard["cancel_requested"]:
                    self.stopped.set()
                    return

    def call(self, capability, arguments):
        body = {"turn_token": self.token, "capability": capability, "arguments": arguments}
        return post("tool", body)

    def complete(self, product):
        body = {"turn_token": self.token, "product": product}
        while True:
            try:
                return post("complete", body)
            except Refused as refused:
                if refused.status != 503:
                    raise
            except OSError:
                pass
            # The same product has the same receipt, so it may be handed in again.
            time.sleep(1)


def search(turn, words):
    """The best passages of the library for some words."""
    asked = {"query": words, "source": None, "start": None, "end": None}
    answer = turn.call(READ, asked)
    if answer["outcome"] != "answered":
        return
    for source in answer["body"]["sources"]:
        for passage in source["passages"]:
            yield {"source": source["source"], **passage}


def first_sentence(text):
    end = min((text.find(mark) + 1 for mark in (". ", ".\n") if mark in text), default=len(text))
    return text[:end].rstrip()


def solve(turn):
    """What the turn is answered: one quoted sentence, or nothing."""
    if READ not in turn.input["allowedTools"]:
        return {"unresolved": ["This worker reads the library, which the run does not admit."]}
    for passage in search(turn, turn.input["objective"]):
        quote = first_sentence(passage["text"])
        if quote and not turn.stopped.is_set():
            start = passage["start"]
            span = {
                "source": passage["source"],
                "start": start,
                "end": start + len(quote.encode()),
                "quote": quote,
            }
            claim = {"text": quote, "spans": [0]}
            return {"quoted_spans": [span], "claims": [claim], "summary": quote}
    return {"unresolved": ["The library says nothing about the objective."]}


def main():
    if not TOKEN:
        sys.exit("set HELIX_WORKER_TOKEN; `helix worker token create --name N` makes one")
    once = "--once" in sys.argv[1:]
    while True:
        try:
            given = post("claim", {"worker": "worker.py", "capabilities": [], "wait_ms": 25000})
        except (Refused, OSError) as failure:
            if isinstance(failure, Refused) and failure.status in (400, 401):
                sys.exit(str(failure))
            print(f"no claim: {failure}", file=sys.stderr)
            time.sleep(2)
            continue
        if given is None:
            continue
        try:
            with Turn(given) as turn:
                receipt = turn.complete(solve(turn))
            print(json.dumps(receipt), flush=True)
        except Refused as refused:
            # Fenced: somebody else has the turn, or nobody wants it any more.
            print(f"given up: {refused}", file=sys.stderr)
        if once:
            return


if __name__ == "__main__":
    main()
