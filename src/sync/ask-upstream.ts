import { toExactJson } from '../base/json.ts';
import type { Catalogue, Resource } from '../contract/catalogue.ts';
import type { Client } from '../upstream/client.ts';
import { UpstreamError } from '../upstream/errors.ts';
import type { RequestLog } from './request-log.ts';
import type { ParameterNames } from './slice.ts';

/** A single question to upstream, outside of the plan of slices. Parameters have their declared names. */
export interface UpstreamQuestion {
  readonly resource: string;
  readonly brandId: string | null;
  /** Id of the row, for a detail. */
  readonly member?: string | null;
  readonly query: Readonly<Record<string, string>>;
}

/** The response of upstream to a question. */
export interface UpstreamReply {
  readonly status: number;
  /** The body as JSON text without a byte order mark; null if upstream rejected the question. */
  readonly body: string | null;
  /** Upstream's time in epoch milliseconds. */
  readonly at: number;
}

/**
 * Asks upstream one question, within the budget and with retries. A rejection, such as 400 or 404, is a reply.
 * @throws UpstreamError for failures, an invalid key and a missing plan; AllowanceReached; the signal's reason
 */
export type AskUpstream = (question: UpstreamQuestion) => Promise<UpstreamReply>;

/** Dependencies of `createAskUpstream`. */
export interface AskParts {
  readonly catalogue: Catalogue;
  readonly client: Client;
  readonly signal: AbortSignal;
  readonly names: ParameterNames;
  readonly log: RequestLog;
  /** Upstream's time if a response has none. */
  readonly now: () => number;
  /** Recorded with the requests, such as `probe`. */
  readonly purpose: string;
}

/** Creates the function that asks single questions in a run. */
export function createAskUpstream({ catalogue, client, signal, names, log, now, purpose }: AskParts): AskUpstream {
  return (question) => {
    const resource = catalogue.get(question.resource);
    const request = {
      path: pathOf(resource, question),
      query: toServedNames(resource, question.query, names),
      route: resource.path,
      mayReject: true,
    };
    return log({ id: purpose, resource: resource.name }, async (_requests, onAttempt) => {
      try {
        const { value, date } = await client.get(request, toExactJson, { signal, onAttempt });
        return { status: 200, body: value, at: date ?? now() };
      } catch (thrown) {
        if (!(thrown instanceof UpstreamError) || !thrown.isRejection) throw thrown;
        return { status: thrown.status as number, body: null, at: now() };
      }
    });
  };
}

function pathOf(resource: Resource, { brandId, member = null }: UpstreamQuestion): string {
  const { change } = resource;
  return resource.path.replace(/\{(\w+)\}/g, (_match, name: string) => {
    const value = change.kind === 'detail' && change.parameter === name ? member : brandId;
    if (value === null) throw new TypeError(`no value for {${name}} of ${resource.path}`);
    return encodeURIComponent(value);
  });
}

function toServedNames(
  resource: Resource,
  query: Readonly<Record<string, string>>,
  names: ParameterNames,
): Record<string, string> {
  const served = names.get(resource.name) ?? {};
  return Object.fromEntries(Object.entries(query).map(([name, value]) => [served[name] ?? name, value]));
}
