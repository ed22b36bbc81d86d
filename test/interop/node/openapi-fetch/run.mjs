// Generates types with openapi-typescript, compiles calls.ts strictly and calls every endpoint with openapi-fetch.
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { createReport, world } from './report.mjs';

const here = import.meta.dirname;
const version = (name) =>
  JSON.parse(readFileSync(new URL(`./node_modules/${name}/package.json`, import.meta.url), 'utf8')).version;
const report = createReport(`${version('openapi-fetch')}, openapi-typescript ${version('openapi-typescript')}`);
const response = await fetch(`${world.baseUrl}/openapi.json`, { headers: { 'X-Api-Key': world.key } });
writeFileSync(`${here}/openapi.json`, await response.text());

await report.check('generates types', () =>
  node('node_modules/openapi-typescript/bin/cli.js', 'openapi.json', '-o', 'schema.d.ts'),
);
await report.check('compiles strictly', () => node('node_modules/typescript/bin/tsc', '-p', '.'));
const { calls } = await import('./calls.js');
const { brandId, id } = world.truth.article;
for (const [name, call] of Object.entries(calls(world.baseUrl, world.key, { brandId, articleId: id }))) {
  await report.check(`calls ${name}`, call);
}
report.write();

function node(...args) {
  try {
    execFileSync(process.execPath, args, { cwd: here, encoding: 'utf8', stdio: 'pipe' });
    return true;
  } catch (thrown) {
    throw new Error(`${thrown.stdout}${thrown.stderr}`.slice(0, 2_000), { cause: thrown });
  }
}
