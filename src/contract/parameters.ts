/**
 * Which rows a parameter keeps where that does not follow from its name; without one, a parameter named like a field
 * keeps the rows whose field equals it. Fields of nested objects are written with a dot: `topic.id`.
 */
export type Filter =
  /** Rows with an element of the nested array `child` whose `field` equals the value. */
  | { readonly by: 'child'; readonly child: string; readonly field: string }
  /**
   * Rows whose `from` field is the id of a row of the list `resource` that has the value: in `field`, or in the
   * `field` of an element of its nested array `child`. `isTrue` names the value that stands for true.
   */
  | {
      readonly by: 'list';
      readonly from: string;
      readonly resource: string;
      readonly child?: string;
      readonly field: string;
      readonly isTrue?: string;
    }
  /** All rows when true; else those whose `field` is not false. */
  | { readonly by: 'inclusion'; readonly field: string };

/** A query parameter of an endpoint: its kind, what it allows, and what it means. */
export interface Parameter {
  readonly kind: 'day' | 'uuid' | 'text' | 'choice' | 'flag' | 'limit' | 'cursor';
  readonly about: string;
  /** Allowed values of a `choice`, in the specification's order. */
  readonly values?: readonly string[];
  readonly default?: string | number | boolean;
  /** Greatest allowed `limit`; the least is 1. */
  readonly max?: number;
  /**
   * The specification gives the parameter's values but not its name: the declared name is what is served until
   * upstream's OpenAPI document shows a parameter of this endpoint with exactly these values.
   */
  readonly nameUnknown?: boolean;
  readonly filter?: Filter;
  /** The list whose `field` has every allowed value of a `text`, such as the engines' slugs. */
  readonly oneOf?: { readonly resource: string; readonly field: string };
}

/** The query parameters of an endpoint, by name. */
export type Parameters = Readonly<Record<string, Parameter>>;

/** A day, `YYYY-MM-DD`. */
export function dayParameter(about: string): Parameter {
  return { kind: 'day', about };
}

/** An id. */
export function uuidParameter(about: string, options: Pick<Parameter, 'filter'> = {}): Parameter {
  return { kind: 'uuid', about, ...options };
}

/** Text, such as a slug. */
export function textParameter(about: string, options: Pick<Parameter, 'oneOf'> = {}): Parameter {
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

/** How many items a page or a list holds at most. */
export function limitParameter(max: number, defaultLimit: number): Parameter {
  return {
    kind: 'limit',
    about: 'How many items to return at most.',
    max,
    default: defaultLimit,
  };
}

/** The previous page's `nextCursor`. */
export function cursorParameter(): Parameter {
  return {
    kind: 'cursor',
    about: "The previous page's nextCursor; every other parameter stays as it was.",
  };
}
