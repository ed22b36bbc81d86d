import { type BadInput, KEY, testBadInput } from './bad-input.ts';

const loopback = 'http://127.0.0.1:9/v1';
const withKey = { SIGHTLINE_API_KEY: KEY };
const withUrl = { SIGHTLINE_BASE_URL: loopback };
const settings = { ...withKey, ...withUrl };
const sync = ['sync'];
const config = (value: unknown) => ({ 'sightline.config.json': JSON.stringify(value) });
const https = { baseUrl: 'https://a.example/v1', apiKeyVariable: 'KEY_A' };
const twoWorkspaces = config({ workspaces: { acme: https, globex: { ...https, apiKeyVariable: 'KEY_B' } } });

const keys: BadInput[] = [
  { name: 'no key', args: sync, env: withUrl, code: 'config_invalid', says: ['SIGHTLINE_API_KEY is not set', 'gsk_'] },
  {
    name: 'a blank key',
    args: sync,
    env: { ...withUrl, SIGHTLINE_API_KEY: '  ' },
    code: 'config_invalid',
    says: ['SIGHTLINE_API_KEY is not set', 'gsk_'],
  },
  ...['sk_live_of_something_else', `${KEY} x`, `"${KEY}"`].map(
    (key): BadInput => ({
      name: `the key ${JSON.stringify(key)}`,
      args: sync,
      env: { ...withUrl, SIGHTLINE_API_KEY: key },
      code: 'config_invalid',
      says: ['SIGHTLINE_API_KEY is not an API key', 'begins with gsk_', 'without spaces'],
      hides: [key],
    }),
  ),
];

const urls: BadInput[] = [
  {
    name: 'no base URL',
    args: sync,
    env: withKey,
    code: 'config_invalid',
    says: ['SIGHTLINE_BASE_URL is not set', 'https'],
  },
  ...['not a url', 'http://api.example.com/v1'].map(
    (url): BadInput => ({
      name: `the base URL ${url}`,
      args: sync,
      env: { ...withKey, SIGHTLINE_BASE_URL: url },
      code: 'config_invalid',
      says: [`SIGHTLINE_BASE_URL is "${url}"`, 'https://api.example.com/v1'],
    }),
  ),
  {
    name: 'a base URL with a password',
    args: sync,
    env: { ...withKey, SIGHTLINE_BASE_URL: 'https://someone:hunter2@api.example.com/v1' },
    code: 'config_invalid',
    says: ['SIGHTLINE_BASE_URL contains a user name or password'],
    hides: ['hunter2'],
  },
  {
    name: 'a key in place of the base URL',
    args: sync,
    env: { SIGHTLINE_BASE_URL: KEY, SIGHTLINE_API_KEY: 'https://api.example.com/v1' },
    code: 'config_invalid',
    says: ['SIGHTLINE_BASE_URL is', 'https://api.example.com/v1'],
  },
  {
    name: 'a key in the base URL',
    args: sync,
    env: { ...withKey, SIGHTLINE_BASE_URL: `https://api.example.com/v1?key=${KEY}` },
    code: 'config_invalid',
    says: ['SIGHTLINE_BASE_URL is', 'without a query'],
  },
  {
    name: 'a malformed --base-url',
    args: ['sync', '--base-url', 'nowhere'],
    env: settings,
    code: 'config_invalid',
    says: ['--base-url is "nowhere"', 'https'],
  },
];

