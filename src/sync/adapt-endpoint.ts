import { BodyError } from '../contract/body.ts';
import { brandListOf, type Catalogue } from '../contract/catalogue.ts';
import {
  adaptForm,
  checkPage,
  formOfEndpoint,
  type GenericForm,
  ITEMS_MAX,
  itemsIn,
  type SeenResponse,
  type Taken,
} from '../contract/generic/generic-form.ts';
import type { ClassifiedEndpoint } from '../contract/openapi/classify.ts';
import type { DocumentEndpoint } from '../contract/openapi/document-endpoints.ts';
import { shapeOfPath } from '../contract/openapi/references.ts';
import { readSchema } from '../contract/openapi/schema-form.ts';
import { UpstreamError } from '../upstream/errors.ts';
import type { GenericEndpoints } from '../warehouse/generic/generic-endpoints.ts';
import type { Warehouse } from '../warehouse/warehouse.ts';
import type { SelectedEndpoint } from './select-endpoints.ts';
import type { Slice } from './slice.ts';

/** A response has shown another form of its list, so that the slice is read again from the first page. */
export class FormChanged extends UpstreamError {
  constructor(path: string) {
    super('bad_answer', `the list ${path} has other pages than its first responses showed`, {
      status: 200,
    });
  }
}

/** A list of an undeclared endpoint has items that cannot be requested. */
export class UnsupportedList extends UpstreamError {
  constructor(reason: string) {
    super('bad_answer', reason, { status: 200 });
  }
}

/** Adapts the inferred declarations of a warehouse to upstream's OpenAPI document and responses. */
export interface EndpointAdapter {
  /**
   * Adds resources for the endpoints that have none, and returns the paths of those that cannot be declared. `at` is upstream's time,
   * epoch milliseconds.
   */
  discover(endpoints: readonly ClassifiedEndpoint[], at: number): Promise<string[]>;
  /** Whether the document, if there is one, has the endpoint of a resource in a form that can be read, unless it is declared. */
  isAvailable(resource: string): boolean;
  /**
   * Checks the place of the items in a response of an inferred resource.
   * @throws BodyError if the response has no items where earlier ones had them
   */
  checkItems(resource: string, response: Pick<SeenResponse, 'body'>): void;
  /**
   * Runs `work` while no other slice changes the declaration of the resource.
   */
  exclusive<T>(resource: string, work: () => Promise<T>): Promise<T>;
  /**
   * Extends the declaration by a page of a list. Call it within `exclusive`.
   * @throws UnsupportedList if the list cannot be read; the endpoint's state has the reason
   */
  adapt(slice: Slice, response: SeenResponse, at: number): Promise<void>;
}

/** Dependencies of an adapter. */
export interface AdapterParts {
  readonly warehouse: Warehouse;
  readonly catalogue: Catalogue;
  /** Whether the settings select an endpoint; default: all. */
  readonly selects?: (endpoint: SelectedEndpoint) => boolean;
  /** Maximum number of endpoints; default: no limit. */
  readonly max?: number | undefined;
  /** Called with the number of selected endpoints beyond the maximum. */
  readonly onBeyond?: (count: number) => void;
}

