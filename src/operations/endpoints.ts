import { SightlineError } from '../base/errors.ts';
import { declareForms, toDeclarationData } from '../contract/generic/generic-declarations.ts';
import { classifyEndpoints, type EndpointState } from '../contract/openapi/classify.ts';
import { readEndpoints } from '../contract/openapi/document-endpoints.ts';
import { shapeOfPath } from '../contract/openapi/references.ts';
import { catalogueOf, declaredCatalogue } from '../session/catalogues.ts';
import { readStoredForms } from '../session/stored-forms-file.ts';
import type { Context } from '../session/workspace.ts';
import { layoutOf } from '../snapshot/layout.ts';
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

/**
 * Returns the inferred declaration of an endpoint, by its path or the name of its resource, as data that a file of the setting
 * `schemas` may have.
 *
 * @throws `not_found` if no declaration was inferred
 */
export function readInferredDeclaration(
  { config }: Pick<Context, 'config'>,
  endpoint: string,
): Readonly<Record<string, unknown>> {
  const forms = readStoredForms(layoutOf(config.folder).endpoints);
  const { resources } = declaredCatalogue(config);
  const inferred = declareForms(resources, forms);
  const declaration = inferred.find(
    ({ name, path }) => name === endpoint || shapeOfPath(path) === shapeOfPath(endpoint),
  );
  const form = forms.find(({ name }) => name === declaration?.name);
  if (declaration !== undefined && form !== undefined) return toDeclarationData(form, declaration);
  const known = inferred.map(({ path }) => path).join(', ');
  throw new SightlineError(
    'not_found',
    `no declaration of ${endpoint} was inferred; allowed: ${known === '' ? 'none, because no endpoint is mirrored yet' : known}`,
    { hint: 'Run `sightline endpoints` to list the endpoints, and `sightline sync` to mirror them.' },
  );
}
