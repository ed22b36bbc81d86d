import { z } from 'zod';
import type { JsonSchema } from '../json-schema.ts';
import type { ValueOf } from './json-parts.ts';
import { checkInput, type InputMembers } from './read-input.ts';

/** Declaration of an operation that several surfaces offer. */
export interface OperationDeclaration<Source, In extends z.ZodObject, Out extends z.ZodObject> {
  /** Name of the MCP tool, and operation id in the OpenAPI document. */
  readonly name: string;
  /** Path of the route. */
  readonly path: `/${string}`;
  readonly title: string;
  /** Result and use as sentences. Keep it short: MCP clients send all descriptions with each conversation. */
  readonly about: string;
  /**
   * Members in snake_case: texts, choices, days, whole numbers, flags, and lists of texts or choices. Required members are arguments of the
   * command, the others are its options.
   */
  readonly input: In;
  readonly output: Out;
  run(source: Source, input: z.infer<In>): Promise<ValueOf<Out>>;
}

/** An operation: a function of texts by the names of its input, with its declaration. */
export interface Operation<Source, Out extends z.ZodObject = z.ZodObject> extends Pick<
  OperationDeclaration<Source, z.ZodObject, Out>,
  'path' | 'title' | 'about' | 'output'
> {
  /**
   * @throws SightlineError `invalid_parameter` with the parameter, its value, what is allowed and the nearest name
   */
  (source: Source, given: URLSearchParams): Promise<ValueOf<Out>>;
  readonly name: string;
  readonly members: InputMembers;
}

/**
 * Declares an operation. The command, the route with its OpenAPI description, and the MCP tool are derived from it.
 *
 * @example
 * export const listTopics = defineOperation({
 *   name: 'list_topics',
 *   path: '/data/topics',
 *   title: 'List topics',
 *   about: 'Topics of a brand.',
 *   input: z.object({ brand: z.string().describe('Name or id.'), limit: z.int().min(1).max(100).default(20) }),
 *   output: z.object({ topics: z.array(z.string()) }),
 *   run: async (source: MetricsSource, { brand, limit }) => ({ topics: await readTopics(source, brand, limit) }),
 * });
 */
export function defineOperation<Source, In extends z.ZodObject, Out extends z.ZodObject>({
  run,
  input,
  ...declared
}: OperationDeclaration<Source, In, Out>): Operation<Source, Out> {
  const members = membersOf(input);
  const call = async (source: Source, given: URLSearchParams): Promise<ValueOf<Out>> =>
    run(source, checkInput(members, given) as z.infer<In>);
  return Object.assign(Object.defineProperty(call, 'name', { writable: true }), { ...declared, members });
}

/** Returns the members of an input by name. */
export function membersOf(input: z.ZodObject): InputMembers {
  const { properties = {}, required = [] } = toJsonSchema(input);
  return Object.fromEntries(
    Object.entries(properties as InputMembers).map(([name, member]) => {
      return [name, (required as readonly string[]).includes(name) ? { ...member, isRequired: true } : member];
    }),
  );
}

/** Returns the JSON Schema (draft 2020-12) of a result. It accepts further members, because results grow. */
export function toJsonSchema(schema: z.ZodType): JsonSchema {
  const { $schema: _, ...described } = z.toJSONSchema(schema, {
    io: 'input',
    override: ({ jsonSchema }) => {
      // Every integer would have the bounds of a double.
      if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
      // Without a format, some generators use 32-bit floats.
      if (jsonSchema.type === 'number') jsonSchema.format = 'double';
      if (Array.isArray(jsonSchema.default) && jsonSchema.default.length === 0) delete jsonSchema.default;
    },
  });
  return described;
}
