// The recommended rules of Redocly's linter for the served OpenAPI document.
import { readFileSync } from 'node:fs';
import { createConfig, lintFromString } from '@redocly/openapi-core';
import { createReport, world } from './report.mjs';

const manifest = new URL('./node_modules/@redocly/openapi-core/package.json', import.meta.url);
const report = createReport(JSON.parse(readFileSync(manifest, 'utf8')).version);
await report.check('the OpenAPI document has no problems', async () => {
  const source = await (await fetch(`${world.baseUrl}/openapi.json`)).text();
  const config = await createConfig({ extends: ['recommended'] });
  const problems = await lintFromString({ source, absoluteRef: '/openapi.json', config });
  const texts = problems.map(({ ruleId, message, location }) => `${ruleId}: ${message} ${location[0]?.pointer}`);
  return texts.length === 0 || texts.join('\n');
});
report.write();
