// MCP with version 2 of the TypeScript SDK.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { callTools, headers } from './mcp-tools.mjs';
import { world } from './report.mjs';

await callTools('@modelcontextprotocol/client', async (transport) => {
  const client = new Client({ name: 'interop', version: '1.0.0' });
  const http = new StreamableHTTPClientTransport(new URL(world.mcpUrl), { requestInit: { headers } });
  await client.connect(transport === 'http' ? http : new StdioClientTransport({ ...world.stdio, stderr: 'ignore' }));
  return client;
});
