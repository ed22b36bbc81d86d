import { describe, expect, test } from 'vitest';
import { isReadableOnTheWay } from '../../src/base/config/budget-settings.ts';
import { loadConfig, loadRunnerSettings } from '../../src/base/config/config.ts';
import { BASE_URL, load, refusal } from './configured.ts';

/** Settings of a bucket that are not given. */
const DEFAULTS = {
  region: null,
  endpoint: null,
  pathStyle: false,
  encryption: null,
  kmsKeyId: null,
  findProxy: expect.any(Function),
};

describe('settings of stores and databases', () => {
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
    expect(await of('acme')).toEqual({ ...DEFAULTS, ...file.publish });
    expect(await of('other')).toEqual({ kind: 'folder' });
    const own = { kind: 's3', bucket: 'lake', endpoint: 'http://127.0.0.1:9', pathStyle: true, region: 'eu' };
    expect(await of('third')).toEqual({ prefix: '', ...DEFAULTS, ...own });
  });

  test('of a removed target name what replaces it', async () => {
    const removed = load({ file: { publish: { kind: 'iceberg', path: 'lake' } } });
    await expect(removed).rejects.toMatchObject({
      code: 'config_invalid',
      message: expect.stringContaining('publish.kind has the value "iceberg", which was removed'),
      hint: expect.stringContaining('set `destinations` with "kind": "iceberg"'),
    });
  });

  test.each([
    [{ kind: 'ftp' }, /publish\.kind is "ftp"; allowed: folder or s3/],
    [{ bucket: 'lake' }, /publish\.kind is not set; allowed: folder or s3/],
    [{ kind: 'folder', bucket: 'lake' }, /publish\.bucket is set, but publish\.kind is "folder"/],
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
      /publish\.endpoint is not the URL of an S3-compatible object store.*https/,
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

  const acme = { baseUrl: 'https://file.example/v1', apiKeyVariable: 'gsk-hidden' };
  test.for<[object, string]>([
    [{ budget: { kind: 'postgres://u:hidden@h/d' } }, 'budget.kind'],
    [{ runner: { kind: 'redis://hidden' } }, 'runner.kind'],
    [{ notify: [{ urlVariable: 'X', format: 'https://hooks.example/hidden' }] }, 'notify.0.format'],
    [{ notify: [{ urlVariable: 'X', events: ['whsec_hidden'] }] }, 'notify.0.events.0'],
    [{ publish: { kind: 's3', bucket: 'https://u:hidden@h/b' } }, 'publish.bucket'],
    [{ workspaces: { acme } }, 'workspaces.acme.apiKeyVariable'],
  ])('with a URL or key in place of another value are refused without showing it: %j', async ([file, setting]) => {
    const said = await refusal({ file });
    expect(said).toContain(`${setting} is not valid (value not shown); allowed: `);
    expect(said).not.toContain('hidden');
  });

  test('that belong to another kind are not suggested', async () => {
    expect(await refusal({ file: { budget: { kind: 'file', urlVariable: 'X' } } })).toMatch(
      /budget has an unknown setting "urlVariable"; allowed: kind, urlVariable$/,
    );
  });

  test('of a home name a destination, in a flag, a workspace or the file', async () => {
    const workspace = { baseUrl: 'https://file.example/v1', apiKeyVariable: 'KEY_A' };
    const destinations = {
      lake: { kind: 'duckdb', path: 'a' },
      other: { kind: 'duckdb', path: 'b' },
      ice: { kind: 'iceberg', url: 'https://catalog.example', warehouse: 'w' },
      sea: { kind: 'mysql', urlVariable: 'TEAM' },
    };
    const file = { destinations, home: 'lake', workspaces: { acme: workspace, own: { ...workspace, home: 'other' } } };
    const of = async (flags: object) => (await load({ file, flags })).config.home;
    expect((await load({})).config.home).toBe(null);
    expect([await of({ workspace: 'acme' }), await of({ workspace: 'own' })]).toEqual(['lake', 'other']);
    expect(await of({ workspace: 'own', home: 'lake' })).toBe('lake');
    for (const home of ['lak', 'ice', 'sea'])
      await expect(of({ workspace: 'acme', home })).rejects.toThrow(`--home is "${home}"; allowed: lake, other`);
    expect(await refusal({ file: { home: 'lake' } })).toMatch(/home is "lake"; allowed: a name of destinations/);
    const removed = load({ file: { remote: { kind: 's3' } } });
    await expect(removed).rejects.toMatchObject({
      message: expect.stringMatching(/the setting remote was removed$/),
      hint: 'Set "home" to the name of a destination, which then keeps the warehouse between runs.',
    });
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
    const { folder } = await load({ file: { runner: { kind: 'postgres', urlVariable } } });
    const url = 'postgres://agency:se%2Fcret@db.example/queue';
    const read = (environment: Record<string, string>) => () => loadRunnerSettings({ environment, folder });
    expect(read({ QUEUE_URL: url })()).toEqual({ kind: 'postgres', url, urlVariable, sharedFolder: false });
    expect(read({})).toThrow('QUEUE_URL is not set; allowed: the URL of a ');
    const wrong = { QUEUE_URL: 'redis://agency:cret@db.example' };
    expect(read(wrong)).toThrow('QUEUE_URL is not the URL of a ');
    expect(read(wrong)).not.toThrow(/cret/);
  });

  test.each([
    [{ kind: 'queue' }, 'runner.kind is "queue"; allowed: process or postgres'],
    // Removed.
    [{ kind: 'redis', urlVariable: 'QUEUE_URL' }, 'runner.kind is "redis"; allowed: process or postgres'],
    [
      { kind: 'postgres', urlVariable: 'QUEUE_URL', sharedFolder: 'yes' },
      'runner.sharedFolder is "yes"; allowed: true if all workers use one data folder of one machine',
    ],
    [{ kind: 'postgres' }, 'runner.urlVariable is not set; allowed: the name of the environment variable with the URL'],
    ['redis://a:secret@b', 'runner is not valid (value not shown); allowed: an object with "kind"'],
  ])('of the runner reject %j', async (runner, message) => {
    expect(await refusal({ file: { runner } })).toContain(message);
  });

  test('isReadableOnTheWay is true for unencrypted connections to other machines', () => {
    const readable = (address: string): boolean => isReadableOnTheWay(`postgres://a:b@${address}`);
    for (const open of ['db.example/b', '10.0.0.5/b?sslmode=prefer', 'db/b?ssl-mode=PREFERRED', 'db/b?ssl=false']) {
      expect(readable(open)).toBe(true);
    }
    for (const closed of [
      '127.0.0.1:5432/b',
      'localhost/b',
      '[::1]/b',
      'db.example/b?sslmode=verify-full',
      'db/b?ssl=true',
      'db/b?ssl-mode=VERIFY_IDENTITY',
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
});

describe('settings of destinations', () => {
  const of = async (destination: object, environment = {}) => {
    const { config } = await load({ file: { destinations: { one: destination } }, environment });
    return config.destination('one');
  };

  test('have absolute paths, and the URL of their variable', async () => {
    const url = 'postgres://user:p%40ss@db.example:5433/name?sslmode=verify-full';
    expect(await of({ kind: 'postgres', urlVariable: 'TEAM' }, { TEAM: url })).toEqual({ kind: 'postgres', url });
    const own = 'mariadb://user:p%40ss@db.example/name?ssl-mode=verify_identity';
    expect(await of({ kind: 'mysql', urlVariable: 'TEAM' }, { TEAM: own })).toEqual({ kind: 'mysql', url: own });
    expect(await of({ kind: 'sqlite', path: 'a.sqlite' })).toMatchObject({
      path: expect.stringMatching(/^\/.+\/a\.sqlite$/),
    });
    const lake = await of({ kind: 'ducklake', data: 'lake', urlVariable: 'TEAM' }, { TEAM: url });
    expect(lake).toEqual({ kind: 'ducklake', catalog: { url }, data: expect.stringMatching(/^\/.+\/lake$/) });
  });

  test.each([
    [{ kind: 'oracle' }, /destinations\.one\.kind .*; allowed: postgres, mysql, ducklake, sqlite, duckdb or iceberg/],
    [{ kind: 'sqlite' }, /destinations\.one\.path is not set; allowed: the path of a file/],
    [{ kind: 'sqlite', path: 'a?b' }, /destinations\.one\.path is "a\?b"; allowed/],
    [
      { kind: 'postgres', urlVariable: 'postgres://user:secret@host/db' },
      /destinations\.one\.urlVariable is not valid \(value not shown\)/,
    ],
    [
      { kind: 'ducklake', data: 's3://lake/data', path: 'c' },
      /destinations\.one\.data is .*; allowed: the path of a folder/,
    ],
  ])('reject %o', async (destination, message) => {
    expect(await refusal({ file: { destinations: { one: destination } } })).toMatch(message);
  });

  test('of a catalog have its URL and its access', async () => {
    const url = 'https://catalog.example/api';
    expect(await of({ kind: 'iceberg', url: `${url}/` })).toEqual({
      kind: 'iceberg',
      url,
      warehouse: '',
      access: null,
    });
    const given = { kind: 'iceberg', url, warehouse: 'bi' };
    expect(await of({ ...given, tokenVariable: 'TOKEN' }, { TOKEN: 't0ken' })).toEqual({
      ...given,
      access: { token: 't0ken' },
    });
    const client = { ...given, credentialVariable: 'CLIENT' };
    expect(await of(client, { CLIENT: 'me:s3:cret' })).toEqual({
      ...given,
      access: { clientId: 'me', clientSecret: 's3:cret', tokenUrl: `${url}/v1/oauth/tokens`, scope: null },
    });
    const tokens = { tokenUrl: 'https://login.example/token', scope: 'lake' };
    expect(await of({ ...client, ...tokens }, { CLIENT: 'me:s3cret' })).toMatchObject({ access: tokens });
    await expect(of(client, { CLIENT: 's3cret' })).rejects.toThrow(
      'CLIENT is not set or has no colon; allowed: <client',
    );
    await expect(of({ ...given, tokenVariable: 'TOKEN' })).rejects.toThrow('TOKEN is not set; allowed: the token');
    await expect(of({ ...given, scope: 'lake' })).rejects.toThrow('scope is set without credentialVariable');
    await expect(of({ ...client, tokenVariable: 'TOKEN' })).rejects.toThrow(
      'both tokenVariable and credentialVariable',
    );
    await expect(of({ kind: 'iceberg', url: 'http://catalog.example' })).rejects.toThrow(
      'destinations.one.url is not the URL of an Iceberg REST catalog; allowed: the https URL',
    );
    await expect(of({ kind: 'iceberg', url: 'https://me:s3cret@catalog.example' })).rejects.toThrow(
      'destinations.one.url contains a user name or password',
    );
  });

  test('name the variable of a wrong URL, and not the URL', async () => {
    for (const [kind, url, named] of [
      ['postgres', 'mysql://user:secret@host/db', 'a PostgreSQL database'],
      ['mysql', 'postgres://user:secret@host/db', 'a MySQL or MariaDB database'],
      ['mysql', 'mysql://user:secret@host', 'a MySQL or MariaDB database'],
    ] as const) {
      const wrong = of({ kind, urlVariable: 'TEAM' }, { TEAM: url });
      await expect(wrong).rejects.toThrow(`TEAM is not the URL of ${named}`);
      await expect(wrong).rejects.not.toThrow('secret');
    }
    await expect(of({ kind: 'ducklake', data: 'lake' })).rejects.toThrow(
      'has neither urlVariable nor path; allowed: one',
    );
  });
});
