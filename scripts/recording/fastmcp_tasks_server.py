"""A server of fastmcp-tasks with a tool for each way a task can go: `fastmcp_tasks_server.py http|stdio`."""

import asyncio
import socket
import sys
from datetime import timedelta

from fastmcp import Context, FastMCP
from fastmcp.exceptions import ToolError
from fastmcp.tools import ToolResult
from fastmcp.utilities.tasks import TaskConfig
from fastmcp_tasks import TasksExtension
from mcp import MCPError
from mcp_types import ElicitRequest, ElicitRequestFormParams, InputRequiredResult

mcp = FastMCP("recorded", version="1.0.0")
mcp.add_extension(TasksExtension())
optional = TaskConfig(mode="optional", poll_interval=timedelta(milliseconds=200))
required = TaskConfig(mode="required", poll_interval=timedelta(milliseconds=200))


@mcp.tool(task=optional)
async def walk(steps: int, ctx: Context) -> dict[str, int]:
    """Walks some steps, and says how far it is."""
    for step in range(1, steps + 1):
        await ctx.report_progress(step, steps, f"step {step}")
        await asyncio.sleep(0.3)
    return {"walked": steps}


@mcp.tool(task=required)
async def must_walk() -> str:
    """Runs as a task only."""
    return "walked"


@mcp.tool(task=optional)
async def ask(ctx: Context) -> str | InputRequiredResult:
    """Asks for a colour."""
    if ctx.input_responses is None:
        schema = {"type": "object", "properties": {"colour": {"type": "string"}}, "required": ["colour"]}
        params = ElicitRequestFormParams(message="Which colour?", requested_schema=schema)
        return InputRequiredResult(input_requests={"colour": ElicitRequest(params=params)})
    answer = ctx.input_responses["colour"]
    return f"painted {answer.content['colour']}" if answer.action == "accept" else f"not painted: {answer.action}"


@mcp.tool(task=optional)
async def report() -> ToolResult:
    """Reports that it went wrong."""
    return ToolResult(content="no such film", structured_content={"missing": 7}, is_error=True)


@mcp.tool(task=optional)
async def broken() -> str:
    """Ends in an error of the tool."""
    raise ToolError("the projector broke")


@mcp.tool(task=optional)
async def refused() -> str:
    """Ends in a JSON-RPC error."""
    raise MCPError(code=-32050, message="the projector broke", data={"reel": 3})


@mcp.tool(task=optional)
async def wait() -> str:
    """Waits until it is cancelled."""
    await asyncio.sleep(3600)
    return "too late"


@mcp.tool()
async def greet(name: str) -> str:
    """Says hello, and is never a task."""
    return f"hello {name}"


if sys.argv[1] == "stdio":
    mcp.run(transport="stdio", show_banner=False)
else:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    print(f"http://127.0.0.1:{port}/mcp", flush=True)
    mcp.run(transport="http", host="127.0.0.1", port=port, show_banner=False)
