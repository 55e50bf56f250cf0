"""The official SDK 1.x: tasks of 2025-11-25 by its experimental API."""

import asyncio
from contextlib import AsyncExitStack
from datetime import timedelta

from mcp import ClientSession, McpError, StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.types import CallToolResult, ElicitResult, Implementation
from told import PATIENCE_S, Told, error, result, target


class Peer:
    def __init__(self, session, told):
        self._session = session
        self._tasks = session.experimental
        self._told = told

    async def call(self, tool, args):
        try:
            return result(await self._session.call_tool(tool, args))
        except McpError as refused:
            return error(refused.error.code, refused.error.message)

    async def start(self, tool, args):
        created = await self._tasks.call_tool_as_task(tool, args)
        return {"taskId": created.task.taskId}

    async def outcome(self, taskId):
        try:
            async for task in self._tasks.poll_task(taskId):
                self._told.progress(task.statusMessage or "")
                if task.status == "cancelled":
                    return {"status": "cancelled"}
                if task.status == "input_required":
                    break  # Questions come while the result is waited for.
            return result(await self._tasks.get_task_result(taskId, CallToolResult))
        except McpError as failed:
            return error(failed.error.code, failed.error.message)

    async def cancel(self, taskId):
        await self._tasks.cancel_task(taskId)

    async def list(self):
        listed = await self._tasks.list_tasks()
        return [{"taskId": task.taskId, "status": task.status} for task in listed.tasks]


async def main():
    server, _ = target()
    told = Told()

    async def elicit(_context, params):
        content = await told.ask(params.message)
        return ElicitResult(action="decline" if content is None else "accept", content=content)

    async with AsyncExitStack() as stack:
        if "url" in server:
            transport = streamable_http_client(server["url"])
        else:
            transport = stdio_client(StdioServerParameters(**server))
        read, write, *_ = await stack.enter_async_context(transport)
        session = ClientSession(
            read,
            write,
            read_timeout_seconds=timedelta(seconds=PATIENCE_S),
            elicitation_callback=elicit,
            client_info=Implementation(name="longcall-interop", version="1.0.0"),
        )
        await stack.enter_async_context(session)
        await session.initialize()
        await told.serve(Peer(session, told))


asyncio.run(main())
