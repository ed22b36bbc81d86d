import { dirname } from 'node:path';
import { type PricedPlan, priceWorkspace } from '../../app/plan.ts';
import { ENV_FILE, keyInFile, type Place, placeOf, type Settings, writeSettings } from '../../app/setup.ts';
import { meantBy, type Trial, tryUpstream } from '../../app/trial.ts';
import { systemClock } from '../../base/clock.ts';
import { checkWorkspaceName, DEFAULT_WORKSPACE, loadConfig, type WorkspaceConfig } from '../../base/config.ts';
import { EXIT, SightlineError, toSightlineError } from '../../base/errors.ts';
import { readSecret } from '../../base/key-file.ts';
import { commandContext, readSurroundings, type WorkspaceFlags } from '../context.ts';
import { adviceOn, isAboutAnswers, wantsOtherKey } from '../init-advice.ts';
import { count, duration, plural, printData, reportError, say } from '../output.ts';
import { canAsk, openPrompt, type Prompt } from '../prompt.ts';

/** How often a person is asked again. */
const ROUNDS_MAX = 10;
/** Longest text on standard input that can be a key. */
const KEY_BYTES_MAX = 4_096;
/** Brands that are named; of the others it is said how many they are. */
const BRANDS_NAMED_MAX = 8;

/** Flags of `init`. */
export interface InitFlags extends WorkspaceFlags {
  readonly keyStdin?: boolean;
  readonly budgetShare?: string;
  readonly force?: boolean;
  readonly yes?: boolean;
  readonly plan: boolean;
}

/** What a setup goes by. */
interface Setup {
  readonly flags: InitFlags;
  readonly place: Place;
  readonly budgetShare: number | null;
  readonly prompt: Prompt | null;
  readonly signal: AbortSignal;
}

/** Runs `sightline init`: asks for an address and a key, tries them, and writes the settings; returns its exit code. */
export async function init(flags: InitFlags, signal: AbortSignal): Promise<number> {
  const { folder, environment } = readSurroundings();
  const workspace = flags.workspace ?? (environment['SIGHTLINE_WORKSPACE'] || DEFAULT_WORKSPACE);
  checkWorkspaceName(workspace);
  const place = placeOf(folder, workspace, environment);
  const budgetShare = flags.budgetShare === undefined ? null : toShare(flags.budgetShare);
  const kept = readSecret(place.keyVariable, environment, folder);
  // Whoever keeps the key in a file of its own wants it nowhere else.
  const isKeptElsewhere = kept !== environment[place.keyVariable];
  const asks = flags.yes !== true && canAsk();
  const given = flags.keyStdin === true && process.stdin.isTTY !== true ? await readKey(signal) : undefined;
  const prompt = asks ? openPrompt(signal) : null;
  const setup = { flags, place, budgetShare, prompt, signal };
  try {
    const { trial, key } = await findUpstream(setup, given, kept);
    if (flags.json !== true) describe(trial);
    if (!isKeptElsewhere) await mayReplaceKey(setup, folder, key);
    else if (key !== kept) throw keptElsewhere(place);
    const dataFolder = dirname(configFor(setup, trial.baseUrl, key).folder);
    const settings: Settings = {
      baseUrl: trial.baseUrl,
      key: isKeptElsewhere ? null : key,
      dataDir: flags.dataDir ?? null,
      dataFolder,
      budgetShare,
      force: flags.force === true,
    };
    const written = await writeSettings(folder, place, settings);
    tellWritten(written, place, key);
    const wantsPlan =
      flags.plan && (prompt === null || (await prompt.askWhether('See what the first sync will cost?', true)));
    const plan = wantsPlan ? await price(flags, workspace, signal) : null;
    if (flags.json === true) printData(JSON.stringify({ workspace, ...trial, written, plan }));
    else sayNext(workspace);
    return EXIT.done;
  } finally {
    prompt?.close();
  }
}

