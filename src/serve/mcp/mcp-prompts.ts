import type { GetPromptResult, Prompt as PromptDefinition } from '@modelcontextprotocol/server';
import {
  checkInput,
  type InputMember,
  type InputMembers,
  invalidParameter,
} from '../../contract/operation/read-input.ts';
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
export function getPrompt(
  { served, options }: Calling,
  name: string,
  given: Readonly<Record<string, string>>,
  signal: AbortSignal,
): GetPromptResult {
  try {
    const names = prompts.map((prompt) => prompt.name);
    const prompt = prompts.find((one) => one.name === name);
    if (prompt === undefined) throw invalidParameter('prompt', name.slice(0, 80), names.join(', '), names);
    requireScope('metrics', options);
    const texts = new URLSearchParams(
      Object.entries(given).map(([argument, text]): [string, string] => [argument, text.trim()]),
    );
    const values = checkInput(membersOf(prompt, served.workspaces !== null), texts);
    const workspace = chosenWorkspace(served, texts.get('workspace'));
    const scope = workspace === null ? '' : `Pass "workspace": ${JSON.stringify(workspace)} to every tool.\n\n`;
    const task = prompt.text.replace(/\{([a-z]+)\}/g, (_, argument: string) => {
      const value = values[argument];
      return value === undefined ? (prompt.arguments[argument]?.standard ?? '') : JSON.stringify(value);
    });
    const text = `${scope}${task}\n\n${RULES}`;
    return { description: prompt.about, messages: [{ role: 'user', content: { type: 'text', text } }] };
  } catch (thrown) {
    throw toProtocolError(thrown, signal, options.onError);
  }
}

function membersOf({ arguments: declared }: Prompt, hasWorkspaces: boolean): InputMembers {
  const own = Object.entries(declared).map(([argument, { standard }]): [string, InputMember] => {
    return [argument, { type: 'string', ...(standard === undefined ? { isRequired: true } : {}) }];
  });
  return { ...(hasWorkspaces ? { workspace: { type: 'string' } } : {}), ...Object.fromEntries(own) };
}
