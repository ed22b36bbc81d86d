import { builtInCatalogue } from '../../src/workspace/catalogues.ts';
import type { Alteration, Body, Row } from './deviating-upstream.ts';

/** An alteration of upstream's responses, and how a comparison must report it. */
export interface Deviation extends Alteration {
  readonly name: string;
  readonly resource: string;
  /** Part of the reported field. */
  readonly field: string;
  /** Parameters of a request whose response the alteration changes; default: none. */
  readonly query?: string;
  /** Requests of the comparison, of which few are for a second page; default: 14. */
  readonly requests?: number;
}

type Changed = Pick<Deviation, 'field' | 'alter' | 'rewrite' | 'query' | 'requests'>;

const rowsOf = ({ data = [] }: Body): Row[] => data;
const number = (value: unknown): number => Number(value ?? 0);
const body = (field: string, alter: (body: Body) => Body | number): Changed => ({ field, alter });
const rows = (field: string, alter: (rows: Row[]) => Row[]): Changed =>
  body(field, (whole) => ({ ...whole, data: alter(rowsOf(whole)) }));
const withValue = (row: Row, field: string, value: (row: Row) => unknown): Row => ({ ...row, [field]: value(row) });
const each = (field: string, value: (row: Row) => unknown): Changed =>
  rows(field, (all) => all.map((row) => withValue(row, field, value)));
const first = (field: string, value: (row: Row) => unknown): Changed =>
  rows(field, ([row = {}, ...others]) => [withValue(row, field, value), ...others]);
const request = (rewrite: (query: URLSearchParams) => void): Changed => ({ field: 'data[]', rewrite });

const changes: readonly (readonly [name: string, resource: string, change: Changed])[] = [
  ['another title of a page', 'cited_urls', first('title', () => 'Another title')],
  ['a page less', 'cited_urls', rows('data[]', (all) => all.slice(1))],
  ['domains in another order', 'cited_domains', { ...rows('order', (all) => all.toReversed()) }],
  ['shares with another rounding', 'cited_domains', each('share', (row) => number(row['share']) + 0.04)],
  [
    'domains with the prefix www',
    'cited_domains',
    { ...each('domain', (row) => `www.${String(row['domain'])}`), field: 'data[]' },
  ],
  ['no number of responses', 'metrics', body('responses', ({ responses: _, ...others }) => others)],
  [
    'zero for null',
    'metrics',
    { ...each('avgPosition', (row) => row['avgPosition'] ?? 0), query: 'from=2026-03-01&to=2026-03-01' },
  ],
  [
    'an echoed range of timestamps',
    'metrics_daily',
    body('from', (all) => withValue(all, 'from', ({ from }) => `${from}T00:00:00Z`)),
  ],
  [
    'an additional prompt',
    'metrics_prompts',
    rows('data[]', (all) => [...all, { ...all[0], promptId: '11111111-1111-4111-8111-111111111111' }]),
  ],
  [
    'one top competitor',
    'metrics_prompts',
    each('topCompetitors', (row) => (row['topCompetitors'] as unknown[]).slice(0, 1)),
  ],
  ['a rejected grouping', 'metrics_groups', body('status', () => 400)],
  ['ids in upper case', 'responses', each('id', (row) => String(row['id']).toUpperCase())],
  ['times in whole seconds', 'responses', each('createdAt', (row) => String(row['createdAt']).replace(/\.\d+Z/, 'Z'))],
  ['a page of half the size', 'responses', rows('data[]', (all) => all.slice(0, Math.floor(all.length / 2)))],
  ['a field that was not declared', 'alerts', each('severity', () => 'high')],
  ['an article that is gone', 'article', body('status', () => 404)],
  [
    'a second page that repeats the first',
    'responses',
    { ...request((query) => query.delete('cursor')), requests: 120 },
  ],
  ['a filter that is ignored', 'responses', request((query) => query.delete('engine'))],
  ['another default of the limit', 'responses', request((query) => query.has('limit') || query.set('limit', '10'))],
  [
    'no further pages',
    'responses',
    { ...body('nextCursor', (all) => ({ ...all, nextCursor: null })), query: 'limit=5', requests: 40 },
  ],
];

/** Alterations of responses that a plausible upstream could make. */
export const deviations: readonly Deviation[] = changes.map(([name, resource, change]) => {
  const path = builtInCatalogue.get(resource).path.replaceAll(/\{\w+\}/g, '[^/]+');
  return { name, resource, path: new RegExp(`^/v1${path}$`), ...change };
});
