import type { Clock } from '../base/clock.ts';
import type { Catalogue } from '../contract/catalogue.ts';
import { parameterForm } from '../contract/formats.ts';
import type { Client } from '../upstream/client.ts';
import { learnParameterNames, OPENAPI_PATH } from '../upstream/discovery.ts';
import { UpstreamError } from '../upstream/errors.ts';
import type { PageDestinations } from './commit-page.ts';
import type { RequestLog } from './request-log.ts';
import type { ParameterNames } from './slice.ts';

/** Stores the forms of upstream's responses that the specification leaves open; a replay needs them too. */
export type FormWriter = (resource: string, forms: ReadonlyMap<string, string>) => Promise<void>;

/** Creates a writer that stores changed forms only, because forms change rarely. */
export function createFormWriter({
  warehouse,
  archive,
  clock,
}: Pick<PageDestinations, 'warehouse' | 'archive'> & { readonly clock: Clock }): FormWriter {
  const noted = new Map<string, string>();
  return async (resource, forms) => {
    const fresh = [...forms].filter(([name, value]) => noted.get(`${resource} ${name}`) !== value);
    if (fresh.length === 0) return;
    await archive?.append({ kind: 'forms', resource, forms: Object.fromEntries(fresh), date: clock.now() });
    await warehouse.noteForms(resource, new Map(fresh));
    for (const [name, value] of fresh) noted.set(`${resource} ${name}`, value);
  };
}

/** Reads upstream's OpenAPI description for the parameter names that the specification leaves open, and stores them. */
export function learnNames(
  {
    catalogue,
    client,
    signal,
  }: { readonly catalogue: Catalogue; readonly client: Client; readonly signal: AbortSignal },
  log: RequestLog,
  noteForms: FormWriter,
): Promise<ParameterNames> {
  return log({ id: OPENAPI_PATH, resource: 'openapi' }, async (_requests, onAttempt) => {
    const asked = { path: OPENAPI_PATH, query: {}, route: OPENAPI_PATH };
    try {
      const read = (body: unknown) => learnParameterNames(catalogue.resources, body);
      const { value: found } = await client.get(asked, read, { signal, onAttempt });
      for (const [resource, names] of found) {
        const forms = Object.entries(names).map(([declared, name]): [string, string] => [
          parameterForm(declared),
          name,
        ]);
        await noteForms(resource, new Map(forms));
      }
      return found;
    } catch (thrown) {
      // Upstream may lack a description; then the declared names are used.
      if (!(thrown instanceof UpstreamError)) throw thrown;
      return new Map();
    }
  });
}
