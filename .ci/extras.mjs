#!/usr/bin/env node
// Runs every line that sightline prints for a missing optional package, and checks that sightline then finds the package:
//
//   .ci/extras.mjs NPM_VERSION...
//
// Each version of npm is tried in a clone with and without development packages, in a project, and globally; Docker builds one
// image. Fails if a package is not found. Lines that need an unreachable registry or Docker are NOT TRIED; the last line counts them.
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const root = join(import.meta.dirname, '..');
const versions = process.argv.slice(2);
const folder = mkdtempSync(join(tmpdir(), 'sightline-extras-'));
const counts = { found: 0, failed: 0, untried: 0 };
/** Time limit of a command. */
const COMMAND_MS = 600_000;
/** Errors of npm and Docker that come from the network or the machine. */
const UNREACHABLE =
  /ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ETIMEDOUT|ECONNRESET|network|ENEEDAUTH|E40[13]|Cannot connect to the Docker/;

process.on('exit', () => rmSync(folder, { recursive: true, force: true }));

function say(text) {
  process.stdout.write(`${text}\n`);
}

function run(line, cwd) {
  const env = {
    ...process.env,
    npm_config_audit: 'false',
    npm_config_fund: 'false',
    npm_config_update_notifier: 'false',
  };
  const { status, stdout, stderr } = spawnSync(line, { cwd, env, shell: true, encoding: 'utf8', timeout: COMMAND_MS });
  return { isDone: status === 0, text: `${stdout}${stderr}` };
}

function report(what, { isDone, text }) {
  if (isDone) counts.found += 1;
  else if (UNREACHABLE.test(text)) counts.untried += 1;
  else counts.failed += 1;
  const verdict = isDone ? 'ok' : UNREACHABLE.test(text) ? 'NOT TRIED' : 'FAILED';
  say(`${verdict}: ${what}${isDone ? '' : `\n${text.trim().split('\n').slice(-5).join('\n')}`}`);
}

// Imports the packages as sightline does.
function finds(packages, installed) {
  const names = packages.map((wanted) => wanted.slice(0, wanted.lastIndexOf('@')));
  const script = `for (const name of ${JSON.stringify(names)}) await import(name);`;
  return run(
    `node --input-type=module --eval ${JSON.stringify(script.replaceAll('\n', ' '))}`,
    join(installed, 'dist/src/base'),
  );
}

function tryLines({ name, installed, cwd, npm }) {
  const list = `import('./optional-packages.js').then(({ OPTIONAL_PACKAGES: all, installLine }) =>
    console.log(JSON.stringify(Object.keys(all).map((use) => ({ use, packages: all[use], line: installLine(use) })))))`;
  const lines = () =>
    JSON.parse(run(`node --eval ${JSON.stringify(list.replaceAll('\n', ' '))}`, join(installed, 'dist/src/base')).text);
  const before = [];
  for (const { use } of lines()) {
    // Read again, because the line of a clone repeats the packages that are installed.
    const { packages, line } = lines().find((one) => one.use === use);
    before.push(...packages);
    const done = run(line.replace(/^npm /, `${npm} `), cwd);
    report(`${name}: ${line}`, done.isDone ? finds([...new Set(before)], installed) : done);
  }
}

function tryVersion(version, tarball) {
  const npm = `npx --yes npm@${version}`;
  const at = join(folder, version);
  const [product, development, project, global] = ['product', 'development', 'project', 'global'].map((name) =>
    join(at, name),
  );
  for (const path of [project, global]) mkdirSync(path, { recursive: true });
  writeFileSync(join(project, 'package.json'), '{ "private": true }');
  const clone = (path, flags) =>
    `git clone --quiet --depth 1 file://${root} ${path} && cd ${path} && ${npm} ci ${flags} && ${npm} run build`;
  const within = (modules) => join(modules, 'node_modules/@sightline-mirror/sightline');
  const kinds = [
    {
      name: 'clone without development packages',
      make: clone(product, '--omit=dev'),
      installed: product,
      cwd: product,
    },
    { name: 'clone', make: clone(development, ''), installed: development, cwd: development },
    { name: 'project', make: `cd ${project} && ${npm} install ${tarball}`, installed: within(project), cwd: project },
    {
      name: 'global',
      make: `${npm} install --global --prefix ${global} ${tarball}`,
      installed: within(join(global, 'lib')),
      cwd: at,
    },
  ];
  for (const { make, ...kind } of kinds) {
    const made = run(make, folder);
    const name = `npm ${version}, ${kind.name}`;
    if (made.isDone) tryLines({ ...kind, name, npm });
    else report(`${name}: ${make}`, made);
    rmSync(kind.installed, { recursive: true, force: true });
  }
}

const packed = run(`npm pack --ignore-scripts --pack-destination ${folder}`, root);
const tarball = readdirSync(folder).find((name) => name.endsWith('.tgz'));
if (tarball === undefined) throw new Error(packed.text);
for (const version of versions) tryVersion(version, join(folder, tarball));
const image =
  'docker build --file docs/deploy/Dockerfile --build-arg EXTRAS="pg@8 rate-limiter-flexible@11" --tag sightline-extras .';
report(
  `Docker: ${image}`,
  run(
    `${image} && docker run --rm --entrypoint node sightline-extras --input-type=module --eval "await import('/opt/sightline/node_modules/pg/lib/index.js')"`,
    root,
  ),
);
say(`${counts.found} lines work, ${counts.failed} failed, ${counts.untried} NOT TRIED`);
process.exitCode = counts.failed > 0 ? 1 : 0;
