import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { isReadableOnTheWay } from '../../src/base/config/budget-settings.ts';
import {
  type ConfigSources,
  loadConfig,
  loadRunnerSettings,
  ownSettings,
  readEnvironment,
} from '../../src/base/config/config.ts';
import { SightlineError } from '../../src/base/errors.ts';
import { temporaryFolder } from '../support/folders.ts';

const KEY = 'gsk_0123456789';
const BASE_URL = 'https://api.example.com/v1';

interface Given extends Partial<Omit<ConfigSources, 'folder' | 'file'>> {
  readonly file?: unknown;
}

async function load({ flags = {}, environment = {}, file }: Given) {
  const folder = await temporaryFolder();
  if (file !== undefined) await writeFile(join(folder, 'sightline.config.json'), JSON.stringify(file));
  return { folder, config: loadConfig({ flags, environment, folder }) };
}

async function refusal(given: Given, upstream = false, code = 'config_invalid'): Promise<string> {
  try {
    const { config } = await load(given);
    if (upstream) config.upstream();
  } catch (thrown) {
    expect(thrown).toBeInstanceOf(SightlineError);
    expect(thrown).toMatchObject({ code, exit: 2 });
    return (thrown as SightlineError).message;
  }
  throw new Error('it was accepted');
}

describe('settings', () => {
  test('have defaults if nothing is configured', async () => {
    const { folder, config } = await load({});
    expect(config).toMatchObject({ name: 'default', folder: join(folder, 'data', 'default') });
    expect(config).toMatchObject({ budgetShare: 1, connections: 8, compression: 'snappy' });
  });

  test('of snapshot retention are merged period by period from environment, workspace and file', async () => {
    expect((await load({})).config.keep).toEqual({ daily: 14, weekly: 8, monthly: 24 });
    const workspaces = { acme: { baseUrl: 'https://file.example/v1', apiKeyVariable: 'KEY_A', keep: { weekly: 0 } } };
    const file = { keep: { daily: 3, weekly: 4 }, workspaces };
    const environment = { SIGHTLINE_KEEP_MONTHLY: '120' };
    expect((await load({ file, environment })).config.keep).toEqual({ daily: 3, weekly: 0, monthly: 120 });
    expect(await refusal({ file: { keep: { daily: -1 } } })).toContain(
      'keep.daily is -1; allowed: a whole number of snapshots from 0 to 10000',
    );
    expect(await refusal({ file: { keep: 7 } })).toContain('keep is 7; allowed: an object with the members daily');
    expect(await refusal({ file: { keep: { yearly: 1 } } })).toContain(
      'keep has an unknown setting "yearly"; allowed: daily, weekly, monthly',
    );
    expect(await refusal({ environment: { SIGHTLINE_KEEP_DAILY: ' ' } })).toBe(
      'SIGHTLINE_KEEP_DAILY is " "; allowed: a whole number of snapshots from 0 to 10000',
    );
  });

  test('of a workspace override the publish target of the file', async () => {
    expect((await load({})).config.publish).toEqual({ kind: 'folder' });
    const workspace = { baseUrl: 'https://file.example/v1', apiKeyVariable: 'KEY_A' };
    const file = {
      publish: { kind: 's3', bucket: 'lake', prefix: 'bi/geo', encryption: 'aws:kms', kmsKeyId: 'key/1' },
      workspaces: {
        acme: workspace,
        other: { ...workspace, publish: { kind: 'folder' } },
        third: { ...workspace, publish: { kind: 's3', bucket: 'lake', endpoint: 'http://127.0.0.1:9/', region: 'eu' } },
      },
    };
    const of = async (name: string) => (await load({ file, flags: { workspace: name } })).config.publish;
    const none = { prefix: '', region: null, endpoint: null, pathStyle: false, encryption: null, kmsKeyId: null };
    expect(await of('acme')).toEqual({ ...none, ...file.publish });
    expect(await of('other')).toEqual({ kind: 'folder' });
    const own = { kind: 's3', bucket: 'lake', endpoint: 'http://127.0.0.1:9', pathStyle: true, region: 'eu' };
    expect(await of('third')).toEqual({ ...none, ...own });
  });

  test('publish Iceberg tables to a folder relative to the configuration file, or to a bucket', async () => {
    const of = async (publish: object) => (await load({ file: { publish } })).config.publish;
    const inFolder = await of({ kind: 'iceberg', path: 'lake' });
    expect(inFolder).toEqual({
      kind: 'iceberg',
      place: { kind: 'folder', path: expect.stringMatching(/^\/.+\/lake$/) },
    });
    const inBucket = await of({ kind: 'iceberg', bucket: 'lake', prefix: 'bi' });
    expect(inBucket).toMatchObject({ kind: 'iceberg', place: { kind: 's3', bucket: 'lake', prefix: 'bi' } });
  });

  test.each([
    [{ kind: 'ftp' }, /publish\.kind is "ftp"; allowed: folder or s3 or iceberg/],
    [{ bucket: 'lake' }, /publish\.kind is not set; allowed: folder or s3 or iceberg/],
    [{ kind: 'folder', bucket: 'lake' }, /publish\.bucket is set, but publish\.kind is "folder"/],
    [{ kind: 'folder', path: 'lake' }, /publish\.path is set, but publish\.kind is "folder".*"iceberg"/],
    [{ kind: 'iceberg' }, /publish\.bucket is not set; allowed: the name of a bucket/],
    [
      { kind: 'iceberg', path: 'lake', bucket: 'lake' },
      /publish\.bucket cannot be combined with publish\.path; allowed: one of/,
    ],
    [
      { kind: 's3', path: 'lake' },
      /publish\.path is set, but publish\.kind is "s3", which uses publish\.prefix; allowed: a folder/,
    ],
    [{ kind: 's3' }, /publish\.bucket is not set; allowed: the name of a bucket/],
    [{ kind: 's3', bucket: 'Lake!' }, /publish\.bucket is "Lake!"; allowed/],
    [{ kind: 's3', bucket: 'lake', prefix: '/a' }, /publish\.prefix is "\/a"; allowed/],
    [{ kind: 's3', bucket: 'lake', prefix: 'a/../b' }, /publish\.prefix is "a\/\.\.\/b"; allowed/],
    [{ kind: 's3', bucket: 'lake', prefix: 'a/' }, /publish\.prefix is "a\/"; allowed/],
    [{ kind: 's3', bucket: 'lake', region: 'eu west' }, /publish\.region is "eu west"; allowed/],
    [{ kind: 's3', bucket: 'lake', pathStyle: 'yes' }, /publish\.pathStyle is "yes"; allowed: true or false/],
    [{ kind: 's3', bucket: 'lake', encryption: 'none' }, /publish\.encryption is "none"; allowed: AES256 or aws:kms/],
    [{ kind: 's3', bucket: 'lake', kmsKeyId: 'k' }, /publish\.kmsKeyId is set without "encryption": "aws:kms"/],
    [
      { kind: 's3', bucket: 'lake', endpoint: 'http://store.example' },
      /publish\.endpoint is not the URL of an object store.*https/,
    ],
    [
      { kind: 's3', bucket: 'lake', endpoint: 'https://me:hidden@store.example' },
      /publish\.endpoint contains a user name/,
    ],
    [
      { kind: 's3', bucket: 'lake', secretAccessKey: 'hidden' },
      /publish has an unknown setting "secretAccessKey"; allowed: kind/,
    ],
    ['s3://me:hidden@lake', /publish is not valid \(value not shown\); allowed: an object with the members kind/],
  ])('reject %o as a publish target without showing secrets', async (publish, message) => {
    const said = await refusal({ file: { publish } });
    expect(said).toMatch(message);
    expect(said).not.toContain('hidden');
  });

  test('of a workspace override the remote warehouse of the file', async () => {
    expect((await load({})).config.remote).toEqual({ kind: 'local' });
    const workspace = { baseUrl: 'https://file.example/v1', apiKeyVariable: 'KEY_A' };
    const file = {
      remote: { kind: 's3', bucket: 'lake', prefix: 'homes' },
      workspaces: { acme: workspace, here: { ...workspace, remote: { kind: 'local' } } },
    };
    const of = async (name: string) => (await load({ file, flags: { workspace: name } })).config.remote;
    const none = { region: null, endpoint: null, pathStyle: false, encryption: null, kmsKeyId: null };
    expect([await of('acme'), await of('here')]).toEqual([{ ...none, ...file.remote }, { kind: 'local' }]);
  });

  test.each([
    [{ kind: 'folder' }, /remote\.kind is "folder"; allowed: local or s3/],
    [{ kind: 'local', bucket: 'lake' }, /remote\.bucket is set, but remote\.kind is "local"/],
    [{ kind: 's3' }, /remote\.bucket is not set; allowed: the name of a bucket/],
    [{ kind: 's3', bucket: 'lake', path: '/x' }, /remote has an unknown setting "path"; allowed: /],
    [
      { kind: 's3', bucket: 'lake', endpoint: 'https://me:hidden@store.example' },
      /remote\.endpoint contains a user name/,
    ],
    ['s3://me:hidden@lake', /remote is not valid \(value not shown\); allowed: an object with the members/],
  ])('reject %o as a remote warehouse without showing secrets', async (remote, message) => {
    const said = await refusal({ file: { remote } });
    expect(said).toMatch(message);
    expect(said).not.toContain('hidden');
  });

  test('are accepted under the earlier name "home", with a notice', async () => {
    const workspace = { baseUrl: 'https://file.example/v1', apiKeyVariable: 'KEY_A' };
    const bucket = { kind: 's3', bucket: 'lake' };
    const file = { home: bucket, workspaces: { acme: { ...workspace, home: { kind: 'local' } } } };
    const { config } = await load({ file, flags: { workspace: 'acme' } });
    expect(config.remote).toEqual({ kind: 'local' });
    expect(config.notices).toEqual([
      expect.stringMatching(/: the setting home is now remote; rename it/),
      expect.stringMatching(/: the setting workspaces\.acme\.home is now workspaces\.acme\.remote; rename it/),
    ]);
    expect((await load({ file: { remote: bucket } })).config.notices).toEqual([]);
    expect(await refusal({ file: { home: bucket, remote: bucket } })).toMatch(
      /: home and remote are both set; allowed: remote$/,
    );
    expect(await refusal({ file: { home: { kind: 'folder' } } })).toMatch(
      /remote\.kind is "folder"; allowed: local or s3/,
    );
  });

  test('of the budget come from the file and its variable, and errors never show the URL', async () => {
    expect((await load({})).config.budget()).toEqual({ kind: 'file' });
    const urlVariable = 'BUDGET_URL';
    const url = 'postgres://agency:se%2Fcret@db.example:5432/budgets';
    const workspaces = { acme: { baseUrl: BASE_URL, apiKeyVariable: 'KEY_A', budget: { kind: 'file' } } };
    const file = { budget: { kind: 'postgres', urlVariable }, workspaces };
    const environment = { SIGHTLINE_BASE_URL: BASE_URL, BUDGET_URL: url };
    const { config, folder } = await load({ file, environment });
    expect(config.budget()).toEqual({ kind: 'postgres', url, urlVariable });
    expect(JSON.stringify(config)).not.toContain('cret');
    expect(loadConfig({ flags: { workspace: 'acme' }, environment, folder }).budget()).toEqual({ kind: 'file' });
    expect(ownSettings({ environment, folder })).toMatchObject(environment);
    for (const wrong of ['', 'db.example', 'https://agency:se%2Fcret@db.example', 'postgres://a:%cret@db.example/b']) {
      const { config: given } = await load({ file, environment: { ...environment, BUDGET_URL: wrong } });
      expect(() => given.budget()).toThrow(
        /^BUDGET_URL is not (set|the URL of a PostgreSQL database); allowed: the URL of a PostgreSQL database, such as/,
      );
      expect(() => given.budget()).not.toThrow(/cret/);
    }
  });

  test('of the runner come from the file and its variable, and errors never show the URL', async () => {
    expect(loadRunnerSettings({ environment: {}, folder: (await load({})).folder })).toEqual({ kind: 'process' });
    const urlVariable = 'QUEUE_URL';
    for (const [kind, url, wrong] of [
      ['postgres', 'postgres://agency:se%2Fcret@db.example/queue', 'redis://agency:cret@db.example'],
      ['redis', 'rediss://agency:secret@db.example:6380', 'postgres://agency:cret@db.example/queue'],
    ] as const) {
      const { folder } = await load({ file: { runner: { kind, urlVariable } } });
      const environment = { QUEUE_URL: url };
      expect(loadRunnerSettings({ environment, folder })).toEqual({ kind, url, urlVariable, sharedFolder: false });
      expect(ownSettings({ environment, folder })).toMatchObject(environment);
      const read = (given: Record<string, string>) => () => loadRunnerSettings({ environment: given, folder });
      expect(read({})).toThrow('QUEUE_URL is not set; allowed: the URL of a ');
      expect(read({ QUEUE_URL: wrong })).toThrow('QUEUE_URL is not the URL of a ');
      expect(read({ QUEUE_URL: wrong })).not.toThrow(/cret/);
    }
  });

  test.each([
    [{ kind: 'queue' }, 'runner.kind is "queue"; allowed: process, postgres or redis'],
    [
      { kind: 'redis', urlVariable: 'QUEUE_URL', sharedFolder: 'yes' },
      'runner.sharedFolder is "yes"; allowed: true if all workers use one data folder of one machine',
    ],
    [{ kind: 'redis' }, 'runner.urlVariable is not set; allowed: the name of the environment variable with the URL'],
    ['redis://a:secret@b', 'runner is not valid (value not shown); allowed: an object with "kind"'],
  ])('of the runner reject %j', async (runner, message) => {
    expect(await refusal({ file: { runner } })).toContain(message);
  });

  test('isReadableOnTheWay is true for unencrypted connections to other machines', () => {
    const readable = (address: string): boolean => isReadableOnTheWay(`postgres://a:b@${address}`);
    for (const open of ['db.example/b', '10.0.0.5/b?sslmode=prefer', 'db.example/b?ssl=false']) {
      expect(readable(open)).toBe(true);
    }
    for (const closed of [
      '127.0.0.1:5432/b',
      'localhost/b',
      '[::1]/b',
      'db.example/b?sslmode=verify-full',
      'db/b?ssl=true',
    ]) {
      expect(readable(closed)).toBe(false);
    }
  });

  test.each([
    ['postgres://a:secret@b/c', 'budget is not valid (value not shown); allowed: an object with "kind": "file"'],
    [{ kind: 'redis' }, 'budget.kind is "redis"; allowed: file or postgres'],
    [{}, 'budget.kind is not set; allowed: file or postgres'],
    [{ kind: 'postgres' }, 'budget.urlVariable is not set; allowed: the name of the environment variable with the URL'],
    [
      { kind: 'postgres', urlVariable: 'postgres://a:secret@b/c' },
      'budget.urlVariable is not valid (value not shown); allowed: the',
    ],
    [{ kind: 'file', urlVariable: 'A' }, 'budget has an unknown setting "urlVariable"; allowed: kind, urlVariable'],
  ])('of the budget reject %j', async (budget, message) => {
    expect(await refusal({ file: { budget } })).toContain(message);
  });

  test('from flags override the environment, which overrides the file', async () => {
    const workspaces = { acme: { baseUrl: 'https://file.example/v1', apiKeyVariable: 'KEY_A', connections: 2 } };
    const file = { dataDir: 'of-the-file', connections: 3, budgetShare: 0.25, compression: 'zstd', workspaces };
    const environment = { SIGHTLINE_DATA_DIR: 'of-the-environment', SIGHTLINE_CONNECTIONS: '5', KEY_A: KEY };
    const byFile = await load({ file, environment: { KEY_A: KEY } });
    expect(byFile.config).toMatchObject({ name: 'acme', connections: 2, budgetShare: 0.25, compression: 'zstd' });
    expect(byFile.config.folder).toBe(join(byFile.folder, 'of-the-file', 'acme'));
    expect(byFile.config.upstream()).toEqual({
      baseUrl: 'https://file.example/v1',
      key: KEY,
      keyHeader: 'authorization',
    });
    const byEnvironment = await load({ file, environment });
    expect(byEnvironment.config).toMatchObject({ connections: 5, budgetShare: 0.25 });
    expect(byEnvironment.config.folder).toBe(join(byEnvironment.folder, 'of-the-environment', 'acme'));
    const flags = { dataDir: 'of-the-flags', baseUrl: 'https://flag.example/v1' };
    const byFlags = await load({ file, environment, flags });
    expect(byFlags.config.folder).toBe(join(byFlags.folder, 'of-the-flags', 'acme'));
    expect(byFlags.config.upstream().baseUrl).toBe('https://flag.example/v1');
  });

  test('of a workspace override the common settings of the file', async () => {
    const acme = { baseUrl: BASE_URL, apiKeyVariable: 'KEY_A', budgetShare: 0.5 };
    const { config } = await load({
      file: { budgetShare: 0.9, keyHeader: 'x-api-key', workspaces: { acme } },
      environment: { KEY_A: KEY },
    });
    expect(config.budgetShare).toBe(0.5);
    expect(config.upstream().keyHeader).toBe('x-api-key');
  });

  test('that are empty in the environment count as not set', async () => {
    const environment = {
      SIGHTLINE_DATA_DIR: '',
      SIGHTLINE_CONNECTIONS: '',
      SIGHTLINE_BUDGET_SHARE: '',
      SIGHTLINE_WORKSPACE: '',
    };
    const { folder, config } = await load({ environment });
    expect(config).toMatchObject({ folder: join(folder, 'data', 'default'), connections: 8, budgetShare: 1 });
  });

  test.each([
    ['SIGHTLINE_BUDGET_SHARE', 'budgetShare', ['0.01', '1'], ['0', '1.01', '-1', 'x', 'NaN', 'Infinity']],
    ['SIGHTLINE_CONNECTIONS', 'connections', ['1', '64'], ['0', '65', '2.5', '-1', 'x', ' ']],
  ] as const)('%s has the same bounds in the environment and in the file', async (variable, name, good, bad) => {
    for (const value of good) {
      expect((await load({ environment: { [variable]: value } })).config[name]).toBe(Number(value));
      expect((await load({ file: { [name]: Number(value) } })).config[name]).toBe(Number(value));
    }
    for (const value of bad) {
      expect(await refusal({ environment: { [variable]: value } })).toContain(
        `${variable} is ${JSON.stringify(value)}; allowed: `,
      );
      if (!Number.isFinite(Number(value)) || value === ' ') continue;
      expect(await refusal({ file: { [name]: Number(value) } })).toContain(`${name} is ${value}; allowed: `);
    }
    expect(await refusal({ file: { [name]: '1' } })).toContain(`${name} is "1"; allowed: `);
  });

  test('with fixed choices accept each choice and reject others', async () => {
    for (const compression of ['snappy', 'zstd', 'ZSTD']) {
      const { config } = await load({ environment: { SIGHTLINE_COMPRESSION: compression } });
      expect(config.compression).toBe(compression.toLowerCase());
    }
    expect((await load({})).config.clock).toBe('checked');
    expect((await load({ environment: { SIGHTLINE_CLOCK: 'Upstream' } })).config.clock).toBe('upstream');
    expect((await load({ file: { clock: 'upstream' } })).config.clock).toBe('upstream');
    expect(await refusal({ file: { clock: 'ours' } })).toContain('clock is "ours"; allowed: checked or upstream');
    for (const header of ['authorization', 'x-api-key', 'X-Api-Key']) {
      const environment = { SIGHTLINE_BASE_URL: BASE_URL, SIGHTLINE_API_KEY: KEY, SIGHTLINE_KEY_HEADER: header };
      expect((await load({ environment })).config.upstream().keyHeader).toBe(header.toLowerCase());
    }
    expect(await refusal({ file: { compression: 'gzip' } })).toContain(
      'compression is "gzip"; allowed: snappy or zstd',
    );
  });
});

