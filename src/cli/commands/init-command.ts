import { dirname } from 'node:path';
import { systemClock } from '../../base/clock.ts';
import { checkWorkspaceName, DEFAULT_WORKSPACE, loadConfig, type WorkspaceConfig } from '../../base/config/config.ts';
import { readSecret } from '../../base/config/key-file.ts';
import { EXIT, SightlineError, toSightlineError } from '../../base/errors.ts';
import { type ConnectionTest, meantBy, testConnection } from '../../operations/connection-test.ts';
import { type PricedPlan, priceWorkspace } from '../../operations/plan.ts';
import { ENV_FILE, keyInFile, locationOf, type Place, type Settings, writeSettings } from '../../operations/setup.ts';
import { commandContext, readSurroundings, type WorkspaceFlags } from '../context.ts';
import { adviceOn, isAboutAnswers, wantsOtherKey } from '../output/init-advice.ts';
import { count, duration, plural, printData, reportError, say } from '../output/output.ts';
import { canAsk, openPrompt, type Prompt } from '../output/prompt.ts';

/** Attempts of an interactive setup. */
const ROUNDS_MAX = 10;
/** Longest API key that is read from standard input. */
const KEY_BYTES_MAX = 4_096;
/** Brands that are listed by name. */
const BRANDS_NAMED_MAX = 8;

/** Flags of `init`. */
export interface InitFlags extends WorkspaceFlags {
  readonly keyStdin?: boolean;
  readonly budgetShare?: string;
  readonly force?: boolean;
  readonly yes?: boolean;
  readonly plan: boolean;
}

/** Inputs of a setup. `prompt` is null without a terminal. */
interface Setup {
  readonly flags: InitFlags;
  readonly place: Place;
  readonly budgetShare: number | null;
  readonly prompt: Prompt | null;
  readonly signal: AbortSignal;
}

/** Runs `sightline init` and returns its exit code. Asks for the base URL and API key, tests them and writes the settings. */
export async function init(flags: InitFlags, signal: AbortSignal): Promise<number> {
  const { folder, environment } = readSurroundings();
  const workspace = flags.workspace ?? (environment['SIGHTLINE_WORKSPACE'] || DEFAULT_WORKSPACE);
  checkWorkspaceName(workspace);
  const place = locationOf(folder, workspace, environment);
  const budgetShare = flags.budgetShare === undefined ? null : toShare(flags.budgetShare);
  const kept = readSecret(place.keyVariable, environment, folder);
  // An API key in a separate file (`..._FILE`) is not written anywhere else.
  const isInOtherFile = kept !== environment[place.keyVariable];
  const asks = flags.yes !== true && canAsk();
  const given = flags.keyStdin === true && process.stdin.isTTY !== true ? await readKey(signal) : undefined;
  const prompt = asks ? openPrompt(signal) : null;
  const setup = { flags, place, budgetShare, prompt, signal };
  try {
    const { trial, key } = await findUpstream(setup, given, kept);
    if (flags.json !== true) describe(trial);
    if (!isInOtherFile) await checkReplacement(setup, folder, key);
    else if (key !== kept) throw otherKeyFile(place);
    const dataFolder = dirname(configFor(setup, trial.baseUrl, key).folder);
    const settings: Settings = {
      baseUrl: trial.baseUrl,
      key: isInOtherFile ? null : key,
      dataDir: flags.dataDir ?? null,
      dataFolder,
      budgetShare,
      force: flags.force === true,
    };
    const written = await writeSettings(folder, place, settings);
    sayWritten(written, place, key);
    const wantsPlan =
      flags.plan && (prompt === null || (await prompt.askWhether('Estimate the requests of the first sync?', true)));
    const plan = wantsPlan ? await estimate(flags, workspace, signal) : null;
    if (flags.json === true) printData(JSON.stringify({ workspace, ...trial, written, plan }));
    else sayNext(workspace);
    return EXIT.done;
  } finally {
    prompt?.close();
  }
}

// Asks until a request succeeds. Without a terminal it throws the first error.
async function findUpstream(
  setup: Setup,
  given: string | undefined,
  known: string | undefined,
): Promise<{ trial: ConnectionTest; key: string }> {
  const { flags, place, prompt } = setup;
  let address = flags.baseUrl ?? (prompt === null ? place.baseUrl : undefined);
  let key = given ?? (prompt === null ? known : undefined);
  for (let round = 1; ; round += 1) {
    address ??= await prompt?.ask('Root of the API, such as https://api.example.com/v1', place.baseUrl);
    if (prompt !== null) key ??= await askKey(prompt, place, round === 1 ? known : undefined);
    if (address === undefined || key === undefined) throw missingInput(address, place);
    try {
      const trial = await testConnection(
        meantBy(address),
        (baseUrl) => configFor(setup, baseUrl, (key ?? '').trim()),
        systemClock,
        setup.signal,
      );
      if (trial.baseUrl !== address) say(`Using ${trial.baseUrl}.`);
      return { trial, key: key.trim() };
    } catch (thrown) {
      setup.signal.throwIfAborted();
      const error = toSightlineError(thrown);
      if (prompt === null || round >= ROUNDS_MAX || !isAboutAnswers(error)) throw advised(error);
      say(`${error.message}\n${adviceOn(error)}\n`);
      if (wantsOtherKey(error)) key = undefined;
      else address = undefined;
    }
  }
}

