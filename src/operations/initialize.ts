import { dirname } from 'node:path';
import type { Clock } from '../base/clock.ts';
import { loadConfig, type WorkspaceConfig } from '../base/config/config.ts';
import { readSecret } from '../base/config/key-file.ts';
import { checkWorkspaceName, DEFAULT_WORKSPACE } from '../base/config/workspace-names.ts';
import { SightlineError, toSightlineError } from '../base/errors.ts';
import type { Context } from '../session/workspace.ts';
import { type ConnectionTest, meantBy, testConnection } from './connection-test.ts';
import { adviceOn, isAboutAnswers, wantsOtherKey } from './init-advice.ts';
import { type PricedPlan, priceWorkspace } from './plan.ts';
import { ENV_FILE, keyInFile, locationOf, type Place, writeSettings } from './setup.ts';

/** Attempts of an interactive setup. */
const ROUNDS_MAX = 10;

/** Questions to the user. */
export interface SetupQuestions {
  baseUrl(standard: string | undefined): Promise<string>;
  /** Returns '' to keep the known key. */
  key(keyVariable: string, isKnown: boolean): Promise<string>;
  /** Whether to replace another key. `what` describes the conflict. */
  replace(what: string): Promise<boolean>;
  estimate(): Promise<boolean>;
}

/** Input of a setup; null for values that are asked or taken from the existing settings. */
export interface InitOptions {
  /** Null selects the workspace of the environment. */
  readonly workspace: string | null;
  readonly baseUrl: string | null;
  readonly key: string | null;
  readonly dataDir: string | null;
  readonly budgetShare: number | null;
  /** Whether to replace an existing key. */
  readonly force: boolean;
  /** Whether to estimate the requests of the first sync. */
  readonly plan: boolean;
  /** The user's current directory and environment. */
  readonly folder: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
}

/** Surroundings of a setup. */
export interface InitParts {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Null without a terminal. */
  readonly questions: SetupQuestions | null;
  /** Called with the error of a request if the user is asked again. */
  onRetry(error: SightlineError): void;
  /** Called with the base URL if it differs from the given one, and then with the successful request. */
  onTested(trial: ConnectionTest, isOtherUrl: boolean): void;
  /** Called after the settings are written. */
  onWritten(written: WrittenSettings): void;
  /** Opens the workspace with the new settings. */
  open(workspace: string): Context;
}

/** Changed files of the settings. */
export interface WrittenSettings {
  readonly files: readonly string[];
  /** A variable of the environment that overrides the written key; null if there is none. */
  readonly overriddenBy: string | null;
}

/** Result of a setup. `plan` is null if it was not requested, or an error. */
export interface Initialized extends ConnectionTest {
  readonly workspace: string;
  readonly written: readonly string[];
  readonly plan: Pick<PricedPlan, 'requests' | 'least' | 'most' | 'minutes'> | SightlineError | null;
}

/**
 * Tests the base URL and the key of a workspace with a request, writes the settings, and estimates the first sync. Asks for
 * missing values if there are questions.
 *
 * @throws the errors of the request, with advice; `usage` for missing values and for another key that `force` does not replace;
 * and those of `writeSettings`.
 */
