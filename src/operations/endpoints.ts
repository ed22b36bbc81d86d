import { classifyEndpoints, type EndpointState } from '../contract/openapi/classify.ts';
import { readEndpoints } from '../contract/openapi/document-endpoints.ts';
import { catalogueOf } from '../session/catalogues.ts';
import type { Context } from '../session/workspace.ts';
import { createClient } from '../upstream/client.ts';
import { OPENAPI_PATH } from '../upstream/discovery.ts';
import { toWorkspaceError } from '../upstream/errors.ts';
import { basePathOf, openBudget } from './sync.ts';

/** An endpoint in upstream's OpenAPI document. */
export interface ListedEndpoint {
  readonly path: string;
  /** `mirrored`: an inferred declaration covers the endpoint. */
  readonly state: EndpointState | 'mirrored';
  readonly reason: string | null;
  /** Name of the resource that stores its items; null if there is none. */
  readonly resource: string | null;
  readonly about: string | null;
}

/** The endpoints in upstream's OpenAPI document. */
export interface EndpointList {
  readonly endpoints: readonly ListedEndpoint[];
  /** Number of paths that were not read, because the document has too many or they are too long. */
  readonly ignored: number;
  /** Paths of declared resources that the document does not list. */
  readonly unlisted: readonly string[];
}

/**
 * Reads upstream's OpenAPI document with one request and lists its GET endpoints, in the order of the document.
 *
 * @throws `UpstreamError` if upstream has no document, and `config_invalid`
 */
export async function listEndpoints(context: Context): Promise<EndpointList> {
  const { config, clock, signal } = context;
  const upstream = config.upstream();
  const { resources } = catalogueOf(config);
  const basePath = basePathOf(upstream);
  const { budget, close } = await openBudget(context);
  const client = createClient({ ...upstream, budget, clock, connections: 1 });
  try {
    const request = { path: OPENAPI_PATH, query: {}, route: OPENAPI_PATH };
    const { value } = await client.get(request, (document) => readEndpoints(document, basePath), { signal });
    const classified = classifyEndpoints(value.endpoints, resources);
    const generic = new Set(resources.filter((one) => one.generic === true).map(({ name }) => name));
    const endpoints = classified.map(({ endpoint: { path, about }, state, reason, resource }) => ({
      path,
      state: resource !== null && generic.has(resource) ? ('mirrored' as const) : state,
      reason,
      resource,
      about,
    }));
    const listed = new Set(endpoints.map(({ resource }) => resource));
    const unlisted = resources.filter(({ name }) => !listed.has(name)).map(({ path }) => path);
    return { endpoints, ignored: value.ignored, unlisted };
  } catch (thrown) {
    throw toWorkspaceError(thrown);
  } finally {
    await client.close();
    await close();
  }
}