describe('the workspace name', () => {
  const of = (apiKeyVariable: string) => ({ baseUrl: BASE_URL, apiKeyVariable });
  const file = { workspaces: { acme: of('KEY_A'), globex: of('KEY_B') } };

  test('comes from the flag, the environment or the only configured workspace', async () => {
    expect((await load({ file, flags: { workspace: 'globex' } })).config.name).toBe('globex');
    expect((await load({ file, environment: { SIGHTLINE_WORKSPACE: 'acme' } })).config.name).toBe('acme');
    expect((await load({ file: { workspaces: { acme: of('KEY_A') } } })).config.name).toBe('acme');
    const environment = { SIGHTLINE_BASE_URL: BASE_URL };
    expect((await load({ file, environment })).config.name).toBe('default');
    expect(await refusal({ file })).toContain('--workspace is not set; allowed: one of acme, globex');
  });

  test('is a configured one, one with a folder, or the beginning of one; any other is rejected with the nearest name', async () => {
    const { folder } = await load({ file, flags: { workspace: 'acme' } });
    const named = (workspace: string, more: Partial<ConfigSources> = {}) =>
      loadConfig({ flags: { workspace }, environment: {}, folder, ...more }).name;
    expect(named('glob')).toBe('globex');
    expect(named('default')).toBe('default');
    for (const environment of [{}, { SIGHTLINE_BASE_URL: BASE_URL, SIGHTLINE_API_KEY: KEY }]) {
      expect(() => named('globx', { environment })).toThrow(
        expect.objectContaining({
          code: 'usage',
          exit: 2,
          message: 'unknown workspace "globx"; allowed: default, acme, globex; did you mean "globex"?',
          hint: '`sightline init --workspace globx` creates it.',
        }),
      );
    }
    const environment = { SIGHTLINE_WORKSPACE: 'defualt', SIGHTLINE_BASE_URL: BASE_URL };
    expect(() => loadConfig({ flags: {}, environment, folder })).toThrow(/did you mean "default"\?/);
    expect(() => named('demo')).toThrow(expect.objectContaining({ hint: '`sightline demo` creates it.' }));
    expect(named('globx', { isNew: true })).toBe('globx');
    await mkdir(join(folder, 'data', 'initech'), { recursive: true });
    await writeFile(join(folder, 'data', 'notes'), '');
    expect(named('initech')).toBe('initech');
    expect(() => named('initec1')).toThrow('allowed: default, acme, globex, initech; did you mean "initech"?');
  });

  test.each(['../x', 'a/b', 'A', '', '.', '-x', 'x'.repeat(65)])('rejects %j', async (workspace) => {
    expect(await refusal({ flags: { workspace } })).toContain(`--workspace is ${JSON.stringify(workspace)}; allowed: `);
  });

  test('selects the variable from which the key is read', async () => {
    const environment = { SIGHTLINE_API_KEY: KEY, KEY_A: 'gsk_of_acme' };
    const acme = await load({ file, environment, flags: { workspace: 'acme' } });
    expect(acme.config.upstream().key).toBe('gsk_of_acme');
    expect(await refusal({ file, environment, flags: { workspace: 'globex' } }, true)).toContain('KEY_B is not set');
  });
});

