import type { Clock } from '../base/clock.ts';
import type { PageDestinations } from './commit-page.ts';

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