const flags: BadInput[] = [
  ...['2026-02-30', '2026-1-1', ''].flatMap((day): BadInput[] =>
    ['--from', '--to'].map((flag) => ({
      name: `${flag} ${JSON.stringify(day)}`,
      args: ['sync', ...(flag === '--to' ? ['--from', '2026-01-01'] : []), flag, day],
      env: settings,
      code: 'usage',
      says: [`${flag} is "${day}"`, 'YYYY-MM-DD'],
    })),
  ),
  {
    name: 'from after to',
    args: ['sync', '--from', '2026-03-02', '--to', '2026-03-01'],
    env: settings,
    code: 'usage',
    says: ['--from 2026-03-02 is after --to 2026-03-01', 'allowed'],
  },
  {
    name: '--to alone',
    args: ['sync', '--to', '2026-03-01'],
    env: settings,
    code: 'usage',
    says: ['--to requires --from'],
  },
  {
    name: 'an unknown resource',
    args: ['sync', '--only', 'brands,responces'],
    env: settings,
    code: 'usage',
    says: ['unknown resource "responces"; allowed: ', 'competitors', 'did you mean "responses"?'],
  },
  { name: 'an unknown flag', args: ['sync', '--forse'], env: settings, code: 'usage', says: ['--forse'] },
  { name: 'an unknown command', args: ['snyc'], code: 'usage', says: ['snyc', 'Did you mean sync?', 'export', 'sql'] },
  { name: 'a flag before the command', args: ['--data-dir', 'x', 'sync'], code: 'usage', says: ['--data-dir'] },
  { name: 'no query at all', args: ['sql'], code: 'usage', says: ['the query is empty'] },
  { name: 'an argument too many', args: ['sync', 'now'], env: settings, code: 'usage', says: ['too many arguments'] },
  { name: 'a flag without its value', args: ['sync', '--data-dir'], code: 'usage', says: ['--data-dir'] },
  {
    name: 'an empty --data-dir',
    args: ['sync', '--data-dir', ''],
    env: settings,
    code: 'usage',
    says: ['--data-dir is empty; allowed: a value'],
  },
  {
    name: 'a question that the gallery does not have',
    args: ['sql', '--gallery', '26'],
    code: 'usage',
    says: ['--gallery is "26"; allowed: a whole number from 1 to 25'],
  },
  {
    name: 'a query beside --list-saved',
    args: ['sql', 'select 1', '--list-saved'],
    code: 'usage',
    says: ['QUERY and --list-saved cannot be combined'],
  },
  {
    name: 'a demo on a port that is in use',
    args: ['demo', '--serve', '--port', 'PORT'],
    code: 'usage',
    says: ['--port PORT is in use; allowed: a free port, or 0 for any'],
  },
  { name: 'an empty --only', args: ['sync', '--only', ','], env: settings, code: 'usage', says: ['--only', 'allowed'] },
  { name: 'an empty query', args: ['sql', ' '], code: 'usage', says: ['query is empty'] },
  {
    name: 'an unknown format',
    args: ['sql', 'select 1', '--format', 'xml'],
    code: 'usage',
    says: ['--format is "xml"', 'table, csv, json'],
  },
];

const files: BadInput[] = [
  {
    name: 'a configuration file that is not JSON',
    args: sync,
    env: settings,
    files: { 'sightline.config.json': '{"workspaces": ' },
    code: 'config_invalid',
    says: ['sightline.config.json is not JSON'],
  },
  {
    name: 'a configuration file with an unknown setting',
    args: sync,
    env: settings,
    files: config({ budgetshare: 1 }),
    code: 'config_invalid',
    says: ['sightline.config.json', '"budgetshare"', 'budgetShare'],
  },
  {
    name: 'a configuration file with a wrong value',
    args: sync,
    env: settings,
    files: config({ connections: 100 }),
    code: 'config_invalid',
    says: ['sightline.config.json', 'connections', '100', '64'],
  },
  {
    name: 'a configuration file with a key in it',
    args: sync,
    env: settings,
    files: config({ apiKey: KEY }),
    code: 'config_invalid',
    says: ['sightline.config.json', '"apiKey"'],
  },
  {
    name: 'a configuration file with a key in place of its variable',
    args: sync,
    files: config({ workspaces: { acme: { ...https, apiKeyVariable: KEY } } }),
    code: 'config_invalid',
    says: ['workspaces.acme.apiKeyVariable', 'the name of the environment variable'],
  },
  {
    name: 'a configuration file that is a list',
    args: sync,
    env: settings,
    files: config([]),
    code: 'config_invalid',
    says: ['sightline.config.json', 'not a JSON object', 'workspaces'],
  },
  {
    name: 'a configuration file with a workspace name that leads out of the folder',
    args: sync,
    env: settings,
    files: config({ workspaces: { '../x': https } }),
    code: 'config_invalid',
    says: ['sightline.config.json', '"../x"', 'lower-case letters'],
  },
  {
    name: 'several workspaces and none chosen',
    args: sync,
    env: withKey,
    files: twoWorkspaces,
    code: 'config_invalid',
    says: ['--workspace', 'acme, globex'],
  },
  {
    name: 'a workspace that is not configured',
    args: ['sync', '--workspace', 'globx'],
    env: withKey,
    files: twoWorkspaces,
    code: 'usage',
    hint: '`sightline init --workspace globx` creates it.',
    says: ['unknown workspace "globx"', 'acme', 'did you mean "globex"?'],
  },
  {
    name: 'a mistyped workspace if the environment configures one, without creating its folder',
    args: ['sync', '--workspace', 'defualt'],
    env: settings,
    code: 'usage',
    hint: '`sightline init --workspace defualt` creates it.',
    says: ['unknown workspace "defualt"', 'did you mean "default"?'],
  },
  {
    name: 'a workspace whose variable is not set',
    args: ['sync', '--workspace', 'globex'],
    env: { KEY_A: KEY },
    files: twoWorkspaces,
    code: 'config_invalid',
    says: ['KEY_B is not set'],
  },
  {
    name: 'a workspace name that leads out of the folder',
    args: ['sync', '--workspace', '../x'],
    env: settings,
    code: 'config_invalid',
    says: ['--workspace is "../x"', 'lower-case letters'],
  },
  {
    name: 'a .env that is a folder',
    args: sync,
    env: settings,
    files: { '.env': null },
    code: 'config_invalid',
    says: ['.env', 'cannot read'],
  },
  ...(
    [
      ['SIGHTLINE_BUDGET_SHARE', '2', 'above 0, at most 1'],
      ['SIGHTLINE_CONNECTIONS', '0', 'from 1 to 64'],
      ['SIGHTLINE_COMPRESSION', 'gzip', 'snappy or zstd'],
      ['SIGHTLINE_KEY_HEADER', 'cookie', 'authorization or x-api-key'],
    ] as const
  ).map(
    ([variable, value, allowed]): BadInput => ({
      name: `${variable}=${value}`,
      args: sync,
      env: { ...settings, [variable]: value },
      code: 'config_invalid',
      says: [`${variable} is "${value}"`, allowed],
    }),
  ),
];

