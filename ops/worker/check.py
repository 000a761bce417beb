#!/usr/bin/env python3
"""Runs the example worker against a real server, once: `check.py PATH_TO_HELIX`.

Starts a server of its own in a new directory, with the local test lane for its client's tokens, and
expects that the worker's one quoted sentence completes a run. Called by `ops/ci.sh`.
"""

import base64
import hashlib
import hmac
import json
import os
import pathlib
import secrets
import subprocess
import sys
import tempfile
import time
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
HELIX = str(pathlib.Path(sys.argv[1]).resolve())
ISSUER, AUDIENCE = "https://id.example.org/", "https://helix.example.org/mcp"
SENTENCE = "The ferry to Vik leaves at 7 in the morning."


def encoded(raw):
    return base64.urlsafe_b64encode(raw).rstrip(b"=")


def token(secret):
    head = encoded(json.dumps({"alg": "HS256", "typ": "JWT"}).encode())
    claims = {
        "iss": ISSUER, "aud": AUDIENCE, "sub": "ana", "tenantId": "harbour",
        "exp": int(time.time()) + 600,
        "scope": "helix.agent_runs.read helix.agent_runs.write helix.data.research_library.read",
    }
    signed = head + b"." + encoded(json.dumps(claims).encode())
    mark = hmac.new(secret.encode(), signed, hashlib.sha256).digest()
    return (signed + b"." + encoded(mark)).decode()


def main():
    secret = secrets.token_hex(32)
    with tempfile.TemporaryDirectory(prefix="helix-worker-") as folder:
        library = pathlib.Path(folder, "library")
        library.mkdir()
        library.joinpath("ferries.txt").write_text(SENTENCE + " Dogs travel free.\n")
        environment = {
            **os.environ,
            "HELIX_DATA_DIR": folder + "/data", "HELIX_LIBRARY": str(library),
            "HELIX_LISTEN": "127.0.0.1:0", "HELIX_METRICS_LISTEN": "off", "HELIX_SOLVER": "worker",
            "HELIX_AGENT_ALLOW_LOCAL_HS256": "1", "HELIX_AGENT_LOCAL_JWT_SECRET": secret,
            "HELIX_AGENT_OAUTH_ISSUER": ISSUER, "HELIX_AGENT_OAUTH_AUDIENCE": AUDIENCE,
            "HELIX_AGENT_OAUTH_PROVIDER": "local",
        }

        def helix(*arguments, given=""):
            ended = subprocess.run(
                [HELIX, *arguments, "--json"], input=given, env=environment, cwd=folder,
                capture_output=True, text=True, timeout=120,
            )
            if ended.returncode != 0:
                sys.exit(f"helix {' '.join(arguments[:3])}: {ended.stderr}")
            return json.loads(ended.stdout)

        server = subprocess.Popen(
            [HELIX, "serve", "--json"], env=environment, cwd=folder, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        )
        try:
            url = json.loads(server.stdout.readline())["url"]
            account = helix(
                "account", "create", "--email", "ana@example.org", "--name", "Ana",
                "--passphrase-stdin", given="a passphrase that is long\n",
            )
            helix(
                "account", "link", "--account", account["account_id"], "--issuer", ISSUER,
                "--tenant", "harbour", "--provider", "local", "--subject", "ana",
            )
            worker_token = helix("worker", "token", "create", "--name", "example")["token"]
            worker = subprocess.Popen(
                [sys.executable, str(HERE / "worker.py"), "--once"], text=True,
                stdout=subprocess.PIPE,
                env={**os.environ, "HELIX_URL": url, "HELIX_WORKER_TOKEN": worker_token},
            )

            def post(path, key, body):
                request = urllib.request.Request(
                    url + path, data=json.dumps(body).encode(), method="POST",
                    headers={
                        "Authorization": "Bearer " + token(secret), "Idempotency-Key": key,
                        "Content-Type": "application/json",
                    },
                )
                with urllib.request.urlopen(request, timeout=60) as answer:
                    return json.loads(answer.read())

            brief = {
                "objective": "When does the ferry to Vik leave?",
                "database_scope": ["research_library"],
            }
            run = post("/api/v1/agent-runs", "check-start-0001", brief)["run_id"]
            go = {"expected_version": 1, "instruction": "Find it."}
            done = post(f"/api/v1/agent-runs/{run}/continue", "check-turn-0001", go)
            receipt = json.loads(worker.communicate(timeout=60)[0])
            ended = (done["lifecycle_status"], done["terminal_authority_status"])
            if ended != ("completed", "authorized") or SENTENCE not in json.dumps(done):
                sys.exit(f"the run ended otherwise: {ended}")
            if (receipt["run_id"], receipt["version"]) != (run, done["version"]):
                sys.exit(f"the receipt is of something else: {receipt}")
            print(f"ok: {run} completed by worker.py with one quoted sentence")
        finally:
            server.terminate()
            server.wait(timeout=60)


main()