describe('the base URL', () => {
  const urlOf = async (url: string, more: Record<string, string> = {}): Promise<string> => {
    const environment = { SIGHTLINE_BASE_URL: url, SIGHTLINE_API_KEY: KEY, ...more };
    return (await load({ environment })).config.upstream().baseUrl;
  };

  test.each(['http://localhost:1/v1', 'http://127.0.0.1:1/v1', 'http://127.9.9.9:1/v1', 'http://[::1]:1/v1', BASE_URL])(
    'accepts %s',
    async (url) => {
      expect(await urlOf(url)).toBe(url);
      expect(await urlOf(`${url}//`)).toBe(url);
    },
  );

  test.each([
    'http://localhost.example.com/v1',
    'http://127.0.0.1.example.com/v1',
    'http://10.0.0.1/v1',
    'file:///etc',
    'javascript:0',
    '//x/v1',
  ])('rejects %s', async (url) => {
    const environment = { SIGHTLINE_BASE_URL: url, SIGHTLINE_API_KEY: KEY };
    expect(await refusal({ environment }, true)).toContain(`SIGHTLINE_BASE_URL is ${JSON.stringify(url)}; allowed: `);
  });

  test('may use http for other hosts if SIGHTLINE_ALLOW_HTTP is 1', async () => {
    expect(await urlOf('http://10.0.0.1/v1', { SIGHTLINE_ALLOW_HTTP: '1' })).toBe('http://10.0.0.1/v1');
  });
});

