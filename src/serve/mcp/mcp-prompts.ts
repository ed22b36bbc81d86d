import type { GetPromptResult, Prompt as PromptDefinition } from '@modelcontextprotocol/server';
import { suggestion } from '../../base/choose-name.ts';
import { SightlineError } from '../../base/errors.ts';
import { type Prompt, prompts, RULES } from './prompt-table.ts';
import { toProtocolError } from './protocol-error.ts';
import { type Calling, chosenWorkspace, mayUse, requireScope } from './tool-calls.ts';

/** Lists the prompts. All prompts use the metrics tools, so a caller without the scope `metrics` gets an empty list. */
export function listPrompts({ served, options }: Calling): PromptDefinition[] {
  if (!mayUse('metrics', options)) return [];
  const workspace = { name: 'workspace', description: 'Name of the workspace.', required: true };
  return prompts.map(({ name, title, about, arguments: declared }) => ({
    name,
    title,
    description: about,
    arguments: [
      ...(served.workspaces === null ? [] : [workspace]),
      ...Object.entries(declared).map(([argument, { about: description, standard }]) => {
        return { name: argument, description, required: standard === undefined };
      }),
    ],
  }));
}

/**
 * Returns the message of a prompt with its arguments. Values are JSON strings, so that a model cannot read them as a part of the task.
 *
 * @throws ProtocolError `InvalidParams` for an unknown prompt or argument, a missing argument, and a caller without the scope `metrics`
 */
export function getPrompt(calling: Calling, name: string, given: Given, signal: AbortSignal): GetPromptResult {
  const { served, options } = calling;
  try {
    const prompt = findPrompt(name);
    requireScope('metrics', options);
    checkNames(prompt, given, served.workspaces !== null);
    const workspace = chosenWorkspace(served, textGiven(given, 'workspace'));
    const scope = workspace === null ? '' : `Pass "workspace": ${JSON.stringify(workspace)} to every tool.\n\n`;
    const task = prompt.text.replace(/\{([a-z]+)\}/g, (_, argument: string) => shownArgument(prompt, given, argument));
    const text = `${scope}${task}\n\n${RULES}`;
    return { description: prompt.about, messages: [{ role: 'user', content: { type: 'text', text } }] };
  } catch (thrown) {
    throw toProtocolError(thrown, signal, options.onError);
  }
}

type Given = Readonly<Record<string, string>>;

function findPrompt(name: string): Prompt {
  const found = prompts.find((prompt) => prompt.name === name);
  if (found !== undefined) return found;
  const names = prompts.map((prompt) => prompt.name);
  const message = `prompt is ${JSON.stringify(name.slice(0, 80))}; allowed: ${names.join(', ')}${suggestion(name, names)}`;
  throw new SightlineError('invalid_parameter', message);
}

function checkNames({ name, arguments: declared }: Prompt, given: Given, hasWorkspaces: boolean): void {
  const known = [...(hasWorkspaces ? ['workspace'] : []), ...Object.keys(declared)];
  for (const argument of Object.keys(given)) {
    if (known.includes(argument)) continue;
    const message = `${name} has no argument ${JSON.stringify(argument.slice(0, 80))}; allowed: ${known.join(', ')}${suggestion(argument, known)}`;
    throw new SightlineError('invalid_parameter', message);
  }
}

function shownArgument({ arguments: declared }: Prompt, given: Given, name: string): string {
  const value = textGiven(given, name);
  if (value !== null) return JSON.stringify(value);
  const standard = declared[name]?.standard;
  if (standard === undefined) throw new SightlineError('invalid_parameter', `${name} is required`);
  return standard;
}

function textGiven(given: Given, name: string): string | null {
  const text = given[name]?.trim() ?? '';
  return text === '' ? null : text;
}
