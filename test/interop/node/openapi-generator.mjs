// Generates a client in Go or Java with openapi-generator, compiles it and calls every endpoint with it.
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { createReport, world } from './report.mjs';

const ENDPOINTS = 29;
const [language, version, generator, ...jars] = process.argv.slice(2);
const programs = join(import.meta.dirname, '..', language);
const report = createReport(version);
const { brandId, id } = world.truth.article;
const given = [world.baseUrl, world.key, brandId, id];

const languages = {
  go: {
    options: ['--package-name', 'sightline', '--git-user-id', 'interop', '--git-repo-id', 'sightline'],
    build: () => {
      rmSync('client/test', { recursive: true });
      mkdirSync('client/calls');
      cpSync(join(programs, 'main.go'), 'client/calls/main.go');
      const cache = join(process.env.INTEROP_CACHE, 'go');
      // The module needs only the standard library.
      const env = { ...process.env, GOCACHE: cache, GOFLAGS: '-mod=mod', GOPROXY: 'off' };
      execute('go', ['build', '-C', 'client', '-o', '../calls', './calls'], env);
    },
    call: () => execute('./calls', given),
  },
  java: {
    options: [
      ['--library', 'native', '--invoker-package', 'interop.client'],
      ['--api-package', 'interop.client.api', '--model-package', 'interop.client.model'],
    ].flat(),
    build: () => {
      const path = ['--class-path', jars.join(delimiter)];
      const sources = readdirSync('client/src/main/java', { recursive: true })
        .filter((name) => name.endsWith('.java'))
        .map((name) => join('client/src/main/java', name));
      writeFileSync('sources', [...sources, join(programs, 'Endpoints.java')].join('\n'));
      execute('javac', ['-parameters', '-nowarn', '-d', 'classes', ...path, '@sources']);
    },
    call: () => {
      const path = ['classes', ...jars].join(delimiter);
      return execute('java', ['--class-path', path, 'Endpoints', ...given, 'classes']);
    },
  },
};

const response = await fetch(`${world.baseUrl}/openapi.json`, { headers: { 'X-Api-Key': world.key } });
writeFileSync('openapi.json', await response.text());
const { options, build, call } = languages[language];
const flags = [
  'generate',
  '--generator-name',
  language,
  '--input-spec',
  'openapi.json',
  '--output',
  'client',
  ...options,
];
const isGenerated = await succeeds('generates', () => execute('java', ['-jar', generator, ...flags]));
const isBuilt = isGenerated && (await succeeds('compiles', build));
if (isBuilt) {
  const lines = call()
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => line.split('\t'));
  await report.check('generates every endpoint', () => lines.length === ENDPOINTS || `${lines.length} endpoints`);
  for (const [name, difference] of lines) await report.check(`calls ${name}`, () => difference === '' || difference);
}
report.write();

async function succeeds(name, work) {
  let isDone = false;
  await report.check(name, () => {
    work();
    isDone = true;
    return true;
  });
  return isDone;
}

function execute(command, args, env = process.env) {
  try {
    return execFileSync(command, args, { encoding: 'utf8', stdio: 'pipe', env, maxBuffer: 64 * 1024 * 1024 });
  } catch (thrown) {
    throw new Error(`${thrown.stderr}${thrown.stdout}`.slice(0, 2_000), { cause: thrown });
  }
}