const folders: BadInput[] = [
  {
    name: 'a file in place of the data folder',
    args: sync,
    env: settings,
    files: { data: 'a file' },
    code: 'folder_unwritable',
    says: ['data/default', 'EEXIST|ENOTDIR'],
  },
  {
    name: 'a file in place of the workspace folder',
    args: sync,
    env: settings,
    files: { 'data/default': 'a file' },
    code: 'folder_unwritable',
    says: ['data/default'],
  },
  {
    name: 'a data folder that cannot be created',
    args: ['sync', '--data-dir', '/proc/sightline'],
    env: settings,
    code: 'folder_unwritable',
    says: ['/proc/sightline/default'],
  },
  ...(['sync', 'export', 'sql'] as const).flatMap((command): BadInput[] => {
    const args = command === 'sql' ? [command, 'select 1'] : [command];
    const file = 'data/default/warehouse.duckdb';
    return [
      {
        name: `${command} on a warehouse that is no database`,
        args,
        env: settings,
        files: { [file]: `not a database, whatever its name is ${'.'.repeat(5000)}` },
        code: 'warehouse_invalid',
        says: [file],
      },
      {
        name: `${command} on a warehouse file of no bytes`,
        args,
        env: settings,
        files: { [file]: '' },
        code: 'warehouse_invalid',
        says: [file],
      },
      {
        name: `${command} on a warehouse that is a folder`,
        args,
        env: settings,
        files: { [file]: null },
        code: 'warehouse_invalid',
        says: [file],
      },
    ];
  }),
  { name: 'sql without data', args: ['sql', 'select 1'], code: 'no_data', says: ['default', 'data/default'] },
  { name: 'export without data', args: ['export'], code: 'no_data', says: ['default', 'data/default'] },
  {
    name: 'demo in a folder that was not created by a demo',
    args: ['demo'],
    files: { 'data/demo/precious.txt': 'mine' },
    code: 'usage',
    says: ['data/demo', '--data-dir'],
  },
];

const sandboxes: BadInput[] = [
  ...(
    [
      ['--port', '70000', '0 to 65535'],
      ['--port', 'http', '0 to 65535'],
      ['--seed', '1.5', 'whole number'],
      ['--brands', '-1', '0 to 200'],
      ['--prompts', '1e3', '0 to 5000'],
      ['--days', '0', '1 to 2000'],
      ['--responses-per-day', 'many', '0 to 100000'],
      ['--rate-limit', '0', '1 to 10000'],
      ['--latency-ms', '-5', '0 to 600000'],
      ['--window', 'hopping', 'sliding, fixed'],
    ] as const
  ).map(
    ([flag, value, allowed]): BadInput => ({
      name: `sandbox ${flag} ${value}`,
      args: ['sandbox', flag, value],
      code: 'usage',
      says: [`${flag} is "${value}"`, allowed],
    }),
  ),
  {
    name: 'an unknown fault',
    args: ['sandbox', '--faults', 'typo=1'],
    code: 'usage',
    says: ['--faults', 'typo', '429'],
  },
  {
    name: 'a fault without a number',
    args: ['sandbox', '--faults', '500=often'],
    code: 'usage',
    says: ['--faults', 'often'],
  },
  {
    name: 'a port in use',
    args: ['sandbox', '--port', 'PORT'],
    code: 'usage',
    says: ['--port PORT is in use', 'free port'],
  },
];

testBadInput([...keys, ...urls, ...flags, ...files, ...folders, ...sandboxes]);
