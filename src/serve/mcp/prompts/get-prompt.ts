import type { GetPromptResult, Prompt as PromptDefinition } from '@modelcontextprotocol/server';
import { listedNames, type Named, suggestion } from '../../../base/choose-name.ts';
import { SightlineError } from '../../../base/errors.ts';
import { dayOf } from '../../../contract/time.ts';
import { completeDay } from '../../../query/metrics/scope-freshness.ts';
import { resolveScope } from '../../../query/metrics/scope-request.ts';
import type { MetricsSource } from '../../../query/metrics/table-result.ts';
import { chosenWorkspace, mayUse, requireScope, sourceOf, visibleTools } from '../caller.ts';
import { dataTools } from '../data-tools/data-tools.ts';
import { toProtocolError } from '../protocol-error.ts';
import type { Calling } from '../tool-calls.ts';
import { type Prompt, type PromptArgument, type Resolved, textOf } from './planned-prompt.ts';
import { alertsOf, brandsOf, chooseArgument, competitorsOf } from './prompt-names.ts';
import { prompts } from './prompt-plans.ts';

const ABOUT: Readonly<Record<PromptArgument, string>> = {
  brand: 'Name or id of the brand.',
  competitor: 'Name or id of a competitor of the brand.',
  alert: 'Headline or id of an alert of the brand; default: the newest.',
  to: 'Last day, YYYY-MM-DD; default: the last complete one.',
};

/** Lists the prompts. All prompts read the metrics layer, so a caller without the scope `metrics` gets an empty list. */
export function listPrompts({ served, options }: Calling): PromptDefinition[] {
  if (!mayUse('metrics', options)) return [];
  const workspace = { name: 'workspace', description: 'Name of the workspace.', required: true };
  return prompts.map(({ name, title, about, arguments: declared }) => ({
    name,
    title,
    description: about,
    arguments: [
      ...(served.workspaces === null ? [] : [workspace]),
      ...argumentsOf(declared).map(([argument, required]) => {
        return { name: argument, description: ABOUT[argument], required };
      }),
    ],
  }));
}

/**
 * Returns the message of a prompt for its arguments.
 *
 * @throws ProtocolError `InvalidParams` with the argument, its value and what is allowed
 */
export async function getPrompt(
  calling: Calling,
  name: string,
  given: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<GetPromptResult> {
  const { served, options } = calling;
  try {
    const prompt = findPrompt(name);
    requireScope('metrics', options);
    checkNames(prompt, given, served.workspaces !== null);
    const workspace = chosenWorkspace(served, textGiven(given, 'workspace'));
    return await served.use(workspace, async (open) => {
      const resolved = await resolve(prompt, given, await sourceOf(served, open, signal));
      const plan = prompt.plan(resolved);
      const calls = plan.calls.filter((call) => isAllowed(calling, call.name));
      const text = textOf({ ...plan, calls }, workspace);
      return { description: prompt.about, messages: [{ role: 'user', content: { type: 'text', text } }] };
    });
  } catch (thrown) {
    throw toProtocolError(thrown, signal, options.onError);
  }
}

/** Finds a prompt. Throws `invalid_parameter` with the known ones. */
export function findPrompt(name: string): Prompt {
  const found = prompts.find((prompt) => prompt.name === name);
  if (found !== undefined) return found;
  const names = prompts.map((prompt) => prompt.name);
  const message = `prompt is ${JSON.stringify(name.slice(0, 80))}; allowed: ${names.join(', ')}${suggestion(name, names)}`;
  throw new SightlineError('invalid_parameter', message);
}

function checkNames({ name, arguments: declared }: Prompt, given: object, hasWorkspaces: boolean): void {
  const known = [...(hasWorkspaces ? ['workspace'] : []), ...argumentsOf(declared).map(([argument]) => argument)];
  for (const argument of Object.keys(given)) {
    if (known.includes(argument)) continue;
    const message = `${name} has no argument ${JSON.stringify(argument.slice(0, 80))}; allowed: ${known.join(', ')}${suggestion(argument, known)}`;
    throw new SightlineError('invalid_parameter', message);
  }
}

async function resolve(
  { arguments: declared }: Prompt,
  given: Readonly<Record<string, string>>,
  source: MetricsSource,
): Promise<Resolved> {
  const brands = brandsOf(source);
  const brand =
    declared.brand !== true && textGiven(given, 'brand') === null ? null : chooseRequired('brand', given, brands);
  const asked = textGiven(given, 'to');
  const parameters = new URLSearchParams(asked === null ? {} : { to: asked });
  if (brand !== null) parameters.set('brand', brand.id);
  const scope = await resolveScope(source, parameters);
  const completeTo = completeDay(source, scope.brands) ?? dayOf(source.nowMs);
  const none = { competitor: null, alert: null };
  const ofBrand = brand === null ? none : await resolveOfBrand(declared, given, source, brand.id);
  return { brand, ...ofBrand, to: scope.to, completeTo };
}

async function resolveOfBrand(
  declared: Prompt['arguments'],
  given: Readonly<Record<string, string>>,
  source: MetricsSource,
  brandId: string,
): Promise<Pick<Resolved, 'competitor' | 'alert'>> {
  const competitor =
    declared.competitor === undefined
      ? null
      : chooseRequired('competitor', given, await competitorsOf(source, brandId));
  if (declared.alert === undefined) return { competitor, alert: null };
  const alerts = await alertsOf(source, brandId);
  const [newest] = alerts;
  if (newest === undefined) throw new SightlineError('invalid_parameter', 'the brand has no alerts');
  const asked = textGiven(given, 'alert');
  return { competitor, alert: asked === null ? newest : chooseArgument('alert', asked, alerts) };
}

function chooseRequired(argument: string, given: Readonly<Record<string, string>>, known: readonly Named[]): Named {
  const text = textGiven(given, argument);
  if (text !== null) return chooseArgument(argument, text, known);
  throw new SightlineError('invalid_parameter', `${argument} is required; allowed: ${listedNames(known)}`);
}

// Tools of endpoints need the scope `read`.
function isAllowed({ served, options }: Calling, tool: string): boolean {
  if (!dataTools.some(({ name }) => name === tool)) return mayUse('read', options);
  return visibleTools(served, options).some(({ name }) => name === tool);
}

function argumentsOf(declared: Prompt['arguments']): [PromptArgument, boolean][] {
  return Object.entries(declared) as [PromptArgument, boolean][];
}

function textGiven(given: Readonly<Record<string, string>>, name: string): string | null {
  const text = given[name]?.trim() ?? '';
  return text === '' ? null : text;
}
