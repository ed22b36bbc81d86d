/**
 * A value from upstream that steers the engine (a rate limit, a date, a count, an item's time) and lies outside its
 * declared bounds. The engine ignores the value, never stores it, and reports it as drift of kind `implausible_value`.
 */
export interface Implausible {
  /** Position of the value, such as `header x-ratelimit-limit` or `data[].createdAt`. */
  readonly path: string;
  /** Accepted values, such as `1 to 10000`. */
  readonly allowed: string;
  /** The value as received; shortened and stripped of keys before it is stored. */
  readonly value: unknown;
  /** What is used instead, if another value is. */
  readonly used?: string;
}