test.each(['sk_other', 'gsk_', `${KEY} x`, `"${KEY}"`, `${KEY}\u00e9`, `Bearer ${KEY}`])(
  '%j is rejected as an API key without being shown',
  async (key) => {
    const environment = { SIGHTLINE_BASE_URL: BASE_URL, SIGHTLINE_API_KEY: key };
    const message = await refusal({ environment }, true);
    expect(message).toMatch(/^SIGHTLINE_API_KEY is not an API key; allowed: .*begins with gsk_, without spaces$/);
    expect(message).not.toContain(KEY);
  },
);

test('an API key that was pasted into another setting is not shown in the error', async () => {
  const secret = 'gsk_abcdefghijklmnop';
  const given: Given[] = [
    { environment: { SIGHTLINE_BASE_URL: secret } },
    { environment: { SIGHTLINE_BASE_URL: `ftp://x/?${secret}` } },
    { environment: { SIGHTLINE_CONNECTIONS: secret } },
    { file: { compression: secret } },
    { file: { [secret]: 1 } },
    { file: { workspaces: { acme: { baseUrl: BASE_URL, apiKeyVariable: secret } } } },
    { file: { workspaces: { acme: { baseUrl: secret, apiKeyVariable: 'K' } } } },
  ];
  for (const each of given) expect(await refusal(each, true)).not.toContain('abcdefgh');
  const workspace = await load({ flags: { workspace: secret.toLowerCase() } }).catch(
    (thrown: SightlineError) => thrown,
  );
  expect(workspace).toMatchObject({ code: 'usage', message: expect.stringContaining('gsk_…') });
  expect((workspace as SightlineError).message + (workspace as SightlineError).hint).not.toContain('abcdefgh');
});