async function askKey(prompt: Prompt, { keyVariable }: Place, known: string | undefined): Promise<string> {
  const keeping = known === undefined ? '' : `, or Enter to keep the one in ${keyVariable}`;
  const key = await prompt.askHidden(`Key of the workspace, gsk_...${keeping}`);
  return key === '' && known !== undefined ? known : key;
}

// A new workspace is not in the configuration file yet, so its settings are tested as those of the default workspace.
function configFor({ flags, place, budgetShare }: Setup, baseUrl: string, key: string): WorkspaceConfig {
  const { folder, environment } = readSurroundings();
  const dataDir = flags.dataDir === undefined ? {} : { dataDir: flags.dataDir };
  const share = budgetShare === null ? {} : { SIGHTLINE_BUDGET_SHARE: String(budgetShare) };
  const workspace = place.isInFile && place.baseUrl === undefined ? DEFAULT_WORKSPACE : place.workspace;
  const { keyVariable } = locationOf(folder, workspace, environment);
  const own = { [keyVariable]: key, [`${keyVariable}_FILE`]: '', ...share };
  const ownFlags = { workspace, baseUrl, ...dataDir };
  return loadConfig({ flags: ownFlags, environment: { ...environment, ...own }, folder });
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

function toShare(text: string): number {
  const share = text.trim() === '' ? Number.NaN : Number(text);
  if (share > 0 && share <= 1) return share;
  throw new SightlineError('usage', `--budget-share is ${JSON.stringify(text)}; allowed: a number above 0, at most 1`);
}

async function checkReplacement({ flags, place, prompt }: Setup, folder: string, key: string): Promise<void> {
  const there = keyInFile(folder, place.keyVariable);
  if (there === undefined || there === key || flags.force === true) return;
  const what = `${ENV_FILE} sets ${place.keyVariable} to another key`;
  if (prompt !== null && (await prompt.askWhether(`${what}. Replace it?`, false))) return;
  throw new SightlineError('usage', `${what}; nothing was written. --force replaces it`);
}

function describe({ brands, rateLimit }: ConnectionTest): void {
  const named = brands.slice(0, BRANDS_NAMED_MAX).join(', ');
  const more = brands.length - BRANDS_NAMED_MAX;
  const others = more > 0 ? ` and ${plural(more, 'more')}` : '';
  say(
    brands.length === 0
      ? 'The key is valid; the workspace has no brands yet.'
      : `The key is valid. Brands: ${named}${others}.`,
  );
  say(`The plan is active; ${count(rateLimit)} requests per minute are allowed.`);
}

function sayWritten(written: readonly string[], { keyVariable }: Place, key: string): void {
  say(written.length === 0 ? 'The settings are unchanged.' : `Written: ${written.join(', ')}.`);
  const { environment } = readSurroundings();
  if (environment[keyVariable] !== undefined && environment[keyVariable].trim() !== key) {
    say(
      `The environment has another key in ${keyVariable}, which overrides ${ENV_FILE}: remove it from the environment.`,
    );
  }
}

// An error of the estimate is printed but does not fail the setup.
async function estimate(
  flags: InitFlags,
  workspace: string,
  signal: AbortSignal,
): Promise<Pick<PricedPlan, 'requests' | 'minutes'> | null> {
  try {
    const dataDir = flags.dataDir === undefined ? {} : { dataDir: flags.dataDir };
    const context = commandContext('init', { workspace, ...dataDir }, signal);
    const options = { only: null, range: null, brands: null, full: false };
    const { requests, minutes, error } = await priceWorkspace(context, options, false);
    if (error !== null) throw error;
    const time = minutes === 0 ? 'less than a minute' : `about ${duration(minutes * 60_000)}`;
    // The estimate cannot include brands and prompts that are not known before the first sync.
    say(`The first sync will take at least ${plural(requests, 'request')}, ${time}.`);
    return { requests, minutes };
  } catch (thrown) {
    signal.throwIfAborted();
    say('The settings are written, but the first sync cannot be estimated yet:');
    reportError(toSightlineError(thrown), false);
    return null;
  }
}

function sayNext(workspace: string): void {
  const there = workspace === DEFAULT_WORKSPACE ? '' : ` --workspace ${workspace}`;
  say(`
Next:
  npx sightline sync${there}      copies the API's data; you can stop it at any time, and the next run resumes
  npx sightline status${there}    shows freshness and gaps of the copy
  npx sightline serve${there}     syncs every night and serves the API from the copy`);
}

async function readKey(signal: AbortSignal): Promise<string> {
  let text = '';
  for await (const chunk of process.stdin) {
    signal.throwIfAborted();
    text += String(chunk);
    if (text.length > KEY_BYTES_MAX) break;
  }
  const key = text.trim();
  if (key !== '' && key.length <= KEY_BYTES_MAX) return key;
  throw new SightlineError(
    'usage',
    '--key-stdin: standard input has no key; allowed: the key alone, which begins with gsk_',
  );
}
