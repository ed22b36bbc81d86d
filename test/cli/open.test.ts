import { chmod, mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { startCommand, startedServer } from '../serve/running-command.ts';
import { temporaryFolder } from '../support/folders.ts';
import { expectJson } from '../support/json-outputs.ts';
import { testWith } from '../support/needs.ts';
import { expectRefusal, runCli, startCli, until } from './helpers.ts';

/** Starts a server in a folder and returns what it printed as JSON. */
async function serveIn(cwd: string, ...flags: readonly string[]) {
  const running = startCommand(['serve', '--json', '--port', '0', ...flags], { cwd, clock: systemClock });
  const isRole = flags.includes('--role');
  const { baseUrl, signInUrl } = await (isRole ? startedServer(running, 'serve --role api') : startedServer(running));
  return { ...running, origin: new URL(baseUrl).origin, signInUrl: signInUrl ?? '' };
}

async function signIn(link: string): Promise<{ status: number; cookie: string }> {
  const { origin, hash } = new URL(link);
  const response = await fetch(new URL('/data/session', origin), {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ token: hash.slice(1) }),
  });
  return { status: response.status, cookie: response.headers.get('set-cookie')?.split(';')[0] ?? '' };
}

describe('sightline open', () => {
  it('prints a link to the running server, and sightline sessions lists and ends its session', async () => {
    const cwd = await temporaryFolder();
    expectRefusal(await runCli(['open', '--print'], { cwd }), 'usage', false);
    const server = await serveIn(cwd, '--no-jobs');
    expect(server.signInUrl).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/sign-in#gsl_[A-Za-z0-9_-]{43}$/);
    const printed = await runCli(['open', '--print', '--json'], { cwd });
    expect(printed.code, printed.stderr).toBe(0);
    const { url: link } = expectJson<{ url: string }>('open', printed.stdout);
    expect(link.startsWith(`${server.origin}/sign-in#gsl_`)).toBe(true);
    const proxied = await runCli(['open', '--print', '--url', 'https://data.example.com'], { cwd });
    expect(proxied.stdout).toMatch(/^https:\/\/data\.example\.com\/sign-in#gsl_/);
    for (const each of [link, server.signInUrl]) {
      expect((await signIn(each)).status).toBe(200);
      expect((await signIn(each)).status).toBe(401);
    }
    for (const name of ['sessions.json', 'server.json']) {
      expect((await stat(join(cwd, 'data', 'default', name))).mode & 0o777, name).toBe(0o600);
    }
    const listed = await runCli(['sessions', 'list', '--json'], { cwd });
    const [first, ...others] = expectJson<{ id: string; key: string | null }[]>('sessions list', listed.stdout);
    expect([first?.key, others.length]).toEqual([null, 1]);
    const ended = await runCli(['sessions', 'revoke', first?.id ?? '', '--json'], { cwd });
    expect(ended.code, ended.stderr).toBe(0);
    expectJson('sessions revoke', ended.stdout);
    expect(JSON.parse((await runCli(['sessions', 'list', '--json'], { cwd })).stdout)).toHaveLength(1);
    const { stdout, stderr } = await server.stop();
    // The line of JSON is for programs; the log has no secrets.
    expect(stdout.replace(server.signInUrl, '')).not.toMatch(/gs[ls]_/);
    expect(stderr).not.toMatch(/gs[kls]_\w/);
    expectRefusal(await runCli(['open', '--print'], { cwd }), 'usage', false);
  });

  testWith(process.platform === 'linux' ? null : 'xdg-open is a program of Linux')(
    'gives the browser a file instead of the link, which processes could read',
    async () => {
      const cwd = await temporaryFolder();
      const server = await serveIn(cwd, '--no-jobs');
      const bin = join(cwd, 'bin');
      await mkdir(bin);
      const opener = join(bin, 'xdg-open');
      await writeFile(
        opener,
        '#!/bin/sh\nprintf "%s" "$*" > "$OPENED.part" && cat "$1" > "$OPENED.page" && mv "$OPENED.part" "$OPENED"\n',
      );
      await chmod(opener, 0o755);
      const opened = join(cwd, 'opened');
      const env = { PATH: `${bin}:${process.env['PATH']}`, DISPLAY: ':0', OPENED: opened };
      const run = await startCli(['open'], { cwd, env }).finished;
      expect(run.code, run.stderr).toBe(0);
      expect(run.stdout).toBe('');
      await until('the browser was started', async () => (await stat(opened).catch(() => null)) !== null);
      const argument = await readFile(opened, 'utf8');
      expect(argument).toBe(join(cwd, 'data', 'default', 'sign-in.html'));
      expect((await stat(argument)).mode & 0o777).toBe(0o600);
      const link = /url=([^"]+)"/.exec(await readFile(`${opened}.page`, 'utf8'))?.[1] ?? '';
      expect(link.startsWith(server.origin)).toBe(true);
      expect((await signIn(link)).status).toBe(200);
      const failing = await startCli(['open'], { cwd, env: { ...env, OPENED: '/nowhere/opened' } }).finished;
      expect(failing.stdout).toMatch(/^http:.*\/sign-in#gsl_/);
    },
  );

  it('finds a server of all workspaces in the data folder', async () => {
    const cwd = await temporaryFolder();
    const workspaces = { acme: { baseUrl: 'https://api.example.com/v1', apiKeyVariable: 'ACME_KEY' } };
    await writeFile(
      join(cwd, 'sightline.config.json'),
      JSON.stringify({ workspaces: { ...workspaces, beta: { ...workspaces.acme, apiKeyVariable: 'BETA_KEY' } } }),
    );
    const created = await runCli(
      ['keys', 'create', 'both', '--workspaces', 'acme,beta', '--scope', 'read', 'sql', '--json'],
      { cwd },
    );
    expect(created.code, created.stderr).toBe(0);
    const key = JSON.parse(created.stdout) as { key: string };
    expect(key).toMatchObject({ scopes: ['read', 'sql'], brands: null, workspaces: ['acme', 'beta'] });
    const server = await serveIn(cwd, '--role', 'api');
    const all = await runCli(['open', '--print'], { cwd });
    expect(all.stdout.startsWith(`${server.origin}/sign-in#gsl_`), all.stderr).toBe(true);
    const one = await runCli(['open', '--print', '--workspace', 'acme'], { cwd });
    expect(one.stdout.startsWith(`${server.origin}/w/acme/sign-in#gsl_`), one.stderr).toBe(true);
    const { cookie } = await signIn(all.stdout.trim());
    const me = await fetch(new URL('/data/me', server.origin), { headers: { cookie } });
    expect(await me.json()).toMatchObject({ signedIn: true, workspaces: ['acme', 'beta'] });
    const asked = await fetch(`${server.origin}/w/beta/v1/brands`, { headers: { 'x-api-key': key.key } });
    expect(asked.status).toBe(503);
    const listed = await runCli(['keys', 'list', '--workspace', 'acme'], { cwd });
    expect(listed.stdout).toMatch(/both .*read, sql .*all .*acme, beta/);
    const revoked = await runCli(['keys', 'revoke', 'both', '--workspace', 'acme'], { cwd });
    expect(revoked.code, revoked.stderr).toBe(0);
    await until('the key is revoked', async () => {
      const response = await fetch(`${server.origin}/w/beta/v1/brands`, { headers: { 'x-api-key': key.key } });
      return response.status === 401;
    });
  });

  it('and keys reject values that are not allowed', async () => {
    const cwd = await temporaryFolder();
    for (const args of [
      ['open', '--url', 'data.example.com'],
      ['open', '--url', 'https://data.example.com/path'],
      ['keys', 'create', 'x', '--scope', 'write'],
      ['keys', 'create', 'x', '--brand', ' '],
      ['keys', 'create', 'x', '--all-workspaces', '--workspaces', 'default'],
      ['keys', 'create', 'x', '--all-workspaces', '--workspace', 'default'],
      ['sessions', 'revoke', 'nobody'],
    ]) {
      expectRefusal(await runCli(args, { cwd }), 'usage', false);
    }
    const unknown = await runCli(['keys', 'create', 'x', '--workspaces', 'nobody'], { cwd });
    expect(unknown.code).toBe(2);
    expect(unknown.stderr).toContain('"nobody"');
  });
});
