import { EXIT, SightlineError } from '../../../base/errors.ts';
import type { ConnectionTest } from '../../../operations/connection-test.ts';
import type { Initialized, SetupQuestions, WrittenSettings } from '../../../operations/initialize.ts';
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

export const init = defineCommand({
  options: {
    ...workspaceOptions,
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
    const { initializeWorkspace } = await import('../../../operations/initialize.ts');
    const { adviceOn } = await import('../../../operations/init-advice.ts');
    const { commandContext, readSurroundings } = await import('../../context.ts');
    const key = keyStdin && terminal().stdin.isTTY !== true ? await readKey(signal) : null;
    const prompt = !yes && canAsk() ? openPrompt(signal) : null;
    const chosen = dataDir === null ? {} : { dataDir };
    try {
      const initialized = await initializeWorkspace(
        { workspace, baseUrl, key, dataDir, budgetShare, force, plan, ...readSurroundings() },
        {
          clock: terminal().clock,
          signal,
          questions: prompt === null ? null : questionsOn(prompt),
          onRetry: (error) => say(`${error.message}\n${adviceOn(error)}\n`),
          onTested: (trial, isOtherUrl) => {
            if (isOtherUrl) say(`Using ${trial.baseUrl}.`);
            if (!json) describe(trial);
          },
          onWritten: sayWritten,
          open: (name) => commandContext('init', { workspace: name, ...chosen }, signal),
        },
      );
      const { plan: estimate } = initialized;
      sayEstimate(estimate);
      const shown = estimate instanceof SightlineError ? null : estimate;
      if (json) printJson('init', { ...initialized, plan: shown });
      else sayNext(initialized.workspace);
      return EXIT.done;
    } finally {
      prompt?.close();
    }
  },
});

function questionsOn(prompt: Prompt): SetupQuestions {
  return {
    baseUrl: (standard) => prompt.ask('Root of the API, such as https://api.example.com/v1', standard),
    key: (variable, isKnown) => {
      const keeping = isKnown ? `, or Enter to keep the one in ${variable}` : '';
      return prompt.askHidden(`Key of the workspace, gsk_...${keeping}`);
    },
    replace: (what) => prompt.askWhether(`${what}. Replace it?`, false),
    estimate: () => prompt.askWhether('Estimate the requests of the first sync?', true),
  };
}

function toShare(given: string, name: string): number {
  const share = given.trim() === '' ? Number.NaN : Number(given);
  if (share > 0 && share <= 1) return share;
  throw refused(name, given, 'a number above 0, at most 1');
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

function sayWritten({ files, overriddenBy }: WrittenSettings): void {
  say(files.length === 0 ? 'The settings are unchanged.' : `Written: ${files.join(', ')}.`);
  if (overriddenBy === null) return;
  say(`The environment has another key in ${overriddenBy}, which overrides .env: remove it from the environment.`);
}

function sayEstimate(plan: Initialized['plan']): void {
  if (plan === null) return;
  if (plan instanceof SightlineError) {
    say('The settings are written, but the first sync cannot be estimated yet:');
    reportError(plan, false);
    return;
  }
  const time = plan.minutes === 0 ? 'less than a minute' : `about ${duration(plan.minutes * 60_000)}`;
  say(`The first sync will take about ${plural(plan.requests, 'request')}${boundsText(plan)}, ${time}.`);
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
