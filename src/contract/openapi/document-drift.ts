import type { Resource } from '../catalogue.ts';
import { createFindings, type Finding } from '../drift-findings.ts';
import type { ClassifiedEndpoint } from './classify.ts';
import { isPlainName } from './document-endpoints.ts';

/** Resource name of findings that concern the document and no resource. */
export const DOCUMENT_RESOURCE = 'openapi';

/** Findings of one resource. */
export interface ResourceFindings {
  readonly resource: string;
  readonly findings: readonly Finding[];
}

/**
 * Returns the differences between upstream's document and the declarations: endpoints that no declaration covers, and undeclared query
 * parameters of the others. `names` maps declared names of parameters to upstream's.
 */
export function findDocumentDrift(
  classified: readonly ClassifiedEndpoint[],
  resources: readonly Resource[],
  names: ReadonlyMap<string, Readonly<Record<string, string>>>,
): ResourceFindings[] {
  const others = createFindings();
  for (const { endpoint, state, reason } of classified) {
    if (state !== 'declared')
      others.add(null, endpoint.path, 'new_endpoint', reason ?? state, endpoint.about ?? undefined);
  }
  const byName = new Map(resources.map((resource) => [resource.name, resource]));
  const declared = classified.flatMap(({ endpoint, resource }): ResourceFindings[] => {
    const known = resource === null ? undefined : byName.get(resource);
    if (known === undefined) return [];
    const accepted = new Set([...Object.keys(known.query), ...Object.values(names.get(known.name) ?? {})]);
    const findings = createFindings();
    for (const { name, in: place, required, about } of endpoint.parameters) {
      if (place !== 'query' || accepted.has(name) || !isPlainName(name)) continue;
      findings.add(null, name, 'new_parameter', required ? 'required' : 'optional', about ?? undefined);
    }
    return [{ resource: known.name, findings: findings.take() }];
  });
  return [{ resource: DOCUMENT_RESOURCE, findings: others.take() }, ...declared].filter(
    ({ findings }) => findings.length > 0,
  );
}
