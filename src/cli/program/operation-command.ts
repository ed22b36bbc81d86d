import type { z } from 'zod';
import { EXIT, SightlineError } from '../../base/errors.ts';
import type { ValueOf } from '../../contract/operation/json-parts.ts';
import type { Operation } from '../../contract/operation/operation.ts';
import { type InputMember, readInput } from '../../contract/operation/read-input.ts';
import type { MetricsSource } from '../../read/metrics/table-result.ts';
import { printValue } from '../output/output.ts';
import { workspaceOptions } from './common-options.ts';
import { type AddTo, type Call, defineCommand } from './define-command.ts';
import { argument, type Kind, text, texts, withDefault } from './option-kinds.ts';
import type { Example } from './program-command.ts';

/** The parts of a command that its operation does not declare. */
interface CommandParts<Out extends z.ZodObject> {
  readonly examples: readonly [Example, Example];
  /** Further options, for the text on a terminal. */
  readonly options?: Readonly<Record<string, Kind<unknown>>>;
  /** Checks the further options. Throws `usage`. */
  check?(more: Readonly<Record<string, unknown>>, call: Call): void;
  /** Prints the result as text. `more` has the values of the further options. */
  show(result: ValueOf<Out>, more: Readonly<Record<string, unknown>>): void;
}

/**
 * Derives a command from an operation on the replica. Required members of its input are arguments, the others are options, and errors
 * about them name the option.
 */
export function operationCommand<Out extends z.ZodObject>(
  operation: Operation<MetricsSource, Out>,
  { examples, options = {}, check = () => undefined, show }: CommandParts<Out>,
): AddTo {
  const members = Object.entries(operation.members);
  const required = members.filter(([, { isRequired }]) => isRequired === true);
  const others = members.filter(([, { isRequired }]) => isRequired !== true);
  return defineCommand({
    arguments: Object.fromEntries(required.map(([name, of]) => [name, argumentOf(name, of)])),
    options: {
      ...workspaceOptions,
      ...Object.fromEntries(others.map(([name, of]) => [name, checked(of, optionOf(name, of))])),
      ...options,
    },
    examples,
    run: async (values: Readonly<Record<string, unknown>>, begin) => {
      const call = begin({});
      check(values, call);
      const given = new URLSearchParams();
      for (const [name] of members) {
        for (const one of [values[name] ?? []].flat()) given.append(name, String(one));
      }
      try {
        const { runOnReplica } = await import('../../operations/run-on-replica.ts');
        const result = await runOnReplica(await call.context(), operation, given);
        if (call.json) printValue(result);
        else show(result, values);
      } catch (thrown) {
        throw thrown instanceof SightlineError ? withOptionName(thrown, required) : thrown;
      }
      return EXIT.done;
    },
  });
}

function argumentOf(name: string, member: InputMember): Kind<unknown> {
  const choices = member.enum ?? member.items?.enum;
  return { ...argument(`<${name}>`, aboutOf(member)), ...(choices === undefined ? {} : { choices }) };
}

function optionOf(name: string, member: InputMember): Kind<unknown> {
  const about = aboutOf(member);
  const choices = member.enum ?? member.items?.enum;
  const placeholder = member.format === 'date' ? 'day' : member.type === 'integer' ? 'number' : 'text';
  const kind: Kind<unknown> = {
    ...(member.type === 'array' ? texts(`<${name}...>`, about) : text(`<${placeholder}>`, about)),
    long: name.replaceAll('_', '-'),
    ...(choices === undefined ? {} : { choices }),
  };
  return member.default === undefined ? kind : withDefault(kind, String(member.default));
}

// Validates the value while the command line is parsed. The name in an error is that of the option.
function checked(member: InputMember, kind: Kind<unknown>): Kind<unknown> {
  return {
    ...kind,
    parse: (given, flag) => {
      const value = kind.parse(given, flag);
      const texts = [value ?? []].flat().map((text): [string, string] => [flag, String(text)]);
      readInput({ [flag]: member }, new URLSearchParams(texts));
      return value;
    },
  };
}

// Texts of the command line begin with a small letter and have no full stop.
function aboutOf({ description = '', enum: choices, items }: InputMember): string {
  const about = description === '' ? (choices ?? items?.enum ?? []).join(', ') : description;
  return `${about.charAt(0).toLowerCase()}${about.slice(1).replace(/\.$/, '')}`;
}

function withOptionName(error: SightlineError, required: readonly (readonly [string, InputMember])[]): SightlineError {
  const { parameter } = error.facts;
  if (parameter === undefined) return error;
  const isArgument = required.some(([name]) => name === parameter);
  const name = isArgument ? parameter : `--${parameter.replaceAll('_', '-')}`;
  const isFirst = error.message.startsWith(`${parameter} is `);
  const message = isFirst ? `${name}${error.message.slice(parameter.length)}` : error.message;
  return new SightlineError(error.code, message, { ...error.facts, parameter: name, hint: error.hint, cause: error });
}
