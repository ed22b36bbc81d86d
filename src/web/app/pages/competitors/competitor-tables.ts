import type { TableSpec } from '../../components/data-table.tsx';
import { ENTITY_MEASURES } from '../../state/shown-measures.ts';
import { textOf } from '../../state/table.ts';

const MEASURES = ENTITY_MEASURES.map(({ name }) => name);

/** Measures of the brand and of each tracked competitor, with their changes. */
export const ENTITIES: TableSpec = {
  query: null,
  request: { metrics: MEASURES.join(), group_by: 'entity' },
  title: 'Brand and competitors',
  about:
    'The sample n is responses, or mentions for position and sentiment. A change is beyond chance if chance rarely explains it, corrected for the number of competitors.',
  sort: '-visibility',
  isMain: true,
  columns: ['entity', 'visibility', 'visibility_change', ...MEASURES.slice(1)],
  hidden: MEASURES.slice(1).map((name) => `${name}_change`),
};

/** Responses that mention the brand and a competitor, and who is named first. */
export const CO_MENTIONS: TableSpec = {
  query: 'co_mentions',
  title: 'Mentioned together',
  about: 'Responses that mention both the brand and a competitor, and how often the brand comes first.',
  empty: 'The brand has no tracked competitors.',
  sort: '-together',
  columns: [
    'competitor',
    {
      name: 'together',
      label: 'Both mentioned',
      to: (row, { linkTo }) =>
        linkTo('/responses', { competitor: textOf(row['competitor_id']) }, { mentioned: 'true' }),
    },
    {
      name: 'share',
      label: 'Share of its mentions',
      about: 'Of the responses that mention the competitor, the share that also mentions the brand.',
      n: 'mentions',
    },
    {
      name: 'ahead_share',
      label: 'Brand first',
      about: 'Of the responses that mention both with positions, the share in which the brand comes first.',
      bounds: 'ahead',
      n: 'placed',
    },
  ],
};

/** The domains cited by responses that mention a competitor. */
export const CITED_WITH_IT: TableSpec = {
  query: 'competitor_domains',
  title: 'Cited with it',
  about: 'Domains cited by responses that mention the competitor; its own domains first.',
  empty: 'No response in this range mentions the competitor and cites a page.',
  columns: [
    'domain',
    'owner',
    {
      name: 'share',
      about: 'Of the responses that mention the competitor (n), the share that cites the domain.',
      n: 'mentions',
    },
    'responses',
    { name: 'with_brand', label: 'With the brand' },
  ],
  facets: ['owner'],
};
