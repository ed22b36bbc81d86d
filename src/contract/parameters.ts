/**
 * Rows that a parameter selects. A parameter without a filter selects the rows whose field of the same name equals its value.
 * Fields of nested objects are written with a dot: `topic.id`.
 */
export type Filter =
  /** Rows with an element of the nested array `child` whose `field` equals the value. */
  | { readonly by: 'child'; readonly child: string; readonly field: string }
  /**
   * Rows whose `from` field is the id of a matching row of the list `resource`. A row matches if `field`, or `field` of an
   * element of its nested array `child`, equals the value. `isTrue` is the field value that means true.
   */
  | {
      readonly by: 'list';
      readonly from: string;
      readonly resource: string;
      readonly child?: string;
      readonly field: string;
      readonly isTrue?: string;
    }
  /** All rows if true; otherwise the rows whose `field` is not false. */
  | { readonly by: 'inclusion'; readonly field: string };

/** A field of the rows of a resource. */
export interface ListField {
  readonly resource: string;
  /** Table of the resource; default: its first. */
  readonly table?: string;
  readonly field: string;
}

/** A query parameter of an endpoint: kind, allowed values and meaning. */
export interface Parameter {
  readonly kind: 'day' | 'uuid' | 'text' | 'choice' | 'flag' | 'limit' | 'cursor';
  readonly about: string;
  /** Allowed values of a `choice`, in the specification's order. */
  readonly values?: readonly string[];
  readonly default?: string | number | boolean;
  /** Greatest allowed `limit`; the least is 1. */
  readonly max?: number;
  /** Whether every request must have the parameter. */
  readonly required?: true;
  /**
   * True if the specification lists the parameter's values but not its name. The declared name is used until upstream's
   * OpenAPI document has a parameter of this endpoint with exactly these values.
   */
  readonly nameUnknown?: boolean;
  readonly filter?: Filter;
  /** List whose `field` contains the allowed values of a `text`, such as the slugs of engines. */
  readonly oneOf?: ListField;
  /** List whose `field` contains the ids that exist, for a `uuid`. */
  readonly idOf?: ListField;
  /** A value for the documentation that most workspaces accept, if the value's form does not give one. */
  readonly example?: string;
}

/** The query parameters of an endpoint, by name. */
export type Parameters = Readonly<Record<string, Parameter>>;

/** A day, `YYYY-MM-DD`. */
export function dayParameter(about: string): Parameter {
  return { kind: 'day', about };
}

/** An id. */
export function uuidParameter(about: string, options: Pick<Parameter, 'filter' | 'idOf'> = {}): Parameter {
  return { kind: 'uuid', about, ...options };
}

/** Text, such as a slug. */
export function textParameter(about: string, options: Pick<Parameter, 'oneOf' | 'example'> = {}): Parameter {
  return { kind: 'text', about, ...options };
}

/** One of a closed list of values. */
export function choiceParameter(
  about: string,
  values: readonly string[],
  options: { readonly default?: string; readonly nameUnknown?: boolean; readonly filter?: Filter } = {},
): Parameter {
  return { kind: 'choice', about, values, ...options };
}

/** `true` or `false`. */
export function flagParameter(
  about: string,
  options: { readonly default?: boolean; readonly filter?: Filter } = {},
): Parameter {
  return { kind: 'flag', about, ...options };
}

/** Maximum number of items of a page or list. */
export function limitParameter(max: number, defaultLimit: number): Parameter {
  return {
    kind: 'limit',
    about: 'Maximum number of items to return.',
    max,
    default: defaultLimit,
  };
}

/** The previous page's `nextCursor`. */
export function cursorParameter(): Parameter {
  return {
    kind: 'cursor',
    about: 'nextCursor of the previous page; repeat all other parameters unchanged.',
  };
}
