import { EXIT, SightlineError, toSightlineError } from '../../../base/errors.ts';
import type { ConnectionTest } from '../../../operations/connection-test.ts';
import type { FirstSyncEstimate, Initialized, InitOptions } from '../../../operations/initialize.ts';
import type { Context } from '../../../workspace/workspace.ts';
import { invokedAs } from '../../output/invoked-as.ts';
import { count, duration, plural, printJson, reportError, say } from '../../output/output.ts';
import { boundsText } from '../../output/plan-bounds.ts';
import { canAsk, openPrompt, type Prompt } from '../../output/prompt.ts';
import { terminal } from '../../output/terminal.ts';
import { workspaceOptions } from '../../program/common-options.ts';
import { defineCommand } from '../../program/define-command.ts';
import { flag, negated, option, refused, text } from '../../program/option-kinds.ts';

/** Longest API key that is read from standard input. */
const KEY_BYTES_MAX = 4_096;
/** Brands that are listed by name. */
const BRANDS_NAMED_MAX = 8;
/** Attempts of an interactive setup. */
const ROUNDS_MAX = 10;
const ESTIMATE = 'Estimate the requests of the first sync?';

export const init = defineCommand({
  options: {
    workspace: workspaceOptions.workspace,
    dataDir: workspaceOptions.dataDir,
    json: workspaceOptions.json,
    baseUrl: text('<url>', 'root of the versioned API, with or without /v1 (default: ask)'),
    keyStdin: flag('read the key from standard input'),
    budgetShare: option('<number>', 'fraction of the rate limit to use, for a key with other users', toShare),
    force: flag('replace an existing key'),
    plan: negated('no-plan', 'do not estimate the requests of the first sync'),
    yes: flag('do not ask questions'),
  },
  help: `The key cannot be given as a flag, because other users of the machine could see it. Without a terminal:
  printf %s "$KEY" | sightline init --base-url https://api.example.com/v1 --key-stdin`,
  examples: [
    ['sightline init', 'ask for the settings of the default workspace'],
    ['sightline init --workspace acme', 'add a workspace'],
  ],
  run: async ({ keyStdin, budgetShare, force, plan, yes, ...unread }, begin) => {
    const { flags, json, signal } = begin(unread);
    const { workspace = null, baseUrl = null, dataDir = null } = flags;
    const { loadContext, readSurroundings } = await import('../../context.ts');
    const key = keyStdin && terminal().stdin.isTTY !== true ? await readKey(signal) : null;
    const prompt = !yes && canAsk() ? openPrompt(signal) : null;
    try {
      const given = { workspace, baseUrl, key, dataDir, budgetShare, force, ...readSurroundings() };
      const { overriddenBy, ...initialized } = await initialize(given, prompt, signal);
      if (!json) describe(initialized);
      sayWritten(initialized.written, overriddenBy);
      const wantsPlan = plan && (prompt === null || (await prompt.askWhether(ESTIMATE, true)));
      const chosen = { workspace: initialized.workspace, ...(dataDir === null ? {} : { dataDir }) };
      const cost = wantsPlan ? await estimate(() => loadContext('init', chosen, signal), signal) : null;
      if (json) printJson('init', { ...initialized, plan: cost });
      else sayNext(initialized.workspace);
      return EXIT.done;
    } finally {
      prompt?.close();
    }
  },
});

// With a terminal it asks for missing values, and again for a value that fails the test.
async function initialize(given: InitOptions, prompt: Prompt | null, signal: AbortSignal): Promise<Initialized> {
  const { initializeWorkspace, knownSettings } = await import('../../../operations/initialize.ts');
  const { clock } = terminal();
  if (prompt === null) return initializeWorkspace(given, { clock, signal, replace: async () => false });
  const replace = (what: string): Promise<boolean> => prompt.askWhether(`${what}. Replace it?`, false);
  const { place, key: known } = knownSettings(given);
  let { baseUrl, key } = given;
  for (let round = 1; ; round += 1) {
    baseUrl ??= await prompt.ask('Root of the API, such as https://api.example.com/v1', place.baseUrl);
    const isKept = known !== undefined && round === 1;
    const keeping = isKept ? `, or Enter to keep the one in ${place.keyVariable}` : '';
    key ??= await prompt.askHidden(`Key of the workspace, gsk_...${keeping}`);
    try {
      const chosen = { ...given, baseUrl, key: isKept && key === '' ? null : key };
      return await initializeWorkspace(chosen, { clock, signal, replace });
    } catch (thrown) {
      signal.throwIfAborted();
      const error = toSightlineError(thrown);
      const field = error.facts.parameter;
      if (round >= ROUNDS_MAX || (field !== 'key' && field !== 'baseUrl')) throw error;
      say(`${error.message}\n${error.hint}\n`);
      if (field === 'key') key = null;
      else baseUrl = null;
    }
  }
}

function toShare(given: string, name: string): number {
  const share = given.trim() === '' ? Number.NaN : Number(given);
  if (share > 0 && share <= 1) return share;
  throw refused(name, given, 'a number above 0, at most 1');
}

function describe({ baseUrl, brands, rateLimit }: ConnectionTest): void {
  say(`Using ${baseUrl}.`);
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

function sayWritten(files: readonly string[], overriddenBy: string | null): void {
  say(files.length === 0 ? 'The settings are unchanged.' : `Written: ${files.join(', ')}.`);
  if (overriddenBy === null) return;
  say(`The environment has another key in ${overriddenBy}, which overrides .env: remove it from the environment.`);
}

// A failed estimate does not fail the setup.
async function estimate(open: () => Promise<Context>, signal: AbortSignal): Promise<FirstSyncEstimate | null> {
  const { estimateFirstSync } = await import('../../../operations/initialize.ts');
  try {
    const cost = await estimateFirstSync(await open());
    const time = cost.minutes === 0 ? 'less than a minute' : `about ${duration(cost.minutes * 60_000)}`;
    say(`The first sync will take about ${plural(cost.requests, 'request')}${boundsText(cost)}, ${time}.`);
    return cost;
  } catch (thrown) {
    signal.throwIfAborted();
    say('The settings are written, but the first sync cannot be estimated yet:');
    reportError(toSightlineError(thrown), false);
    return null;
  }
}

function sayNext(workspace: string): void {
  const program = invokedAs();
  const there = workspace === 'default' ? '' : ` --workspace ${workspace}`;
  say(`
Next:
  ${program} sync${there}      copies the API's data; you can stop it at any time, and the next run resumes
  ${program} status${there}    shows freshness and gaps of the data
  ${program} serve${there}     syncs every night and serves the API from the stored data`);
}

async function readKey(signal: AbortSignal): Promise<string> {
  let given = '';
  for await (const chunk of terminal().stdin) {
    signal.throwIfAborted();
    given += String(chunk);
    if (given.length > KEY_BYTES_MAX) break;
  }
  const key = given.trim();
  if (key !== '' && key.length <= KEY_BYTES_MAX) return key;
  throw new SightlineError(
    'usage',
    '--key-stdin: standard input has no key; allowed: the key alone, which begins with gsk_',
  );
}
