// The scenarios of the MCP conformance suite that apply to a server with read-only tools.
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createServer, request as sendRequest } from 'node:http';
import { fileURLToPath } from 'node:url';
import { createReport, world } from './report.mjs';

const APPLIES = ['server-initialize', 'ping', 'tools-list', 'resources-list', 'dns-rebinding-protection'];

/** Scenarios that do not apply, grouped by the feature they need. */
const LEFT_OUT = {
  'a tool of the suite itself, such as test_simple_text': [
    'tools-call-simple-text',
    'tools-call-image',
    'tools-call-audio',
    'tools-call-embedded-resource',
    'tools-call-mixed-content',
    'tools-call-with-logging',
    'tools-call-error',
    'tools-call-with-progress',
    'tools-call-sampling',
    'tools-call-elicitation',
    'json-schema-2020-12',
    'elicitation-sep1034-defaults',
    'elicitation-sep1330-enums',
    'server-sse-polling',
  ],
  'a resource of the suite itself, such as test://static-text': [
    'resources-read-text',
    'resources-read-binary',
    'resources-templates-read',
  ],
  'sessions, in which streams stay open and resources are watched': [
    'server-sse-multiple-streams',
    'resources-subscribe',
    'resources-unsubscribe',
  ],
  'prompts, of which there are none': [
    'prompts-list',
    'prompts-get-simple',
    'prompts-get-with-args',
    'prompts-get-embedded-resource',
    'prompts-get-with-image',
    'completion-complete',
  ],
  'log messages to clients, of which there are none': ['logging-set-level'],
};

const pathOf = (name) => fileURLToPath(new URL(name, import.meta.url));
const suiteFolder = './node_modules/@modelcontextprotocol/conformance';
const report = createReport(JSON.parse(readFileSync(pathOf(`${suiteFolder}/package.json`), 'utf8')).version);

await report.check('every scenario of the suite is run, or left out for a reason', async () => {
  const listed = [...(await suite('list', '--server')).matchAll(/^ +- (\S+)/gm)].map((match) => match[1]).sort();
  const known = [...APPLIES, ...Object.values(LEFT_OUT).flat()].sort();
  return JSON.stringify(listed) === JSON.stringify(known) || listed.join(', ');
});
const holder = await startKeyHolder();
for (const scenario of APPLIES) {
  await report.check(scenario, async () => {
    const text = await suite('server', '--url', holder.url, '--scenario', scenario);
    return /Passed: ([1-9]\d*)\/\1, 0 failed, 0 warnings/.test(text) || text;
  });
}
holder.close();
report.write();

function suite(...args) {
  const command = ['--import', pathOf('./on-node-20.mjs'), pathOf(`${suiteFolder}/dist/index.js`), ...args];
  return new Promise((resolve) => {
    execFile(process.execPath, command, (_, stdout, stderr) => resolve(`${stdout}${stderr}`));
  });
}

// The suite sends no key, so this proxy forwards its requests with one, otherwise unchanged.
async function startKeyHolder() {
  const { port, pathname } = new URL(world.mcpUrl);
  const server = createServer((request, response) => {
    const headers = { ...request.headers, authorization: `Bearer ${world.key}` };
    const given = { host: '127.0.0.1', port, path: pathname, method: request.method, headers };
    const passed = sendRequest(given, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    passed.on('error', () => response.destroy());
    request.pipe(passed);
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${server.address().port}${pathname}`,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}