// Asks until something answers; throws what went wrong where there is nobody to ask.
async function findUpstream(
  setup: Setup,
  given: string | undefined,
  known: string | undefined,
): Promise<{ trial: Trial; key: string }> {
  const { flags, place, prompt } = setup;
  let address = flags.baseUrl ?? (prompt === null ? place.baseUrl : undefined);
  let key = given ?? (prompt === null ? known : undefined);
  for (let round = 1; ; round += 1) {
    address ??= await prompt?.ask('Root of the API, such as https://api.example.com/v1', place.baseUrl);
    if (prompt !== null) key ??= await askKey(prompt, place, round === 1 ? known : undefined);
    if (address === undefined || key === undefined) throw nobodyToAsk(address, place);
    try {
      const trial = await tryUpstream(
        meantBy(address),
        (baseUrl) => configFor(setup, baseUrl, (key ?? '').trim()),
        systemClock,
        setup.signal,
      );
      if (trial.baseUrl !== address) say(`Taken as ${trial.baseUrl}.`);
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
  const keeping = known === undefined ? '' : `, or Enter for the one of ${keyVariable}`;
  const key = await prompt.askHidden(`Key of the workspace, gsk_...${keeping}`);
  return key === '' && known !== undefined ? known : key;
}

// One that is not in the file yet is tried as the workspace that needs no file.
function configFor({ flags, place, budgetShare }: Setup, baseUrl: string, key: string): WorkspaceConfig {
  const { folder, environment } = readSurroundings();
  const dataDir = flags.dataDir === undefined ? {} : { dataDir: flags.dataDir };
  const share = budgetShare === null ? {} : { SIGHTLINE_BUDGET_SHARE: String(budgetShare) };
  const workspace = place.isInFile && place.baseUrl === undefined ? DEFAULT_WORKSPACE : place.workspace;
  const { keyVariable } = placeOf(folder, workspace, environment);
  const own = { [keyVariable]: key, [`${keyVariable}_FILE`]: '', ...share };
  const ownFlags = { workspace, baseUrl, ...dataDir };
  return loadConfig({ flags: ownFlags, environment: { ...environment, ...own }, folder });
}

function nobodyToAsk(address: string | undefined, { keyVariable }: Place): SightlineError {
  const missing = address === undefined ? 'the address' : 'the key';
  const message = `${missing} is not given, and nobody can be asked; allowed: --base-url, and the key with --key-stdin or in ${keyVariable}`;
  return new SightlineError('usage', message);
}

function advised(error: SightlineError): SightlineError {
  if (error.code === 'config_invalid' || !isAboutAnswers(error)) return error;
  return new SightlineError(error.code, `${error.message.replace(/\.$/, '')}. ${adviceOn(error)}`, { cause: error });
}

function keptElsewhere({ keyVariable }: Place): SightlineError {
  const message = `${keyVariable}_FILE names the file of another key; change that one, or unset the variable; nothing was written`;
  return new SightlineError('usage', message);
}

function toShare(text: string): number {
  const share = text.trim() === '' ? Number.NaN : Number(text);
  if (share > 0 && share <= 1) return share;
  throw new SightlineError('usage', `--budget-share is ${JSON.stringify(text)}; allowed: above 0, at most 1`);
}

async function mayReplaceKey({ flags, place, prompt }: Setup, folder: string, key: string): Promise<void> {
  const there = keyInFile(folder, place.keyVariable);
  if (there === undefined || there === key || flags.force === true) return;
  const what = `${ENV_FILE} holds another key in ${place.keyVariable}`;
  if (prompt !== null && (await prompt.askWhether(`${what}. Replace it?`, false))) return;
  throw new SightlineError('usage', `${what}; nothing was written; --force replaces it`);
}

function describe({ brands, rateLimit }: Trial): void {
  const named = brands.slice(0, BRANDS_NAMED_MAX).join(', ');
  const more = brands.length - BRANDS_NAMED_MAX;
  const others = more > 0 ? ` and ${plural(more, 'more')}` : '';
  say(
    brands.length === 0
      ? 'The key is good; the workspace has no brand yet.'
      : `The key is good. It reads ${named}${others}.`,
  );
  say(`The plan is active; ${count(rateLimit)} requests a minute are allowed.`);
}

function tellWritten(written: readonly string[], { keyVariable }: Place, key: string): void {
  say(written.length === 0 ? 'The settings were there already.' : `Written: ${written.join(', ')}.`);
  const { environment } = readSurroundings();
  if (environment[keyVariable] !== undefined && environment[keyVariable].trim() !== key) {
    say(`The environment has another key in ${keyVariable}, which beats ${ENV_FILE}: take it out of there.`);
  }
}

// The settings are good whatever becomes of this.
async function price(
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
    // What is found in lists that were never read is asked for as well.
    say(`The first sync will take ${plural(requests, 'request')} or some more, ${time}.`);
    return { requests, minutes };
  } catch (thrown) {
    signal.throwIfAborted();
    say('The settings are written, but the first sync has no price yet:');
    reportError(toSightlineError(thrown), false);
    return null;
  }
}

function sayNext(workspace: string): void {
  const there = workspace === DEFAULT_WORKSPACE ? '' : ` --workspace ${workspace}`;
  say(`
Next:
  npx sightline sync${there}      copies what the API has; stop it whenever you like, it goes on there
  npx sightline status${there}    tells how whole and current the copy is
  npx sightline serve${there}     keeps it so, every night, and answers the API from it`);
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
    '--key-stdin found no key on standard input; allowed: the key alone, which begins with gsk_',
  );
}
