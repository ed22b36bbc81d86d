import { execFile } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { copyFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Command } from 'commander';
import { describe, expect, onTestFinished, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { declaredJobs } from '../../jobs/all.ts';
import { EXIT } from '../../src/base/errors.ts';
import { commands } from '../../src/cli/program/command-list.ts';
import { createProgram } from '../../src/cli/program/program.ts';
import { temporaryFolder } from '../support/folders.ts';
import { testWith } from '../support/needs.ts';

interface Pod {
  readonly securityContext: object;
  readonly containers: readonly { readonly args: readonly string[]; readonly securityContext: object }[];
}

/** The parts of a manifest that have pods. */
interface Manifest {
  readonly spec?: {
    readonly template?: { readonly spec: Pod };
    readonly jobTemplate?: { readonly spec: { readonly template: { readonly spec: Pod } } };
  };
}

const root = join(import.meta.dirname, '../..');
const folder = join(root, 'docs/deploy');
const read = (name: string): string => readFileSync(join(folder, name), 'utf8');
const run = promisify(execFile);
const ANALYZE = ['/usr/bin/systemd-analyze', '/bin/systemd-analyze'].find((path) => existsSync(path));
const units = readdirSync(folder).filter((name) => /\.(service|timer)$/.test(name));

describe('the container image', () => {
  const text = read('Dockerfile');
  const instructions = text
    .replace(/^#.*\n/gm, '')
    .replace(/\\\n\s*/g, '')
    .split('\n')
    .filter((line) => line !== '');
  const of = (word: string): string[] =>
    instructions.filter((line) => line.startsWith(`${word} `)).map((line) => line.slice(word.length + 1));

  test('copies only files that exist and pass .dockerignore, and runs npm without install scripts', () => {
    const allowed = read('Dockerfile.dockerignore')
      .split('\n')
      .filter((line) => line.startsWith('!'))
      .map((line) => line.slice(1));
    const copied = of('COPY')
      .filter((line) => !line.startsWith('--from'))
      .flatMap((line) => line.split(' ').slice(0, -1));
    expect(copied.length).toBeGreaterThan(5);
    for (const path of copied) {
      expect(existsSync(join(root, path)), path).toBe(true);
      expect(allowed).toContain(path);
    }
    for (const line of of('RUN').filter((command) => command.includes('npm ci')))
      expect(line).toContain('--ignore-scripts');
  });

  test('uses a supported Node version, an unprivileged user and an existing command', async () => {
    const [, major = 0, minor = 0] = /node:(\d+)\.(\d+)\.\d+-/.exec(of('ARG')[0] ?? '')?.map(Number) ?? [];
    expect(major > 20 || (major === 20 && minor >= 19)).toBe(true);
    expect(text).toContain(`image.base.name="${of('ARG')[0]?.replace('NODE_IMAGE=', '')}"`);
    expect(of('USER')).toEqual(['1000:1000']);
    expect(JSON.parse(of('ENTRYPOINT')[0] ?? '')).toEqual(['sightline']);
    const [command, ...flags] = JSON.parse(of('CMD').at(-1) ?? '') as string[];
    const serve = (await createProgram()).commands.find((candidate) => candidate.name() === command);
    for (const flag of flags.filter((word) => word.startsWith('-'))) {
      expect(serve?.options.map(({ long }) => long)).toContain(flag);
    }
  });

  test('has the same health check as compose.yaml, which passes only on status 200', async () => {
    const [, words = ''] = /CMD (\[.*\])$/.exec(of('HEALTHCHECK')[0] ?? '') ?? [];
    const [, , script = ''] = JSON.parse(words) as string[];
    expect(read('compose.yaml')).toContain(`- "${script}"`);
    expect(script).toContain(':4000/livez');
    let status = 200;
    const server = createServer((_request, response) => response.writeHead(status).end());
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void server.close());
    const asked = script.replace('4000', String((server.address() as AddressInfo).port));
    await run(process.execPath, ['-e', asked]);
    status = 503;
    await expect(run(process.execPath, ['-e', asked])).rejects.toMatchObject({ code: 1 });
  });
});

test('compose.yaml grants the service no unneeded privileges', () => {
  const text = read('compose.yaml');
  const needed = [
    'read_only: true',
    'cap_drop:\n      - ALL',
    'no-new-privileges:true',
    '"127.0.0.1:4000:4000"',
    'restart: ',
  ];
  for (const line of needed) expect(text).toContain(line);
  expect(text).toContain('SIGHTLINE_API_KEY_FILE: /run/secrets/api-key');
  expect(text).not.toContain('\t');
});

test('the manifests of Kubernetes run existing commands and jobs, without privileges and on a read-only root', async () => {
  const program = await createProgram();
  const names = readdirSync(join(folder, 'kubernetes'));
  const kinds = names.flatMap((name) =>
    parseAllDocuments(read(join('kubernetes', name))).map((one) => one.toJS() as Manifest),
  );
  const pods = kinds.flatMap(({ spec }) => spec?.template?.spec ?? spec?.jobTemplate?.spec.template.spec ?? []);
  expect(pods).toHaveLength(3);
  for (const { securityContext, containers } of pods) {
    expect(securityContext).toMatchObject({ runAsNonRoot: true, runAsUser: 1000 });
    for (const { args, securityContext: own } of containers) {
      expect(own).toMatchObject({ readOnlyRootFilesystem: true, allowPrivilegeEscalation: false });
      const words = (/exec sightline (.*)/.exec(args.at(-1) ?? '')?.[1]?.split(' ') ?? args).filter(
        (word) => word !== '',
      );
      let command: Command = program;
      for (const word of words) command = command.commands.find((one) => one.name() === word) ?? command;
      expect(command.name()).toMatch(/^(run|serve)$/);
      const flags = words.filter((word) => word.startsWith('--'));
      expect(command.options.map(({ long }) => long)).toEqual(expect.arrayContaining(flags));
      if (command.name() === 'run') expect(declaredJobs.map(({ name }) => name)).toContain(words[2]);
    }
  }
});

describe('the systemd units', () => {
  test('refer to existing jobs and exit codes', () => {
    const [serve, nightly] = [read('sightline.service'), read('sightline-nightly.service')];
    expect(serve).toContain(`\nRestartPreventExitStatus=${EXIT.usage}\n`);
    expect(serve).toContain(`\nSuccessExitStatus=${EXIT.interrupted}\n`);
    expect(nightly).toContain(`\nSuccessExitStatus=${EXIT.partial}\n`);
    expect(declaredJobs.map(({ name }) => name)).toContain(/jobs run (\S+)$/m.exec(nightly)?.[1]);
    // All units use the same user and the same sandboxing.
    const rights = (text: string): string => /# Who it is[\s\S]*?TasksMax=.*\n/.exec(text)?.[0] ?? '';
    expect(rights(serve)).toBe(rights(nightly));
    expect(rights(serve)).toContain('NoNewPrivileges=yes');
  });

  testWith(ANALYZE === undefined ? 'there is no systemd-analyze' : null)('pass systemd-analyze verify', async () => {
    const copies = await temporaryFolder();
    for (const name of units) {
      // systemd-analyze checks that the command exists, so use one that is installed here.
      if (name.endsWith('.timer')) await copyFile(join(folder, name), join(copies, name));
      else await writeFile(join(copies, name), read(name).replaceAll('/usr/local/bin/sightline', '/bin/true'));
    }
    const { stdout, stderr } = await run(
      ANALYZE as string,
      ['verify', '--man=no', ...units.map((name) => join(copies, name))],
      { env: { PATH: process.env['PATH'], SYSTEMD_UNIT_PATH: `${copies}:` } },
    );
    expect(stdout + stderr).toBe('');
  });
});

test('the deployment guide refers to existing files and commands', () => {
  const text = read('README.md');
  const links = [...text.matchAll(/\]\(([^)#]+)\)/g)].map((match) => match[1] ?? '');
  for (const link of links) expect(existsSync(join(folder, link)), link).toBe(true);
  for (const name of [...units, 'Dockerfile', 'compose.yaml']) expect(links).toContain(name);
  const named = [...text.matchAll(/(?:^ {4}|`|bin\/|exec sightline |run \.\.\. )sightline (\w+)/gm)].map(
    (match) => match[1],
  );
  expect(named.length).toBeGreaterThan(3);
  for (const command of named) expect(Object.keys(commands)).toContain(command);
});
