// Lists and calls every tool of connected MCP clients of the TypeScript SDK.
import { readFileSync } from 'node:fs';
import { createReport, world } from './report.mjs';

const { toolArguments, toolCalls } = world.truth;
// The endpoints and the data tools, including SQL.
const TOOLS = 20 + 10;

export const headers = { Authorization: `Bearer ${world.key}` };

// `connect` returns a connected client for a transport, http or stdio.
export async function callTools(packageName, connect) {
  const folder = new URL(`./node_modules/${packageName}/package.json`, import.meta.url);
  const report = createReport(JSON.parse(readFileSync(folder, 'utf8')).version);
  for (const transport of ['http', 'stdio']) {
    let client;
    await report.check(`${transport}: connects`, async () => {
      client = await connect(transport);
      return true;
    });
    if (client === undefined) continue;
    const { tools } = await client.listTools();
    await report.check(`${transport}: lists ${TOOLS} tools`, () => tools.length === TOOLS || `${tools.length} tools`);
    for (const { name, inputSchema } of tools) {
      const planned = toolCalls.find(({ tool }) => tool === name);
      const required = inputSchema.required ?? [];
      const given =
        planned?.arguments ?? Object.fromEntries(required.map((argument) => [argument, toolArguments[argument]]));
      let content;
      await report.check(`${transport}: calls ${name}`, async () => {
        // The client validates the result against the output schema.
        const result = await client.callTool({ name, arguments: given });
        content = result.structuredContent;
        return result.isError === true ? JSON.stringify(result.content) : Object.keys(content).length > 0;
      });
      if (planned === undefined) continue;
      await report.check(
        `${transport}: ${name} returns the numbers counted from upstream`,
        () => same(content, planned.expected) || JSON.stringify(content),
      );
    }
    await client.close();
  }
  report.write();
}

// Compares values; of an object, only the expected members.
function same(found, expected) {
  if (expected === null || typeof expected !== 'object' || Array.isArray(expected)) {
    return JSON.stringify(found) === JSON.stringify(expected);
  }
  return Object.entries(expected).every(([name, value]) => same(found?.[name], value));
}
