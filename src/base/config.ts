import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseEnv } from 'node:util';
import { z } from 'zod';
import { SightlineError } from './errors.ts';

/** File with more settings than the environment can carry, in the folder where sightline is started. */
export const CONFIG_FILE = 'sightline.config.json';

/** The workspace that the environment describes. */
export const DEFAULT_WORKSPACE = 'default';

/** The workspace that the demo makes. */
export const DEMO_WORKSPACE = 'demo';

const keyHeaders = ['authorization', 'x-api-key'] as const;
const compressions = ['snappy', 'zstd'] as const;

/** One workspace's settings, checked. */
export interface WorkspaceConfig {
  readonly name: string;
  /** Folder that holds the warehouse and all that is made of it. */
  readonly folder: string;
  /** Part of the key's rate limit that may be used, in (0, 1]. */
  readonly budgetShare: number;
  /** Chains of pages read side by side. */
  readonly connections: number;
  readonly compression: (typeof compressions)[number];
  /** How to reach upstream; throws `config_invalid` when that is not set. */
  upstream(): UpstreamConfig;
}

/** How to reach a workspace's upstream. */
export interface UpstreamConfig {
  /** Root of the versioned API, without a slash at its end. */
  readonly baseUrl: string;
  readonly key: string;
  readonly keyHeader: (typeof keyHeaders)[number];
}

/** Where settings come from; flags beat the environment, which beats the file, which beats defaults. */
export interface ConfigSources {
  readonly flags: { readonly workspace?: string; readonly dataDir?: string; readonly baseUrl?: string };
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly folder: string;
}

const share = z.number().gt(0).lte(1);
const connections = z.int().min(1).max(64);
const common = {
  keyHeader: z.enum(keyHeaders).optional(),
  budgetShare: share.optional(),
  connections: connections.optional(),
  compression: z.enum(compressions).optional(),
};
const workspaceName = z.string().regex(/^[a-z0-9][a-z0-9_-]{0,63}$/);
const fileSchema = z.strictObject({
  ...common,
  dataDir: z.string().min(1).optional(),
  workspaces: z
    .record(workspaceName, z.strictObject({ ...common, baseUrl: z.string(), apiKeyVariable: z.string().min(1) }))
    .optional(),
});

type FileConfig = z.infer<typeof fileSchema>;

/** The process's environment over what `.env` says; the one place where it is read. */
export function readEnvironment(folder: string): Record<string, string | undefined> {
  return { ...parseEnv(readText(join(folder, '.env')) ?? ''), ...process.env };
}

/** Reads and checks the settings of one workspace. Throws `config_invalid` with the setting's name and what is allowed. */
export function loadConfig({ flags, environment, folder }: ConfigSources): WorkspaceConfig {
  const file = readFile(folder);
  const name = chooseWorkspace(flags.workspace, environment, file);
  const declared = file.workspaces?.[name];
  const setting = <T>(variable: string, parse: (text: string) => T, key: keyof typeof common): T | undefined => {
    const text = environment[variable];
    if (text !== undefined && text !== '') return parse(text);
    return (declared?.[key] ?? file[key]) as T | undefined;
  };
  const dataDir = flags.dataDir ?? nonEmpty(environment['SIGHTLINE_DATA_DIR']) ?? file.dataDir ?? 'data';
  return {
    name,
    folder: join(resolve(folder, dataDir), name),
    budgetShare:
      setting(
        'SIGHTLINE_BUDGET_SHARE',
        numberIn('SIGHTLINE_BUDGET_SHARE', share, 'above 0, at most 1'),
        'budgetShare',
      ) ?? 1,
    connections:
      setting(
        'SIGHTLINE_CONNECTIONS',
        numberIn('SIGHTLINE_CONNECTIONS', connections, 'a whole number from 1 to 64'),
        'connections',
      ) ?? 8,
    compression:
      setting('SIGHTLINE_COMPRESSION', oneOf('SIGHTLINE_COMPRESSION', compressions), 'compression') ?? 'snappy',
    upstream: () => {
      const variable = declared?.apiKeyVariable ?? 'SIGHTLINE_API_KEY';
      const urlName = declared === undefined ? 'SIGHTLINE_BASE_URL' : `workspaces.${name}.baseUrl`;
      const baseUrl = flags.baseUrl ?? declared?.baseUrl ?? nonEmpty(environment['SIGHTLINE_BASE_URL']);
      const allowHttp = environment['SIGHTLINE_ALLOW_HTTP'] === '1';
      return {
        baseUrl: checkBaseUrl(flags.baseUrl === undefined ? urlName : '--base-url', baseUrl, allowHttp),
        key: checkKey(variable, environment[variable]),
        keyHeader:
          setting('SIGHTLINE_KEY_HEADER', oneOf('SIGHTLINE_KEY_HEADER', keyHeaders), 'keyHeader') ?? 'authorization',
      };
    },
  };
}

