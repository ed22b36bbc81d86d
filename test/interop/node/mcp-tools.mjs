// Lists and calls every tool of connected MCP clients of the TypeScript SDK.
import { readFileSync } from 'node:fs';
import { createReport, world } from './report.mjs';

const ARGUMENTS = { brandId: world.truth.article.brandId, articleId: world.truth.article.id };
const TOOLS_MIN = 20;

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
    await report.check(`${transport}: lists at least ${TOOLS_MIN} tools`, () => tools.length >= TOOLS_MIN);
    for (const { name, inputSchema } of tools) {
      const required = inputSchema.required ?? [];
      await report.check(`${transport}: calls ${name}`, async () => {
        const given = Object.fromEntries(required.map((argument) => [argument, ARGUMENTS[argument]]));
        // The client validates the result against the output schema.
        const result = await client.callTool({ name, arguments: given });
        return result.isError === true
          ? JSON.stringify(result.content)
          : Object.keys(result.structuredContent).length > 0;
      });
    }
    await client.close();
  }
  report.write();
}
