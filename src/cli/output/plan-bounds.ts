import type { PricedPlan } from '../../operations/plan.ts';
import { count } from './output.ts';

/** Formats the bounds of an estimate in parentheses; empty if they equal the estimate. */
export function boundsText({ requests, least, most }: Pick<PricedPlan, 'requests' | 'least' | 'most'>): string {
  if (least === requests && most === requests) return '';
  return most === null ? ` (at least ${count(least)})` : ` (${count(least)} to ${count(most)})`;
}