function chooseWorkspace(
  flag: string | undefined,
  environment: ConfigSources['environment'],
  file: FileConfig,
): string {
  const known = Object.keys(file.workspaces ?? {});
  const wanted = flag ?? nonEmpty(environment['SIGHTLINE_WORKSPACE']);
  if (wanted === undefined) {
    if (known.length === 0 || nonEmpty(environment['SIGHTLINE_BASE_URL']) !== undefined) return DEFAULT_WORKSPACE;
    if (known.length === 1) return known[0] as string;
    throw invalid('--workspace', undefined, `one of ${known.join(', ')}`);
  }
  if (!workspaceName.safeParse(wanted).success) {
    throw invalid('--workspace', wanted, 'lower-case letters, digits, - and _, at most 64');
  }
  const allowed = [...known, DEFAULT_WORKSPACE, DEMO_WORKSPACE];
  if (known.length > 0 && !allowed.includes(wanted)) {
    throw invalid('--workspace', wanted, `one of ${allowed.join(', ')}`);
  }
  return wanted;
}

function readFile(folder: string): FileConfig {
  const path = join(folder, CONFIG_FILE);
  const text = readText(path);
  if (text === undefined) return {};
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (thrown) {
    throw new SightlineError('config_invalid', `${path} is not JSON: ${(thrown as Error).message}`);
  }
  const parsed = fileSchema.safeParse(json);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new SightlineError('config_invalid', `${path}: ${issue?.path.join('.') || 'the file'}: ${issue?.message}`);
}

function readText(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (thrown) {
    const { code } = thrown as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    throw new SightlineError('config_invalid', `cannot read ${path} (${code})`, { cause: thrown });
  }
}

function checkBaseUrl(name: string, value: string | undefined, allowHttp: boolean): string {
  const allowed = 'the https address of the versioned API, such as https://api.example.com/v1';
  if (value === undefined) throw invalid(name, undefined, allowed);
  let url: URL;
  try {
    url = new URL(value);
  } catch {
    throw invalid(name, value, allowed);
  }
  if (url.username !== '' || url.password !== '') {
    throw new SightlineError('config_invalid', `${name} holds a user name or password; the key goes into its variable`);
  }
  const loopback = /^(localhost|127(\.\d+){3}|\[::1\])$/.test(url.hostname);
  if (url.protocol !== 'https:' && !(url.protocol === 'http:' && (loopback || allowHttp))) {
    throw invalid(name, value, `${allowed}; http only on loopback, or with SIGHTLINE_ALLOW_HTTP=1`);
  }
  if (url.search !== '' || url.hash !== '') throw invalid(name, value, `${allowed}, without a query or fragment`);
  return url.href.replace(/\/+$/, '');
}

// A wrong key is not shown: it may be a right one for something else.
function checkKey(name: string, value: string | undefined): string {
  const allowed = 'an API key of the workspace; it begins with gsk_';
  if (value === undefined || value.trim() === '') throw invalid(name, undefined, allowed);
  if (!/^gsk_[\x21-\x7e]+$/.test(value.trim())) {
    throw new SightlineError('config_invalid', `${name} is not an API key; allowed: ${allowed}, without spaces`);
  }
  return value.trim();
}

function numberIn(name: string, schema: z.ZodType<number>, allowed: string): (text: string) => number {
  return (text) => {
    const parsed = schema.safeParse(Number(text));
    if (!parsed.success) throw invalid(name, text, allowed);
    return parsed.data;
  };
}

function oneOf<T extends string>(name: string, values: readonly T[]): (text: string) => T {
  return (text) => {
    const found = values.find((value) => value === text.toLowerCase());
    if (found === undefined) throw invalid(name, text, values.join(' or '));
    return found;
  };
}

function nonEmpty(text: string | undefined): string | undefined {
  return text === undefined || text === '' ? undefined : text;
}

function invalid(name: string, value: string | undefined, allowed: string): SightlineError {
  const given = value === undefined ? 'is not set' : `is ${JSON.stringify(value)}`;
  return new SightlineError('config_invalid', `${name} ${given}; allowed: ${allowed}`);
}
