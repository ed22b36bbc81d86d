import { builtInCatalogue } from '../../src/session/catalogues.ts';
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
  ['one citation more', 'cited_urls', first('citations', (row) => number(row['citations']) + 1)],
  ['domains in another order', 'cited_domains', { ...rows('order', (all) => all.toReversed()) }],
  ['shares with another rounding', 'cited_domains', each('share', (row) => number(row['share']) + 0.04)],
  [
    'domains with the prefix www',
    'cited_domains',
    { ...each('domain', (row) => `www.${String(row['domain'])}`), field: 'data[]' },
  ],
  ['visibility as a fraction', 'metrics', each('visibility', (row) => number(row['visibility']) / 100)],
  ['no number of responses', 'metrics', body('responses', ({ responses: _, ...others }) => others)],
  ['another name of the brand', 'metrics', first('name', () => 'Another')],
  [
    'zero for null',
    'metrics',
    { ...each('avgPosition', (row) => row['avgPosition'] ?? 0), query: 'from=2026-03-01&to=2026-03-01' },
  ],
  ['a competitor less', 'metrics', rows('data[]', (all) => all.slice(0, -1))],
  ['days in another order', 'metrics_daily', rows('order', (all) => all.toReversed())],
  [
    'an engine of combined rows',
    'metrics_daily',
    { ...each('engine', (row) => row['engine'] ?? 'all'), query: 'breakdown=none' },
  ],
  [
    'an echoed range of timestamps',
    'metrics_daily',
    body('from', (all) => withValue(all, 'from', ({ from }) => `${from}T00:00:00Z`)),
  ],
  ['mentions that count twice', 'metrics_daily', first('mentions', (row) => number(row['mentions']) + 1)],
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
  [
    'changes with the opposite sign',
    'metrics_prompts',
    each('visibilityChange', (row) => -number(row['visibilityChange']) - 1),
  ],
  ['all prompts of a group', 'metrics_groups', each('prompts', (row) => number(row['prompts']) + 1)],
  ['groups without names', 'metrics_groups', each('name', () => null)],
  ['a rejected grouping', 'metrics_groups', body('status', () => 400)],
  ['ids in upper case', 'responses', each('id', (row) => String(row['id']).toUpperCase())],
  ['times in whole seconds', 'responses', each('createdAt', (row) => String(row['createdAt']).replace(/\.\d+Z/, 'Z'))],
  [
    'a position that starts at 0',
    'responses',
    each('brandPosition', ({ brandPosition: at }) => (typeof at === 'number' ? at - 1 : at)),
  ],
  ['a page of half the size', 'responses', rows('data[]', (all) => all.slice(0, Math.floor(all.length / 2)))],
  ['a field that was not declared', 'alerts', each('severity', () => 'high')],
  ['another status of a thread', 'forum_opportunities', each('status', () => 'archived')],
  ['paused prompts in the list', 'prompts', each('active', (row) => row['active'] !== true)],
  ['another list of competitors', 'competitors', rows('order', (all) => all.toReversed())],
  ['revenue in another currency', 'traffic', body('currency', (all) => ({ ...all, currency: 'XXX' }))],
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