export async function initializeWorkspace(options: InitOptions, parts: InitParts): Promise<Initialized> {
  const { folder, environment, dataDir, budgetShare, force } = options;
  const workspace = options.workspace ?? (environment['SIGHTLINE_WORKSPACE'] || DEFAULT_WORKSPACE);
  checkWorkspaceName(workspace);
  const place = locationOf(folder, workspace, environment);
  const known = readSecret(place.keyVariable, environment, folder);
  // An API key in a separate file (`..._FILE`) is not written anywhere else.
  const isInOtherFile = known !== environment[place.keyVariable];
  const setup = { options, parts, place };
  const { trial, key } = await findUpstream(setup, known);
  if (!isInOtherFile) await checkReplacement(setup, key);
  else if (key !== known) throw otherKeyFile(place);
  const files = await writeSettings(folder, place, {
    baseUrl: trial.baseUrl,
    key: isInOtherFile ? null : key,
    dataDir,
    dataFolder: dirname(configFor(setup, trial.baseUrl, key).folder),
    budgetShare,
    force,
  });
  const own = environment[place.keyVariable];
  parts.onWritten({ files, overriddenBy: own === undefined || own.trim() === key ? null : place.keyVariable });
  const wantsPlan = options.plan && (parts.questions === null || (await parts.questions.estimate()));
  return { workspace, ...trial, written: files, plan: wantsPlan ? await estimate(workspace, parts) : null };
}

interface Setup {
  readonly options: InitOptions;
  readonly parts: InitParts;
  readonly place: Place;
}

// Asks until a request succeeds. Without questions it throws the first error.
async function findUpstream(setup: Setup, known: string | undefined): Promise<{ trial: ConnectionTest; key: string }> {
  const { options, parts, place } = setup;
  const { questions, signal, clock } = parts;
  let address = options.baseUrl ?? (questions === null ? place.baseUrl : undefined);
  let key = options.key ?? (questions === null ? known : undefined);
  for (let round = 1; ; round += 1) {
    address ??= await questions?.baseUrl(place.baseUrl);
    if (questions !== null) key ??= await askKey(questions, place, round === 1 ? known : undefined);
    if (address === undefined || key === undefined) throw missingInput(address, place);
    const given = key.trim();
    try {
      const trial = await testConnection(meantBy(address), (url) => configFor(setup, url, given), clock, signal);
      parts.onTested(trial, trial.baseUrl !== address);
      return { trial, key: given };
    } catch (thrown) {
      signal.throwIfAborted();
      const error = toSightlineError(thrown);
      if (questions === null || round >= ROUNDS_MAX || !isAboutAnswers(error)) throw advised(error);
      parts.onRetry(error);
      if (wantsOtherKey(error)) key = undefined;
      else address = undefined;
    }
  }
}

async function askKey(questions: SetupQuestions, { keyVariable }: Place, known: string | undefined): Promise<string> {
  const key = await questions.key(keyVariable, known !== undefined);
  return key === '' && known !== undefined ? known : key;
}

// A new workspace is not in the configuration file yet, so its settings are tested as those of the default workspace.
function configFor({ options, place }: Setup, baseUrl: string, key: string): WorkspaceConfig {
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

function advised(error: SightlineError): SightlineError {
  if (error.code === 'config_invalid' || !isAboutAnswers(error)) return error;
  return new SightlineError(error.code, `${error.message.replace(/\.$/, '')}. ${adviceOn(error)}`, { cause: error });
}

function otherKeyFile({ keyVariable }: Place): SightlineError {
  const message = `${keyVariable}_FILE names a file with another key; nothing was written. Change that file or unset the variable`;
  return new SightlineError('usage', message);
}

async function checkReplacement({ options, parts, place }: Setup, key: string): Promise<void> {
  const there = keyInFile(options.folder, place.keyVariable);
  if (there === undefined || there === key || options.force) return;
  const what = `${ENV_FILE} sets ${place.keyVariable} to another key`;
  if (parts.questions !== null && (await parts.questions.replace(what))) return;
  throw new SightlineError('usage', `${what}; nothing was written. --force replaces it`);
}

// Returns an error of the estimate, because it does not fail the setup.
async function estimate(workspace: string, { open, signal }: InitParts): Promise<Initialized['plan']> {
  try {
    const options = { only: null, range: null, brands: null, full: false };
    const { requests, least, most, minutes, error } = await priceWorkspace(open(workspace), options, false);
    return error ?? { requests, least, most, minutes };
  } catch (thrown) {
    signal.throwIfAborted();
    return toSightlineError(thrown);
  }
}
