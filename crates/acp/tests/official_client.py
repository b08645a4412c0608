"""The official Python client with `posse acp` as its agent: a sub-agent, a permission, a cancellation, another prompt.

Usage: official_client.py POSSE, in the folder to work in.
"""

import asyncio
import os
import sys

import acp
from acp import schema


class Editor(acp.Client):
    def __init__(self):
        self.updates, self.texts = [], []
        self.cards = asyncio.Queue()

    async def request_permission(self, session_id, tool_call, options, **kwargs):
        print(f"asked: {tool_call.title}", flush=True)
        once = next(option for option in options if option.kind == "allow_once")
        chosen = schema.AllowedOutcome(outcome="selected", option_id=once.option_id)
        return schema.RequestPermissionResponse(outcome=chosen)

    async def session_update(self, session_id, update, **kwargs):
        self.updates.append(update)
        if isinstance(update, schema.AgentMessageChunk):
            self.texts.append(update.content.text)
        if getattr(update, "tool_call_id", "").startswith("agent-"):
            await self.cards.put(update)

    def on_connect(self, conn):
        pass


async def main():
    editor = Editor()
    async with acp.spawn_agent_process(
        editor, sys.argv[1], "acp", "--approval", "ask", env=dict(os.environ), cwd=os.getcwd()
    ) as (agent, process):
        hello = await agent.initialize(protocol_version=acp.PROTOCOL_VERSION)
        assert hello.protocol_version == acp.PROTOCOL_VERSION and hello.agent_info.name == "posse", hello
        session = await agent.new_session(cwd=os.getcwd(), mcp_servers=[])
        assert session.modes.current_mode_id == "ask", session.modes
        prompt = asyncio.create_task(
            agent.prompt(session_id=session.session_id, prompt=[acp.text_block("Delegate.")])
        )
        # Ann writes after she was allowed to, and reports. Bob does not end by himself.
        while True:
            card = await asyncio.wait_for(editor.cards.get(), 30)
            if card.status == "completed":
                break
        await agent.cancel(session_id=session.session_id)
        stopped = await asyncio.wait_for(prompt, 30)
        print(f"stopped: {stopped.stop_reason}", flush=True)
        then = await agent.prompt(session_id=session.session_id, prompt=[acp.text_block("And now?")])
        print(f"then: {then.stop_reason} {''.join(editor.texts)[-40:]}", flush=True)
    assert process.returncode == 0, process.returncode


asyncio.run(asyncio.wait_for(main(), 60))
