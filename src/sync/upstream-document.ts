import type { Catalogue } from '../contract/catalogue.ts';
import { parameterForm } from '../contract/formats.ts';
import { classifyEndpoints } from '../contract/openapi/classify.ts';
import { findDocumentDrift } from '../contract/openapi/document-drift.ts';
import { readEndpoints } from '../contract/openapi/document-endpoints.ts';
import { shapeOfPath } from '../contract/openapi/references.ts';
import type { Client } from '../upstream/client.ts';
import { learnParameterNames, OPENAPI_PATH } from '../upstream/discovery.ts';
import { UpstreamError } from '../upstream/errors.ts';
import { recordEndpoints } from '../warehouse/ledger/endpoint-states.ts';
import type { EndpointAdapter } from './adapt-endpoint.ts';
import type { PageDestinations } from './commit-page.ts';
import type { RequestLog } from './request-log.ts';
import type { ParameterNames } from './slice.ts';
import type { FormWriter } from './upstream-forms.ts';

/** Dependencies of `readDocument`. */
export interface DocumentParts extends Pick<PageDestinations, 'warehouse' | 'drift'> {
  readonly catalogue: Catalogue;
  readonly client: Client;
  readonly signal: AbortSignal;
  /** Path of the base URL, such as `/v1`, which the document may repeat; default: none. */
  readonly basePath?: string;
  readonly runId: string;
  /** Upstream's time, epoch milliseconds. */
  readonly now: number;
  readonly adapter?: EndpointAdapter;
  /** Called with the paths of endpoints that cannot be declared. */
  readonly onRejected?: (paths: readonly string[]) => void;
  /** Called with the reason if there is a document that exceeds the limits of a body. */
  readonly onTooLarge?: (reason: string) => void;
  /** Whether to store the endpoints and the differences between the document and the declarations. */
  readonly isRecorded: boolean;
}

/**
 * Reads upstream's OpenAPI document. Stores and returns the parameter names that the specification leaves open, and records endpoints and
 * parameters that are not declared.
 */
export function readDocument(parts: DocumentParts, log: RequestLog, noteForms: FormWriter): Promise<ParameterNames> {
  const { catalogue, client, signal, basePath } = parts;
  const declared = catalogue.resources.filter(({ generic }) => generic !== true);
  return log({ id: OPENAPI_PATH, resource: 'openapi' }, async (_requests, onAttempt) => {
    try {
      const read = (body: unknown) => ({
        names: learnParameterNames(catalogue.resources, body),
        classified: classifyEndpoints(readEndpoints(body, basePath).endpoints, declared),
      });
      const asked = { path: OPENAPI_PATH, query: {}, route: OPENAPI_PATH };
      const { names, classified } = (await client.get(asked, read, { signal, onAttempt })).value;
      const noted = [...names].map(([resource, found]) => {
        const forms = Object.entries(found).map(([declared, name]) => [parameterForm(declared), name] as const);
        return noteForms(resource, new Map(forms));
      });
      await Promise.all(noted);
      if (parts.isRecorded) await record(parts, names, classified);
      return names;
    } catch (thrown) {
      // Upstream may lack a description; then the declared names are used.
      if (!(thrown instanceof UpstreamError)) throw thrown;
      if (thrown.code === 'bad_answer' && !thrown.retryable && parts.isRecorded) parts.onTooLarge?.(thrown.message);
      return new Map();
    }
  });
}

async function record(
  parts: DocumentParts,
  names: ParameterNames,
  classified: ReturnType<typeof classifyEndpoints>,
): Promise<void> {
  const { catalogue, warehouse, drift, adapter, runId, now } = parts;
  // A document without any declared endpoint is not the description of this API.
  if (!classified.some(({ state }) => state === 'declared')) return;
  const mirrored = new Map(warehouse.endpoints.forms().map((form) => [shapeOfPath(form.path), form]));
  const rows = classified.map(({ endpoint: { path, shape }, state, reason, resource }) => {
    const { name = resource, unsupported } = mirrored.get(shape) ?? {};
    return unsupported === undefined || state !== 'available'
      ? { path, state, reason, resource: name }
      : { path, state: 'unsupported', reason: unsupported.reason, resource: name };
  });
  await recordEndpoints(warehouse.database, rows, now);
  const rejected = (await adapter?.discover(classified, now)) ?? [];
  if (rejected.length > 0) parts.onRejected?.(rejected);
  for (const { resource, findings } of findDocumentDrift(classified, catalogue.resources, names)) {
    await drift?.note(runId, resource, findings, now);
  }
}
