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
}

/** The query parameters of an endpoint, by name. */
export type Parameters = Readonly<Record<string, Parameter>>;

/** A day, `YYYY-MM-DD`. */
export function dayParameter(about: string): Parameter {
  return { kind: 'day', about };
}

/** An id. */
export function uuidParameter(about: string): Parameter {
  return { kind: 'uuid', about };
}

/** Free text, such as a slug. */
export function textParameter(about: string): Parameter {
  return { kind: 'text', about };
}

/** One of a closed list of values. */
export function choiceParameter(
  about: string,
  values: readonly string[],
  options: { readonly default?: string; readonly nameUnknown?: boolean } = {},
): Parameter {
  return { kind: 'choice', about, values, ...options };
}

/** `true` or `false`. */
export function flagParameter(about: string, options: { readonly default?: boolean } = {}): Parameter {
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
