import { dirname } from 'node:path';
import type { Clock } from '../base/clock.ts';
import { loadConfig, type WorkspaceConfig } from '../base/config/config.ts';
import { readSecret } from '../base/config/key-file.ts';
import { checkWorkspaceName, DEFAULT_WORKSPACE } from '../base/config/workspace-names.ts';
import { SightlineError, toSightlineError } from '../base/errors.ts';
import type { Context } from '../workspace/workspace.ts';
import { type ConnectionTest, meantBy, testConnection } from './connection-test.ts';
import { withAdvice } from './init-advice.ts';
import { type PricedPlan, priceWorkspace } from './plan.ts';
import { ENV_FILE, keyInFile, locationOf, type Place, writeSettings } from './setup.ts';

/** Input of a setup; null for values that are taken from the existing settings. */
export interface InitOptions {
  /** Null selects the workspace of the environment. */
  readonly workspace: string | null;
  readonly baseUrl: string | null;
  readonly key: string | null;
  readonly dataDir: string | null;
  readonly budgetShare: number | null;
  /** Whether to replace an existing key. */
  readonly force: boolean;
  /** The user's current directory and environment. */
  readonly folder: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
}

/** Surroundings of a setup. */
export interface InitParts {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Returns whether to replace another key. `what` describes the conflict. */
  replace(what: string): Promise<boolean>;
}

/** Result of a setup. */
export interface Initialized extends ConnectionTest {
  readonly workspace: string;
  /** Names of the changed files. */
  readonly written: readonly string[];
  /** A variable of the environment that overrides the written key; null if there is none. */
  readonly overriddenBy: string | null;
}

/** Requests and minutes of a first sync. */
export type FirstSyncEstimate = Pick<PricedPlan, 'requests' | 'least' | 'most' | 'minutes'>;

/** The settings of a workspace before its setup. Throws `config_invalid`. */
export function knownSettings({
  workspace,
  folder,
  environment,
}: Pick<InitOptions, 'workspace' | 'folder' | 'environment'>): {
  readonly place: Place;
  readonly key: string | undefined;
} {
  const name = workspace ?? (environment['SIGHTLINE_WORKSPACE'] || DEFAULT_WORKSPACE);
  checkWorkspaceName(name);
  const place = locationOf(folder, name, environment);
  return { place, key: readSecret(place.keyVariable, environment, folder) };
}

/**
 * Tests the base URL and the key of a workspace with a request, and writes the settings.
 *
 * @throws the error of the request, with advice as its hint and `baseUrl` or `key` as its parameter if another value may fix it;
 * `usage` for missing values and for another key that is not replaced; and the errors of `writeSettings`.
 */
export async function initializeWorkspace(options: InitOptions, parts: InitParts): Promise<Initialized> {
  const { folder, environment, dataDir, budgetShare, force } = options;
  const { place, key: known } = knownSettings(options);
  // An API key in a separate file (`..._FILE`) is not written anywhere else.
  const isInOtherFile = known !== environment[place.keyVariable];
  const address = options.baseUrl ?? place.baseUrl;
  const key = (options.key ?? known)?.trim();
  if (address === undefined || key === undefined) throw missingInput(address, place);
  const configure = (url: string): WorkspaceConfig => configFor(options, place, url, key);
  const trial = await testConnection(meantBy(address), configure, parts.clock, parts.signal).catch((thrown) => {
    parts.signal.throwIfAborted();
    throw withAdvice(toSightlineError(thrown));
  });
  if (!isInOtherFile) await checkReplacement(options, parts, place, key);
  else if (key !== known) throw otherKeyFile(place);
  const written = await writeSettings(folder, place, {
    baseUrl: trial.baseUrl,
    key: isInOtherFile ? null : key,
    dataDir,
    dataFolder: dirname(configure(trial.baseUrl).folder),
    budgetShare,
    force,
  });
  const own = environment[place.keyVariable];
  const overriddenBy = own === undefined || own.trim() === key ? null : place.keyVariable;
  return { workspace: place.workspace, ...trial, written, overriddenBy };
}

/** Estimates the first sync of a workspace. Throws the errors of its requests. */
export async function estimateFirstSync(context: Context): Promise<FirstSyncEstimate> {
  const options = { only: null, range: null, brands: null, full: false };
  const { requests, least, most, minutes, error } = await priceWorkspace(context, options, false);
  if (error !== null) throw error;
  return { requests, least, most, minutes };
}

// A new workspace is not in the configuration file yet, so its settings are tested as those of the default workspace.
function configFor(options: InitOptions, place: Place, baseUrl: string, key: string): WorkspaceConfig {
  const { folder, environment, dataDir, budgetShare } = options;
  const share = budgetShare === null ? {} : { SIGHTLINE_BUDGET_SHARE: String(budgetShare) };
  const workspace = place.isInFile && place.baseUrl === undefined ? DEFAULT_WORKSPACE : place.workspace;
  const { keyVariable } = locationOf(folder, workspace, environment);
  const own = { [keyVariable]: key, [`${keyVariable}_FILE`]: '', ...share };
  const flags = { workspace, baseUrl, ...(dataDir === null ? {} : { dataDir }) };
  return loadConfig({ flags, environment: { ...environment, ...own }, folder, isNew: true });
}

function missingInput(address: string | undefined, { keyVariable }: Place): SightlineError {
  const missing = address === undefined ? 'the base URL' : 'the key';
  const message = `${missing} is missing, and there is no terminal to ask for it; allowed: --base-url, and the key with --key-stdin or in ${keyVariable}`;
  return new SightlineError('usage', message);
}

function otherKeyFile({ keyVariable }: Place): SightlineError {
  const message = `${keyVariable}_FILE names a file with another key; nothing was written. Change that file or unset the variable`;
  return new SightlineError('usage', message);
}

async function checkReplacement(
  { folder, force }: InitOptions,
  { replace }: InitParts,
  { keyVariable }: Place,
  key: string,
): Promise<void> {
  const there = keyInFile(folder, keyVariable);
  if (there === undefined || there === key || force) return;
  const what = `${ENV_FILE} sets ${keyVariable} to another key`;
  if (await replace(what)) return;
  throw new SightlineError('usage', `${what}; nothing was written. --force replaces it`);
}
