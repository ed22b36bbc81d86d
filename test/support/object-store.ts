import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { freePort } from './ports.ts';
import { S3_KEY } from './s3-server.ts';

const run = promisify(execFile);
const PROGRAMS = ['ceph', 'ceph-authtool', 'ceph-mon', 'ceph-osd', 'monmaptool', 'radosgw', 'radosgw-admin'];
/** Maximum number of polls for the first start, which creates the pools one after another. */
const START_POLLS_MAX = 600;

/** Whether Ceph's object gateway is installed: an independent S3 implementation that enforces conditional writes. */
export const hasCeph = PROGRAMS.every((name) => existsSync(join('/usr/bin', name)));

/** An S3-compatible store. */
export interface Ceph {
  readonly endpoint: string;
  close(): Promise<void>;
}

/** Starts a Ceph monitor, an in-memory OSD and a gateway on loopback, in their own folder. Takes about 10 seconds. */
export async function startCeph(): Promise<Ceph> {
  const folder = await mkdtemp(join(tmpdir(), 'sightline-ceph-'));
  const started: ChildProcess[] = [];
  const close = async (): Promise<void> => {
    await Promise.all(started.map(end));
    await rm(folder, { recursive: true, force: true });
  };
  try {
    const [monitor, gateway] = [await freePort(), await freePort()];
    const configuration = join(folder, 'ceph.conf');
    const given = ['-c', configuration];
    const id = randomUUID();
    await writeFile(configuration, settings(folder, id, monitor));
    await prepare(folder, id, monitor);
    await run('ceph-mon', [...given, '-i', 'a', '--mkfs', '--monmap', join(folder, 'monmap')]);
    started.push(startWith('ceph-mon', [...given, '-i', 'a', '-f']));
    const disk = randomUUID();
    await run('ceph', [...given, 'osd', 'new', disk, '0']);
    await run('ceph-osd', [...given, '-i', '0', '--mkfs', '--osd-uuid', disk]);
    started.push(startWith('ceph-osd', [...given, '-i', '0', '-f']));
    const listen = `beast endpoint=127.0.0.1:${gateway}`;
    started.push(startWith('radosgw', [...given, '-n', 'client.admin', '--rgw-frontends', listen, '-f']));
    const endpoint = `http://127.0.0.1:${gateway}`;
    await answers(endpoint);
    const keys = ['--access-key', S3_KEY.AWS_ACCESS_KEY_ID, '--secret-key', S3_KEY.AWS_SECRET_ACCESS_KEY];
    await run('radosgw-admin', [...given, 'user', 'create', '--uid', 'tested', '--display-name', 'tested', ...keys]);
    return { endpoint, close };
  } catch (thrown) {
    await close();
    throw thrown;
  }
}

// The shell kills the program at the end of its stdin, so the program ends even if this process is killed.
function startWith(program: string, given: readonly string[]): ChildProcess {
  const script = '"$@" < /dev/null > /dev/null 2>&1 & child=$!; cat > /dev/null; kill -9 $child; wait $child';
  return spawn('sh', ['-c', script, 'sh', program, ...given], { stdio: ['pipe', 'ignore', 'ignore'] });
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return;
  const ended = new Promise((resolve) => child.once('exit', resolve));
  child.stdin?.end();
  await ended;
}

async function prepare(folder: string, id: string, monitor: number): Promise<void> {
  const keyring = join(folder, 'keyring');
  const key = (name: string, ...caps: string[]) =>
    run('ceph-authtool', [
      keyring,
      ...(existsSync(keyring) ? [] : ['--create-keyring']),
      '--gen-key',
      '-n',
      name,
      ...caps,
    ]);
  await key('mon.', '--cap', 'mon', 'allow *');
  await key('client.admin', '--cap', 'mon', 'allow *', '--cap', 'osd', 'allow *', '--cap', 'mgr', 'allow *');
  await key('osd.0', '--cap', 'mon', 'allow profile osd', '--cap', 'osd', 'allow *');
  const monitors = ['--addv', 'a', `[v2:127.0.0.1:${monitor}]`];
  await run('monmaptool', ['--create', '--fsid', id, ...monitors, join(folder, 'monmap')]);
  for (const name of ['mon', 'osd']) await mkdir(join(folder, name));
}

function settings(folder: string, id: string, monitor: number): string {
  return `[global]
fsid = ${id}
mon host = [v2:127.0.0.1:${monitor}]
public addr = 127.0.0.1
cluster addr = 127.0.0.1
ms bind msgr1 = false
ms bind ipv6 = false
osd pool default size = 1
osd pool default min size = 1
osd pool default pg num = 1
osd pool default pgp num = 1
osd pool default pg autoscale mode = off
osd crush chooseleaf type = 0
mon allow pool size one = true
mon max pg per osd = 1000
mon data avail crit = 1
osd objectstore = memstore
memstore device bytes = 536870912
osd class dir = /usr/lib/x86_64-linux-gnu/rados-classes
run dir = ${folder}
admin socket =
log file = /dev/null
pid file =
mon data = ${folder}/mon
osd data = ${folder}/osd
keyring = ${folder}/keyring
`;
}

async function answers(endpoint: string): Promise<void> {
  for (let poll = 0; poll < START_POLLS_MAX; poll++) {
    const isThere = await fetch(endpoint).then(
      (answer) => answer.ok,
      () => false,
    );
    if (isThere) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error(`Ceph's gateway did not respond after ${START_POLLS_MAX} polls`);
}
