"""Lists and calls every tool over HTTP and over stdio with one MCP client, named by the argument."""

import asyncio
import json
import sys
from contextlib import asynccontextmanager
from importlib.metadata import version

from report import Report, truth, world

HEADERS = {'Authorization': f"Bearer {world['key']}"}
STDIO = world['stdio']
# Values of the required arguments; a tool that requires another one fails, unless it has a call of its own.
ARGUMENTS = truth['toolArguments']
CALLS = {call['tool']: call for call in truth['toolCalls']}
# The endpoints and the data tools, including SQL.
TOOLS = 20 + 10


def arguments_of(name, schema):
    if name in CALLS:
        return CALLS[name]['arguments']
    return {required: ARGUMENTS[required] for required in (schema or {}).get('required', [])}


def structured(content):
    """Returns the structured content; frameworks for models may return text, or a list of parts."""
    if isinstance(content, list):
        content = content[0]['text'] if isinstance(content[0], dict) else content[0].text
    return json.loads(content) if isinstance(content, str) else content


def same(found, expected):
    """Compares values; of an object, only the expected members."""
    if isinstance(expected, dict):
        return isinstance(found, dict) and all(name in found and same(found[name], value) for name, value in expected.items())
    return found == expected


async def tools_of(session, is_error, content, schema):
    """Returns the tools of a session of the Python SDK, and a function that calls one. The fields are named by the SDK's version."""

    async def call(name, arguments):
        result = await session.call_tool(name, arguments)
        assert not getattr(result, is_error), result.content
        return getattr(result, content)

    tools = (await session.list_tools()).tools
    return [(tool.name, getattr(tool, schema)) for tool in tools], call


# Each of these yields, for a transport, the tools as (name, input schema) and a function that calls one and returns its
# structured content, or the text that the framework gives a model.


@asynccontextmanager
async def sdk_2(transport):
    import httpx2
    from mcp import Client, StdioServerParameters
    from mcp.client.streamable_http import streamable_http_client

    http = httpx2.AsyncClient(headers=HEADERS, timeout=60)
    server = StdioServerParameters(**STDIO) if transport == 'stdio' else streamable_http_client(world['mcpUrl'], http_client=http)
    async with http, Client(server) as client:
        yield await tools_of(client, 'is_error', 'structured_content', 'input_schema')


@asynccontextmanager
async def sdk_1(transport):
    import httpx
    from mcp import ClientSession, StdioServerParameters
    from mcp.client.stdio import stdio_client
    from mcp.client.streamable_http import streamable_http_client

    http = httpx.AsyncClient(headers=HEADERS, timeout=60)
    opened = stdio_client(StdioServerParameters(**STDIO)) if transport == 'stdio' else streamable_http_client(world['mcpUrl'], http_client=http)
    async with http, opened as streams, ClientSession(streams[0], streams[1]) as session:
        await session.initialize()
        yield await tools_of(session, 'isError', 'structuredContent', 'inputSchema')


@asynccontextmanager
async def fastmcp(transport):
    from fastmcp import Client
    from fastmcp.client.transports import StdioTransport, StreamableHttpTransport

    stdio = StdioTransport(STDIO['command'], STDIO['args'], env=STDIO['env'], cwd=STDIO['cwd'], keep_alive=False)
    http = StreamableHttpTransport(world['mcpUrl'], headers=HEADERS)
    async with Client(stdio if transport == 'stdio' else http) as client:

        async def call(name, arguments):
            # Also builds Python objects from the output schema.
            return (await client.call_tool(name, arguments)).structured_content

        tools = await client.list_tools()
        yield [(tool.name, tool.model_dump(by_alias=True)['inputSchema']) for tool in tools], call


@asynccontextmanager
async def langchain(transport):
    from langchain_mcp_adapters.client import MultiServerMCPClient

    http = {'transport': 'streamable_http', 'url': world['mcpUrl'], 'headers': HEADERS}
    client = MultiServerMCPClient({'sightline': {'transport': 'stdio', **STDIO} if transport == 'stdio' else http}, handle_tool_errors=False)
    tools = {tool.name: tool for tool in await client.get_tools()}

    async def call(name, arguments):
        return await tools[name].ainvoke(arguments)

    yield [(name, tool.args_schema) for name, tool in tools.items()], call


@asynccontextmanager
async def openai_agents(transport):
    from agents.mcp import MCPServerStdio, MCPServerStreamableHttp

    http = {'url': world['mcpUrl'], 'headers': HEADERS}
    server = (
        MCPServerStdio(dict(STDIO), client_session_timeout_seconds=60)
        if transport == 'stdio'
        else MCPServerStreamableHttp(http, client_session_timeout_seconds=60)
    )
    async with server:

        async def call(name, arguments):
            result = (await server.call_tool(name, arguments)).model_dump(by_alias=True)
            assert not result['isError'], result
            return result['structuredContent']

        tools = await server.list_tools()
        yield [(tool.name, tool.model_dump(by_alias=True)['inputSchema']) for tool in tools], call


@asynccontextmanager
async def pydantic_ai(transport):
    from fastmcp.client.transports import StdioTransport
    from pydantic_ai.mcp import MCPToolset

    stdio = StdioTransport(STDIO['command'], STDIO['args'], env=STDIO['env'], cwd=STDIO['cwd'], keep_alive=False)
    toolset = MCPToolset(stdio) if transport == 'stdio' else MCPToolset(world['mcpUrl'], headers=HEADERS)
    async with toolset:
        tools = await toolset.list_tools()
        yield [(tool.name, tool.model_dump(by_alias=True)['inputSchema']) for tool in tools], toolset.direct_call_tool


async def use(report, client, transport):
    opened = client(transport)
    tools, call = await opened.__aenter__()
    report.equal(f'{transport}: lists {TOOLS} tools', lambda: len(tools), TOOLS)
    for name, schema in tools:
        try:
            content = await call(name, arguments_of(name, schema))
            found = None if content else 'an empty result'
        except Exception as error:
            content, found = None, f'{type(error).__name__}: {error}'
        report.equal(f'{transport}: calls {name}', lambda: found, None)
        if name in CALLS:
            expected = CALLS[name]['expected']
            report.equal(
                f'{transport}: {name} returns the numbers counted from upstream',
                lambda: True if same(structured(content), expected) else json.dumps(structured(content)),
                True,
            )
    await opened.__aexit__(None, None, None)


async def main(client, distribution):
    report = Report(version(distribution))
    for transport in ('http', 'stdio'):
        try:
            await use(report, client, transport)
        except Exception as error:
            report.equal(f'{transport}: connects', lambda: f'{type(error).__name__}: {error}', None)
    report.write()


CLIENTS = {
    'mcp-1': (sdk_1, 'mcp'),
    'mcp-2': (sdk_2, 'mcp'),
    'fastmcp': (fastmcp, 'fastmcp'),
    'langchain': (langchain, 'langchain-mcp-adapters'),
    'openai-agents': (openai_agents, 'openai-agents'),
    'pydantic-ai': (pydantic_ai, 'pydantic-ai-slim'),
}
asyncio.run(main(*CLIENTS[sys.argv[1]]))
