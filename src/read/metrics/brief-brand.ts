import { z } from 'zod';
import { defineOperation } from '../../contract/operation/operation.ts';
import { brief } from '../../metrics/explain/brief-result.ts';
import { readBrief, type UnlinkedFinding } from '../../metrics/explain/brief.ts';
import type { ChangeScope } from '../../metrics/explain/change-units.ts';
import type { DayRange } from '../../metrics/model/scope-sql.ts';
import { CHANGE_PAGES, LOST_PROMPTS_BLOCK, opportunitiesOf, type PageView } from './result-pages.ts';
import { freshnessOf } from './scope-freshness.ts';
import { oneBrand, oneOfBrands, rangeInput, readScope } from './scope-request.ts';
import type { MetricsSource } from './table-result.ts';

/** Says in one or two sentences and up to four findings what happened to a brand. */
export const briefBrand = defineOperation({
  name: 'brief',
  path: '/data/brief',
  title: 'Brief',
  about: 'What happened to a brand: a headline, at most four findings, and what to do.',
  input: z.object({ ...rangeInput, brand: oneOfBrands }),
  output: brief,
  run: async (source: MetricsSource, { brand, from, to }) => {
    const input = { from, to, brand: brand === undefined ? [] : [brand] };
    return source.replica.workLong(async (query) => {
      const scope = await readScope(source, query, input);
      const brandId = await oneBrand(query, scope, input);
      const compared = { ...scope, before: scope.before as DayRange, brandId };
      const { conventions, mayRepeat } = source.replica;
      const { findings, ...found } = await readBrief(query, { scope: compared, labels: conventions.labels, mayRepeat });
      const { asOf, completeTo, partial } = freshnessOf(source, compared);
      return {
        brandId,
        brand: source.replica.brands.get(brandId)?.name ?? brandId,
        from: compared.from,
        to: compared.to,
        beforeFrom: compared.before.from,
        beforeTo: compared.before.to,
        ...found,
        findings: findings.map((one) => ({ ...one, page: pageOf(one, compared) })),
        asOf,
        completeTo,
        partial,
      };
    }, source.signal);
  },
});

function pageOf(finding: UnlinkedFinding, { brandId, from, to }: ChangeScope): string {
  const { kind, engine } = finding;
  const { path, more } = viewOf(finding);
  const filters = { brand: brandId, from, to, ...(engine === null ? {} : { engine }) };
  const block = kind === 'prompt_lost' ? `#${LOST_PROMPTS_BLOCK}` : '';
  return `${path}?${new URLSearchParams({ ...filters, ...more })}${block}`;
}

function viewOf({ kind, metric }: UnlinkedFinding): PageView {
  switch (kind) {
    case 'metric':
    case 'engine':
      return { path: '/explain', more: { view: metric ?? 'visibility' } };
    case 'prompt_won':
      return { ...CHANGE_PAGES[kind], more: { sort: '-visibility_change' } };
    case 'prompt_lost':
    case 'alert':
      return CHANGE_PAGES[kind];
    default:
      return opportunitiesOf(kind);
  }
}
