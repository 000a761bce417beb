"""The official Python client: connects, lists, and drives a run to its end.

Its own validation of structured content against each tool's schema is on.
"""

import asyncio
import json
import os
import uuid

import httpx2
from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client

URL = os.environ["HELIX_URL"] + "/mcp"


async def main() -> None:
    bearer = {"Authorization": "Bearer " + os.environ["HELIX_TOKEN"]}
    async with (
        httpx2.AsyncClient(headers=bearer) as http,
        streamable_http_client(URL, http_client=http) as streams,
        ClientSession(streams[0], streams[1]) as session,
    ):
        hello = await session.initialize()
        tools = {tool.name for tool in (await session.list_tools()).tools}
        assert len(tools) == 6, tools

        async def call(name: str, **arguments) -> dict:
            result = await session.call_tool(name, arguments)
            value = result.structured_content
            assert json.loads(result.content[0].text) == value
            assert not result.is_error, value
            return value

        plan = {"objective": "When does the last ferry to Skarholm leave?", "database_scope": ["research_library"]}
        started = await call("helix_run_start", idempotency_key=f"interop-{uuid.uuid4()}", request=plan)
        run_id = started["run"]["run_id"]
        turn = {"expected_version": 1, "instruction": "Answer from the timetable."}
        ended = await call("helix_run_continue", run_id=run_id, idempotency_key=f"interop-{uuid.uuid4()}", request=turn)
        assert ended["run"]["completion_status"] == "completed", ended
        for name in ("helix_run_inspect", "helix_run_fetch_evidence", "helix_run_list_events"):
            await call(name, run_id=run_id)
        refused = await session.call_tool("helix_run_inspect", {"run_id": "not-a-run"})
        assert refused.is_error and refused.structured_content["error"] == "invalid_request", refused
        print(f"Python client: {hello.server_info.name}, a run driven to its end")


asyncio.run(main())
