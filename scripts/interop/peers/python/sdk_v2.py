"""The official SDK 2.x, which has no tasks: `sdk_v2.py MODE TARGET`, with a revision or `legacy` for what came before it."""

import asyncio

from mcp import Client, MCPError, StdioServerParameters
from mcp_types import ElicitResult, Implementation
from told import PATIENCE_S, Told, error, result, target


class Peer:
    def __init__(self, client, told):
        self._client = client
        self._told = told

    async def call(self, tool, args):
        async def progress(done, total, _message):
            self._told.progress(f"{done:g}/{total or 0:g}")

        try:
            return result(await self._client.call_tool(tool, args, progress_callback=progress))
        except MCPError as refused:
            return error(refused.code, refused.message)


async def main():
    server, (mode,) = target()
    told = Told()

    async def elicit(_context, params):
        content = await told.ask(params.message)
        return ElicitResult(action="decline" if content is None else "accept", content=content)

    async with Client(
        server["url"] if "url" in server else StdioServerParameters(**server),
        mode=mode,
        read_timeout_seconds=PATIENCE_S,
        elicitation_callback=elicit,
        client_info=Implementation(name="longcall-interop", version="1.0.0"),
    ) as client:
        await told.serve(Peer(client, told))


asyncio.run(main())