/** Creates the adapter of a run. */
export function createEndpointAdapter(parts: AdapterParts): EndpointAdapter {
  const { endpoints } = parts.warehouse;
  let listed: ReadonlyMap<string, DocumentEndpoint> | null = null;
  const tails = new Map<string, Promise<unknown>>();
  const endpointOf = ({ path }: GenericForm): Pick<DocumentEndpoint, 'parameters' | 'response'> =>
    listed?.get(shapeOfPath(path)) ?? { parameters: [], response: () => readSchema(null, null) };
  return {
    checkItems: (resource, response) => {
      const form = endpoints.formOf(resource);
      if (form === null || itemsIn(form, response.body) === null)
        throw new BodyError(`the body has no items of ${resource}`);
    },
    discover: async (found, at) => {
      listed = new Map(
        found.flatMap(({ endpoint, state }) => (state === 'unsupported' ? [] : [[endpoint.shape, endpoint]])),
      );
      return adoptEach(endpoints, newForms(parts, found), at);
    },
    isAvailable: (resource) => {
      const form = endpoints.formOf(resource);
      return form === null || listed === null || listed.has(shapeOfPath(form.path));
    },
    exclusive: (resource, work) => {
      const result = (tails.get(resource) ?? Promise.resolve()).then(work);
      tails.set(
        resource,
        result.catch(() => undefined),
      );
      return result;
    },
    adapt: async ({ id, resource }, response, at) => {
      const form = endpoints.formOf(resource);
      if (form === null) return;
      const isTooLong = (itemsIn(form, response.body) ?? []).length > ITEMS_MAX;
      const adapted = isTooLong ? form : adaptForm(form, endpointOf(form), response);
      const checked = checkPage(adapted, id, response);
      if (checked !== form) await adoptAdapted(endpoints, checked, at);
      if (checked.unsupported?.list === id) throw new UnsupportedList(checked.unsupported.reason);
    },
  };
}

async function adoptAdapted(endpoints: GenericEndpoints, form: GenericForm, at: number): Promise<void> {
  await endpoints.adopt([form], at).catch((thrown: unknown) => {
    if (!isContradiction(thrown)) throw thrown;
    const message = `the items of ${form.path} cannot be stored: ${(thrown as Error).message}`;
    throw new UpstreamError('bad_answer', message, { status: 200, cause: thrown });
  });
}

// The forms of the selected endpoints that have none, up to the maximum.
function newForms(
  { warehouse, catalogue, selects = () => true, max = Number.POSITIVE_INFINITY, onBeyond }: AdapterParts,
  found: readonly ClassifiedEndpoint[],
): GenericForm[] {
  const known = new Set(warehouse.endpoints.forms().map(({ path }) => shapeOfPath(path)));
  const brands = brandListOf(catalogue).path;
  const taken = takenBy(catalogue);
  let [places, beyond] = [max - known.size, 0];
  const fresh = found.flatMap(({ endpoint, state }): GenericForm[] => {
    if (state !== 'available' || known.has(endpoint.shape)) return [];
    const form = formOfEndpoint(endpoint, brands, taken);
    if (!selects({ name: form.name, path: form.path, generic: true })) return [];
    if (places < 1) {
      beyond += 1;
      return [];
    }
    places -= 1;
    taken.resources.add(form.name);
    taken.tables.add(form.name).add(`${form.name}_history`);
    return [form];
  });
  if (beyond > 0) onBeyond?.(beyond);
  return fresh;
}

// One endpoint that contradicts another must not prevent the others.
async function adoptEach(endpoints: GenericEndpoints, forms: readonly GenericForm[], at: number): Promise<string[]> {
  try {
    await endpoints.adopt(forms, at);
    return [];
  } catch (thrown) {
    if (!isContradiction(thrown)) throw thrown;
    if (forms.length === 1) return forms.map(({ path }) => path);
  }
  const rejected: string[] = [];
  for (const form of forms) rejected.push(...(await adoptEach(endpoints, [form], at)));
  return rejected;
}

function isContradiction(thrown: unknown): boolean {
  return thrown instanceof TypeError || thrown instanceof RangeError;
}

function takenBy(catalogue: Catalogue): Taken & { readonly resources: Set<string>; readonly tables: Set<string> } {
  const { resources, tables, histories } = catalogue;
  return {
    resources: new Set(resources.flatMap(({ name, tool }) => [name, tool.replace(/^(?:list|get)_/, '')])),
    tables: new Set([...RESERVED_TABLES, ...tables.map(({ name }) => name), ...histories.map(({ name }) => name)]),
  };
}

/** Names that DuckDB or sightline use for schemas and databases. */
const RESERVED_TABLES = ['sync', 'mart', 'main', 'temp', 'system', 'information_schema', 'pg_catalog', 'warehouse'];