describe('.env', () => {
  test('is overridden by the environment of the process', async () => {
    const folder = await temporaryFolder();
    await writeFile(join(folder, '.env'), "# comment\nSIGHTLINE_TEST_A='of the file'\nPATH=nowhere\n");
    const environment = readEnvironment(folder);
    expect(environment['SIGHTLINE_TEST_A']).toBe('of the file');
    expect(environment['PATH']).toBe(process.env['PATH']);
  });

  test('and the configuration file may begin with a byte order mark, and JSON errors do not quote secrets', async () => {
    const folder = await temporaryFolder();
    await writeFile(join(folder, '.env'), '\uFEFFSIGHTLINE_CONNECTIONS=3\r\n');
    await writeFile(join(folder, 'sightline.config.json'), '\uFEFF{ "budgetShare": 0.5 }');
    const environment = readEnvironment(folder);
    expect(loadConfig({ flags: {}, environment, folder })).toMatchObject({ connections: 3, budgetShare: 0.5 });
    await writeFile(join(folder, 'sightline.config.json'), '{ "notify": [{ "urlVariable": T0SECRET/x } ] }');
    const read = (): unknown => loadConfig({ flags: {}, environment, folder });
    expect(read).toThrow("is not JSON: Unexpected token 'T'");
    expect(read).not.toThrow('T0SEC');
  });

  test('is optional, and rejected if it is a folder', async () => {
    const folder = await temporaryFolder();
    expect(readEnvironment(folder)).toEqual({ ...process.env });
    await mkdir(join(folder, '.env'));
    expect(() => readEnvironment(folder)).toThrow(/cannot read .*\.env \(EISDIR\)/);
  });
});

test('ownSettings returns SIGHTLINE_ variables and the variables of keys, and no other variables', async () => {
  const folder = await temporaryFolder();
  const workspaces = { acme: { baseUrl: 'https://api.example.com/v1', apiKeyVariable: 'ACME_KEY' } };
  await writeFile(join(folder, 'sightline.config.json'), JSON.stringify({ workspaces }));
  const environment = {
    SIGHTLINE_CONNECTIONS: '2',
    ACME_KEY: 'a',
    OTHER_KEY: 'b',
    PATH: '/bin',
    SIGHTLINE_KEEP_DAILY: undefined,
  };
  const { 'sightline.config.json': text, ...variables } = ownSettings({ environment, folder });
  expect(variables).toEqual({ SIGHTLINE_CONNECTIONS: '2', ACME_KEY: 'a' });
  expect(text).toContain('ACME_KEY');
});
