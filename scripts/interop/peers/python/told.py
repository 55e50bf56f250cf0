"""Does what it is told on stdin and tells on stdout, a JSON text a line: ../program.ts has what is said."""

import asyncio
import json
import sys

PATIENCE_S = 60


def result(model):
    """What a client made of a tool's result, as an outcome: fields that did not come do not go."""
    return {"status": "result", "result": model.model_dump(mode="json", by_alias=True, exclude_unset=True)}


def error(code, message):
    return {"status": "error", "code": code, "message": message}


class Told:
    def __init__(self):
        self._questions = {}

    async def serve(self, peer):
        """Until stdin ends. `peer` has a method for each thing to do."""
        lines = asyncio.StreamReader(limit=2**24)
        await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
        doing = set()
        self._tell({"id": 0})
        while line := await lines.readline():
            message = json.loads(line)
            if "answer" in message:
                self._questions.pop(message["answer"]).set_result(message["content"])
                continue
            one = asyncio.create_task(self._do(peer, **message))
            doing.add(one)
            one.add_done_callback(doing.discard)
        for one in doing:
            one.cancel()

    async def ask(self, message):
        """The content of a form, or None to decline."""
        answer = asyncio.get_running_loop().create_future()
        number = id(answer)
        self._questions[number] = answer
        self._tell({"question": number, "message": message})
        return await answer

    def progress(self, text):
        self._tell({"progress": text})

    async def _do(self, peer, id, do, **what):
        try:
            self._tell({"id": id, "value": await getattr(peer, do)(**what)})
        except Exception as broke:  # Whoever asked hears of it.
            self._tell({"id": id, "broke": repr(broke)})

    def _tell(self, message):
        print(json.dumps(message), flush=True)


def target():
    """Where the server is, or how it is started, and what stands before it on the command line."""
    *rest, last = sys.argv[1:]
    return json.loads(last), rest
