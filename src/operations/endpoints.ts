import { z } from 'zod';
import { classifyEndpoints } from '../contract/openapi/classify.ts';
import { readEndpoints } from '../contract/openapi/document-endpoints.ts';
import { shapeOfPath } from '../contract/openapi/references.ts';
import { number, type ValueOf } from '../contract/operation/json-parts.ts';
import { layoutOf } from '../publish/snapshot/layout.ts';
import { OPENAPI_PATH } from '../upstream/discovery.ts';
import { toWorkspaceError } from '../upstream/errors.ts';
import { builtInCatalogue } from '../workspace/catalogues.ts';
import { readStoredForms } from '../workspace/stored-forms-file.ts';
import type { Context } from '../workspace/workspace.ts';
import { basePathOf, withClient } from './sync.ts';

/** The endpoints in upstream's OpenAPI document. */
export const endpointList = z.object({
  endpoints: z.array(
    z.object({
      path: z.string(),
      state: z
        .enum(['declared', 'mirrored', 'available', 'unsupported'])
        .describe(
          '`mirrored`: an inferred declaration covers the endpoint; `available`: none does, and all of its parameters have known values',
        ),
      reason: z.string().nullable().describe('why it is unsupported'),
      resource: z.string().nullable().describe('the resource that stores its items'),
      about: z.string().nullable().describe("its description in the API's document"),
    }),
  ),
  ignored: number.describe('paths beyond 5,000, or with more than 500 characters'),
  unlisted: z.array(z.string()).describe('paths of resources that the document does not list'),
});

type EndpointList = ValueOf<typeof endpointList>;
/** An endpoint in upstream's OpenAPI document. */
export type ListedEndpoint = EndpointList['endpoints'][number];

/**
 * Reads upstream's OpenAPI document with one request and lists its GET endpoints, in the order of the document.
 *
 * @throws `UpstreamError` if upstream has no document, and `config_invalid`
 */
export async function listEndpoints(context: Context): Promise<EndpointList> {
  const { config, signal } = context;
  const { resources } = builtInCatalogue;
  const forms = new Map(
    readStoredForms(layoutOf(config.folder).endpoints).map((form) => [shapeOfPath(form.path), form]),
  );
  const basePath = basePathOf(config.upstream());
  try {
    const request = { path: OPENAPI_PATH, query: {}, route: OPENAPI_PATH };
    const { value } = await withClient(context, { connections: 1 }, (client) =>
      client.get(request, (document) => readEndpoints(document, basePath), { signal }),
    );
    const classified = classifyEndpoints(value.endpoints, resources);
    const endpoints = classified.map(
      ({ endpoint: { path, shape, about }, state, reason, resource }): ListedEndpoint => {
        const form = state === 'declared' ? undefined : forms.get(shape);
        if (form === undefined) return { path, state, reason, resource, about };
        const why = reason ?? form.unsupported?.reason ?? null;
        return { path, state: why === null ? 'mirrored' : 'unsupported', reason: why, resource: form.name, about };
      },
    );
    const listed = new Set(value.endpoints.map(({ shape }) => shape));
    const known = [...resources, ...forms.values()].map(({ path }) => path);
    const unlisted = known.filter((path) => !listed.has(shapeOfPath(path)));
    return { endpoints, ignored: value.ignored, unlisted };
  } catch (thrown) {
    throw toWorkspaceError(thrown);
  }
}
