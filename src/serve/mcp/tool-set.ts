import type { Resource } from '../../contract/catalogue.ts';
import type { ServedNames } from '../../contract/query-parameters.ts';
import type { Service } from '../../read/service.ts';
import { brief, explainChange, findOpportunities, whatChanged } from './data-tools/explain-tools.ts';
import { listDimensionValues, listMetrics, queryMetrics } from './data-tools/metrics-tools.ts';
import { describeTable, listTables, query } from './data-tools/sql-tools.ts';
import { dictionaryOf, type Entry } from './endpoints/data-dictionary.ts';
import { endpointTools } from './endpoints/endpoint-tool.ts';
import type { Served } from './served.ts';
import type { Tool } from './tool.ts';

/** The tools that are not endpoints, in the order in which they are listed. */
export const dataTools: readonly Tool[] = [
  queryMetrics,
  listMetrics,
  listDimensionValues,
  brief,
  explainChange,
  whatChanged,
  findOpportunities,
  query,
  listTables,
  describeTable,
];

/** The tools of a server by name, and the data dictionary. Those of endpoints are derived from the catalogue and the data. */
export interface ToolSet {
  readonly tools: ReadonlyMap<string, Tool>;
  readonly dictionary: ReadonlyMap<string, Entry>;
}

/** Derives the tools for a service. Default: the only workspace; with several workspaces, the tools do not depend on data. */
export type Derive = (service?: Service) => Promise<ToolSet>;

/** Returns a function that derives the tools again only if new data change the served parameter names or the calibration. */
export function createToolSets(served: Served): Derive {
  const { catalogue, workspaces, hasSql } = served;
  const own = dataTools.filter(({ scope }) => scope !== 'sql' || hasSql);
  let known: ({ readonly key: string } & ToolSet) | undefined;
  const deriveFor = (service: Service | null): ToolSet => {
    const conventions = workspaces === null ? (service?.conventions() ?? null) : null;
    const names = catalogue.resources.map((resource) => service?.namesOf(resource) ?? {});
    const key = JSON.stringify([names, conventions]);
    if (known?.key === key) return known;
    const namesOf = (resource: Resource): ServedNames => names[catalogue.resources.indexOf(resource)] ?? {};
    const mayRead = (resource: Resource): boolean => service?.mayRead(resource) ?? true;
    const endpoints = endpointTools(catalogue, { namesOf, conventions, mayRead });
    const tools = new Map<string, Tool>();
    for (const tool of [...own, ...endpoints]) {
      if (tools.has(tool.name)) throw new TypeError(`two tools have the name ${tool.name}`);
      tools.set(tool.name, tool);
    }
    known = { key, tools, dictionary: dictionaryOf(catalogue, endpoints) };
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
