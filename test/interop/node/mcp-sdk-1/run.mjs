// MCP with version 1 of the TypeScript SDK.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { callTools, headers } from './mcp-tools.mjs';
import { world } from './report.mjs';

await callTools('@modelcontextprotocol/sdk', async (transport) => {
  const client = new Client({ name: 'interop', version: '1.0.0' });
  const http = new StreamableHTTPClientTransport(new URL(world.mcpUrl), { requestInit: { headers } });
  await client.connect(transport === 'http' ? http : new StdioClientTransport({ ...world.stdio, stderr: 'ignore' }));
  return client;
});
