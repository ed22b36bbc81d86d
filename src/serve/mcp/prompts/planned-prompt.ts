import type { Named } from '../../../base/choose-name.ts';

/** Arguments of prompts. Names are resolved to ids. */
export type PromptArgument = 'brand' | 'competitor' | 'alert' | 'to';

/** A task for a model: the calls that collect its data, and the form of the result. */
export interface Prompt {
  readonly name: string;
  readonly title: string;
  readonly about: string;
  /** Arguments, true if required. `competitor` and `alert` belong to the brand, so they require `brand`. */
  readonly arguments: Readonly<Partial<Record<PromptArgument, boolean>>>;
  /** Plans the calls for the resolved arguments. */
  plan(given: Resolved): Plan;
}

/** Resolved arguments of a prompt. */
export interface Resolved {
  /** Null if the argument is optional and was left out. */
  readonly brand: Named | null;
  readonly competitor: Named | null;
  readonly alert: Alert | null;
  /** The argument `to`; default: the last complete day. */
  readonly to: string;
  /** The last complete day; today if unknown. */
  readonly completeTo: string;
}

/** An alert with its facts. */
export interface Alert extends Named {
  readonly day: string;
  readonly type: string;
  readonly detail: string | null;
  readonly domain: string | null;
  /** Id of the tracked competitor that it is about; null if there is none. */
  readonly competitorId: string | null;
}

/** The calls of a task. */
export interface Plan {
  readonly task: string;
  /** Labels and texts, such as the brand with its id, or the days. */
  readonly facts: readonly (readonly [string, string])[];
  /** Calls in the order in which they are made. Calls of tools that the caller may not use are left out later. */
  readonly calls: readonly PlannedCall[];
  /** Sections of the result. */
  readonly form: readonly string[];
}

/** A call of a tool. */
export interface PlannedCall {
  readonly why: string;
  readonly name: string;
  readonly arguments: Readonly<Record<string, unknown>>;
}

const NUMBERS = [
  'Write each share or mean with its n and its 95 % interval, such as "42 % (n = 310, 37 % to 48 %)". Take them from the columns `_n` and `_interval`.',
  'Report a change only if `_significant` is true, or if its `verdict` in `explain_change` is `significant`. Describe all other changes as within noise, and do not draw conclusions from them.',
  'If `_sightline.coverage` is `partial`, state that beside the numbers, because they may be too low. Name the last complete day, `completeTo`.',
  'A lower position is better. Associations are not causes.',
  'Support each statement about single responses with ids from `evidence`. Add the `url` of a result if it has one.',
  'If a call does not return rows, state that data are missing. Do not estimate numbers.',
];

/** Writes a plan as the text of a message. Each call is a JSON object with `name` and `arguments`. */
export function textOf({ task, facts, calls, form }: Plan, workspace: string | null): string {
  const named = workspace === null ? {} : { workspace };
  return [
    task,
    '',
    ...[...(workspace === null ? [] : [['Workspace', workspace] as const]), ...facts].map(
      ([name, value]) => `- ${name}: ${value}`,
    ),
    '',
    'Call these tools in this order, with exactly these arguments. More calls are allowed if a result raises a question.',
    ...calls.flatMap((call, index) => [
      '',
      `${index + 1}. ${call.why}`,
      '```json',
      JSON.stringify({ name: call.name, arguments: { ...named, ...call.arguments } }),
      '```',
    ]),
    '',
    'Numbers:',
    ...NUMBERS.map((line) => `- ${line}`),
    '',
    'Result, in this order:',
    ...form.map((line, index) => `${index + 1}. ${line}`),
  ].join('\n');
}
