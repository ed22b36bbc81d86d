import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { ConfigSources } from '../../src/base/config/config-file.ts';
import { loadConfig } from '../../src/base/config/config.ts';
import { readEnvironment } from '../../src/base/config/environment.ts';
import type { SightlineError } from '../../src/base/errors.ts';
import { removedSettings } from '../../src/base/removed-names.ts';
import { temporaryFolder } from '../support/folders.ts';
import { BASE_URL, type Given, KEY, load, refusal } from './configured.ts';

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
      'keep.daily is -1; allowed: a whole number from 0 to 10000',
    );
    expect(await refusal({ file: { keep: 7 } })).toContain('keep is 7; allowed: an object with the members daily');
    expect(await refusal({ file: { keep: { yearly: 1 } } })).toContain(
      'keep has an unknown setting "yearly"; allowed: daily, weekly, monthly',
    );
    expect(await refusal({ environment: { SIGHTLINE_KEEP_DAILY: ' ' } })).toBe(
      'SIGHTLINE_KEEP_DAILY is " "; allowed: a whole number from 0 to 10000',
    );
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
      proxy: null,
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
    expect((await load({})).config.parquet).toBe('standard');
    expect((await load({ environment: { SIGHTLINE_PARQUET: 'Compatible' } })).config.parquet).toBe('compatible');
    expect((await load({ file: { parquet: 'compatible' } })).config.parquet).toBe('compatible');
    expect(await refusal({ file: { parquet: 'v2' } })).toContain('parquet is "v2"; allowed: standard or compatible');
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

test.each(removedSettings)('the removed setting $name is rejected with its replacement', async ({ name, instead }) => {
  const acme = { baseUrl: BASE_URL, apiKeyVariable: 'KEY_A', [name]: 1 };
  for (const [file, setting] of [
    [{ unknown: 1, [name]: {} }, name],
    [{ workspaces: { acme } }, `workspaces.acme.${name}`],
  ] as const) {
    const rejected = await load({ file }).catch((thrown: unknown) => thrown);
    const message = expect.stringMatching(`sightline.config.json: the setting ${setting} was removed$`);
    expect(rejected).toMatchObject({ code: 'config_invalid', message, hint: instead });
  }
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

test('a key or a URL with a password that was pasted into another setting is not shown in the error', async () => {
  const secret = 'gsk_abcdefghijklmnop';
  const given: Given[] = [
    { environment: { SIGHTLINE_BASE_URL: secret } },
    { environment: { SIGHTLINE_BASE_URL: `ftp://x/?${secret}` } },
    { environment: { SIGHTLINE_CONNECTIONS: secret } },
    { environment: { SIGHTLINE_CLOCK: 'postgres://user:abcdefgh@db.example.com/x' } },
    { environment: { SIGHTLINE_WORKSPACE: 'postgres://user:abcdefgh@db.example.com/x' } },
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

  test.each(['utf16le', 'binary'] as const)('and the configuration file are rejected as %s', async (encoding) => {
    for (const name of ['.env', 'sightline.config.json']) {
      const folder = await temporaryFolder();
      const text = encoding === 'binary' ? 'SIGHTLINE_CONNECTIONS=3\0' : '\ufeffSIGHTLINE_CONNECTIONS=3\r\n';
      await writeFile(join(folder, name), Buffer.from(text, encoding));
      const read = () => loadConfig({ flags: {}, environment: readEnvironment(folder, {}), folder });
      expect(read).toThrow(`${join(folder, name)} is not UTF-8 text but UTF-16 or binary; allowed: UTF-8`);
    }
  });

  test('is optional, and rejected if it is a folder', async () => {
    const folder = await temporaryFolder();
    expect(readEnvironment(folder)).toEqual({ ...process.env });
    await mkdir(join(folder, '.env'));
    expect(() => readEnvironment(folder)).toThrow(/cannot read .*\.env \(EISDIR\)/);
  });
});
