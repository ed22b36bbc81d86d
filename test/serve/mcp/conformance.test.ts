import { execFile } from 'node:child_process';
import { createServer, request as sendRequest } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { openMirror } from '../../query/mirror.ts';
import { temporaryFolder } from '../../support/folders.ts';
import { type Endpoint, SMALL, startEndpoint } from './support.ts';

const require = createRequire(import.meta.url);

/** Scenarios of @modelcontextprotocol/conformance that apply to a server with read-only tools. */
const APPLIES = ['server-initialize', 'ping', 'tools-list', 'resources-list', 'dns-rebinding-protection'];

/** Scenarios that do not apply, grouped by the feature they need. */
const LEFT_OUT: Readonly<Record<string, readonly string[]>> = {
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

it('passes the scenarios of the conformance suite that apply', async () => {
  const listed = [...(await suite(['list', '--server'])).stdout.matchAll(/^ +- (\S+)/gm)].map((match) => match[1]);
  // A new scenario must be reviewed and added to one of the lists.
  expect(listed.sort()).toEqual([...APPLIES, ...Object.values(LEFT_OUT).flat()].sort());
  const mirror = await openMirror(SMALL);
  await mirror.publish();
  const url = await startKeyHolder(await startEndpoint(mirror.service));
  for (const scenario of APPLIES) {
    const { code, stdout } = await suite(['server', '--url', url, '--scenario', scenario]);
    expect({ scenario, code, stdout: code === 0 ? '' : stdout }).toEqual({ scenario, code: 0, stdout: '' });
    expect(stdout).toMatch(/Passed: ([1-9]\d*)\/\1, 0 failed, 0 warnings/);
  }
  for (const [needs, scenarios] of Object.entries(LEFT_OUT)) {
    process.stderr.write(`conformance: left out, needing ${needs}: ${scenarios.join(', ')}\n`);
  }
});

// Runs the suite's command line in a temporary folder, to which it writes its results.
async function suite(args: readonly string[]): Promise<{ code: number; stdout: string }> {
  const cwd = await temporaryFolder();
  const hook = join(import.meta.dirname, 'conformance-on-node-20.mjs');
  const main = join(dirname(require.resolve('@modelcontextprotocol/conformance/package.json')), 'dist/index.js');
  return new Promise((resolve) => {
    execFile(process.execPath, ['--import', hook, main, ...args], { cwd }, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code ?? 1), stdout: `${stdout}${stderr}` });
    });
  });
}

// The suite sends no key, so this proxy forwards its requests with one, otherwise unchanged.
async function startKeyHolder({ server: { mcpUrl }, key }: Endpoint): Promise<string> {
  const { port, pathname } = new URL(mcpUrl);
  const holder = createServer((request, response) => {
    const headers = { ...request.headers, authorization: `Bearer ${key}` };
    const passed = sendRequest(
      { host: '127.0.0.1', port, path: pathname, method: request.method, headers },
      (answer) => {
        response.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(response);
      },
    );
    passed.on('error', () => response.destroy());
    request.pipe(passed);
  });
  await new Promise<void>((resolve) => holder.listen(0, '127.0.0.1', resolve));
  onTestFinished(async () => {
    holder.closeAllConnections();
    await new Promise((resolve) => holder.close(resolve));
  });
  return `http://127.0.0.1:${(holder.address() as AddressInfo).port}${pathname}`;
}
