"""FastMCP's client with what fastmcp-tasks adds to it: the tasks of 2026-07-28.

`fastmcp_tasks_client.py [naming] TARGET`: with `naming`, requests about tasks carry the header that it forgets over HTTP.
"""

import asyncio

from fastmcp import Client
from fastmcp.client.elicitation import ElicitResult
from fastmcp.client.transports import StdioTransport
from fastmcp_tasks import ToolTask, call_tool_task
from fastmcp_tasks.client_models import CancelTaskRequest, ClientCreateTaskResult, GetTaskRequest, UpdateTaskRequest
from mcp import MCPError
from told import PATIENCE_S, Told, error, target


class Peer:
    def __init__(self, client, told):
        self._client = client
        self._told = told
        self._started = {}

    async def call(self, tool, args):
        try:
            return outcome_of(await self._client.call_tool(tool, args, raise_on_error=False))
        except MCPError as refused:
            return error(refused.code, refused.message)

    async def start(self, tool, args):
        task = await call_tool_task(self._client, tool, args, raise_on_error=False)
        self._started[task.task_id] = task
        return {"taskId": task.task_id}

    async def outcome(self, taskId):
        task = self._started.pop(taskId, None) or self._found(taskId)
        try:
            seen = await task.status()
        except MCPError as refused:
            return error(refused.code, refused.message)
        result = asyncio.ensure_future(task.result())
        while not result.done():
            self._told.progress(seen.status_message or "")
            await asyncio.wait([result], timeout=(seen.poll_interval_ms or 1000) / 1000)
            seen = await task.status()
        ended = await task.status()
        if ended.status == "cancelled":
            return {"status": "cancelled"}
        if ended.status == "failed":
            return error(ended.error.get("code"), ended.error.get("message"))
        return outcome_of(await result)

    async def cancel(self, taskId):
        await self._found(taskId).cancel()

    def _found(self, task_id):
        """A handle is made of the answer to a call; all that it uses of it is the id."""
        answer = {"resultType": "task", "taskId": task_id, "status": "working", "createdAt": "", "lastUpdatedAt": ""}
        return ToolTask(self._client, "", ClientCreateTaskResult.model_validate(answer), raise_on_error=False)


def outcome_of(result):
    content = [block.model_dump(mode="json", by_alias=True, exclude_unset=True) for block in result.content]
    made = {"content": content, "isError": result.is_error}
    if result.structured_content is not None:
        made["structuredContent"] = result.structured_content
    return {"status": "result", "result": made}


async def main():
    server, how = target()
    if "naming" in how:
        for request in (GetTaskRequest, UpdateTaskRequest, CancelTaskRequest):
            request.name_param = "taskId"
    told = Told()

    async def elicit(message, _response_type, _params, _context):
        content = await told.ask(message)
        return ElicitResult(action="decline" if content is None else "accept", content=content)

    transport = server["url"] if "url" in server else StdioTransport(**server)
    async with Client(transport, elicitation_handler=elicit, timeout=PATIENCE_S) as client:
        await told.serve(Peer(client, told))


asyncio.run(main())
