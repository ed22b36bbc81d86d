import { unitCtes } from '../model/answers-sql.ts';
import { measures } from '../model/measures.ts';
import type { DayRange, Scope } from '../model/scope-sql.ts';
import type { ExplainedMetric } from './explained-metrics.ts';

/** A scope of one brand and two periods. */
export interface ChangeScope extends Scope {
  readonly brandId: string;
  readonly before: DayRange;
}

/** The responses that an explanation compares, with their numerators and denominators of the metric. */
export interface ChangeUnits {
  readonly metric: ExplainedMetric;
  readonly scope: ChangeScope;
  /** Worths of the sentiment labels. */
  readonly labels: Readonly<Record<string, number>>;
  /** Whether a response may list the same competitor twice. */
  readonly mayRepeat: boolean;
}

/** Returns the WITH clause that ends with `units`, by the definition of the metrics layer. */
export function unitTables({ metric, ...request }: ChangeUnits): string {
  const measure = measures.find(({ name }) => name === metric);
  if (measure === undefined) throw new TypeError(`the metrics layer has no measure ${metric}`);
  return `WITH ${unitCtes(measure, request).join(',\n')}`;
}
