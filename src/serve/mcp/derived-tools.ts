import type { Resource } from '../../contract/catalogue.ts';
import type { ServedNames } from '../../contract/query-parameters.ts';
import type { Service } from '../../query/service.ts';
import { dictionaryOf, type Entry } from './endpoints/data-dictionary.ts';
import type { ToolSet } from './endpoints/tool.ts';
import { createTools } from './endpoints/tools.ts';
import type { Served } from './served.ts';

/** The tools of the endpoints and the data dictionary, which are derived from the catalogue and the data. */
export interface Derived {
  readonly tools: ToolSet;
  readonly dictionary: ReadonlyMap<string, Entry>;
}

/** Derives the tools for a service. Default: the only workspace; with several workspaces, the tools do not depend on data. */
export type Derive = (service?: Service) => Promise<Derived>;

/** Returns a function that derives the tools again only if new data change the served parameter names or the calibration. */
export function createDerived(served: Served): Derive {
  const { catalogue, workspaces } = served;
  let known: ({ readonly key: string } & Derived) | undefined;
  const deriveFor = (service: Service | null): Derived => {
    const conventions = workspaces === null ? (service?.conventions() ?? null) : null;
    const names = catalogue.resources.map((resource) => service?.namesOf(resource) ?? {});
    const key = JSON.stringify([names, conventions]);
    if (known?.key === key) return known;
    const namesOf = (resource: Resource): ServedNames => names[catalogue.resources.indexOf(resource)] ?? {};
    const mayRead = (resource: Resource): boolean => service?.mayRead(resource) ?? true;
    const tools = createTools(catalogue, { namesOf, conventions, workspaces, mayRead });
    known = { key, tools, dictionary: dictionaryOf(catalogue, tools) };
    return known;
  };
  return async (service) => {
    if (service !== undefined) return deriveFor(service);
    if (workspaces !== null) return deriveFor(null);
    return served.use(null, async (one) => {
      // The calibration is read when the replica is opened.
      if (one.service.conventions() === null) await one.service.freshness();
      return deriveFor(one.service);
    });
  };
}
