import { type Measure, measures } from '../model/measures.ts';

/** An aggregate over the rows of a dataset. */
interface Aggregate {
  readonly agg: 'sum' | 'count' | 'count_distinct';
  /** SQL expression over the columns of the dataset. */
  readonly expr: string;
}

/** The numerator or denominator of a measure. */
interface Part extends Aggregate {
  readonly name: string;
  readonly label: string;
  readonly about: string;
}

/** A measure on a dataset: the quotient of two parts, null if the second is 0; or the only part of a count. */
export interface ExportedMeasure {
  readonly name: string;
  readonly label: string;
  readonly about: string;
  readonly measure: Measure;
  readonly dataset: string;
  readonly parts: readonly Part[];
}

/** The exported measures, in the order of the model. Names of measures by entity begin with `entity_`, by domain with `domain_`. */
export const exportedMeasures: readonly ExportedMeasure[] = measures.flatMap((measure) => [
  ...onResponses(measure),
  ...byEntity(measure),
  ...byDomain(measure),
  ...ofTraffic(measure),
]);

/** The measures that are not exported. */
export const unexportedMeasures: readonly Measure[] = measures.filter(
  (measure) => !exportedMeasures.some((exported) => exported.measure === measure),
);

function exported(
  measure: Measure,
  dataset: string,
  aggregates: readonly [numerator: Aggregate, denominator?: Aggregate],
  by?: { readonly part: 'entity' | 'domain'; readonly about: string },
): ExportedMeasure {
  const name = by === undefined ? measure.name : `${by.part}_${measure.name}`;
  const label = by === undefined ? measure.label : `${measure.label} by ${by.part}`;
  const about = by === undefined ? measure.about : `${measure.about} ${by.about}`;
  const better = measure.direction === 'lower' ? ' Lower is better.' : '';
  const described = { name, label, about: `${about} Formula: ${measure.formula}.${better}`, measure, dataset };
  const [numerator, denominator] = aggregates;
  if (denominator === undefined) return { ...described, parts: [{ ...described, ...numerator }] };
  const part = (suffix: 'numerator' | 'denominator', aggregate: Aggregate): Part => {
    const text = `${label}: ${measure[suffix]}`;
    return { name: `${name}_${suffix}`, label: text, about: `${text}.`, ...aggregate };
  };
  return { ...described, parts: [part('numerator', numerator), part('denominator', denominator)] };
}

// Tools cannot use subqueries in measures, so the dataset has the result of the subquery as a column.
function withColumns(sql: string): string {
  return sql.replaceAll('(SELECT place FROM first_place)', 'first_place');
}

function sum(expr: string): Aggregate {
  return { agg: 'sum', expr };
}

function onResponses(measure: Measure): ExportedMeasure[] {
  const { response } = measure.sums;
  if (response === undefined) return [];
  const y = withColumns(response.y);
  const numerator: Aggregate = y === '1' ? { agg: 'count', expr: 'response_id' } : sum(y);
  if (measure.kind === 'count') return [exported(measure, 'responses', [numerator])];
  const isSized = measure.kind === 'ratio' && response.x !== undefined;
  return [exported(measure, 'responses', [numerator, isSized ? sum(response.x) : { agg: 'count', expr: y }])];
}

function byEntity(measure: Measure): ExportedMeasure[] {
  const { entity } = measure.sums;
  if (entity === undefined) return [];
  const y = withColumns(entity.y);
  const wholes: Readonly<Record<typeof entity.units, Aggregate>> = {
    mention: { agg: 'count', expr: y },
    response: { agg: 'count', expr: 'response_id' },
    voiced: sum('voices'),
  };
  // Without a mention, the summands of the mention are null.
  const numerator = sum(entity.units === 'mention' ? y : `CASE WHEN mentioned THEN ${y} ELSE 0 END`);
  const aggregates = measure.kind === 'count' ? ([numerator] as const) : ([numerator, wholes[entity.units]] as const);
  return [exported(measure, 'entity_responses', aggregates, { part: 'entity', about: 'Group by the entity.' })];
}

function byDomain(measure: Measure): ExportedMeasure[] {
  const { domain } = measure.sums;
  // A share of the citations of all domains cannot be exported; see `header`.
  if (domain === undefined || domain.units === 'citing') return [];
  // A response that cites two domains of an owner is one response.
  const numerator: Aggregate = domain.y === '1' ? { agg: 'count_distinct', expr: 'response_id' } : sum(domain.y);
  const about = 'Only citations that name a domain.';
  return [exported(measure, 'cited_domains', [numerator], { part: 'domain', about })];
}

function ofTraffic(measure: Measure): ExportedMeasure[] {
  const { traffic } = measure.sums;
  return traffic === undefined ? [] : [exported(measure, 'traffic', [sum(traffic.y)])];
}
