import type { TableSpec } from '../../components/data-table.tsx';
import { Timestamp } from '../../components/parts.tsx';
import { textOf } from '../../state/table.ts';

/** The brand and the competitors that a response mentions. */
export const MENTIONS: TableSpec = {
  query: 'response_entities',
  of: 'request',
  title: 'Mentions',
  about: 'The brand and the competitors that the response mentions, in order of their positions.',
  empty: 'The response mentions neither the brand nor a competitor.',
  columns: [
    {
      name: 'entity',
      label: 'Brand or competitor',
      dot: (row, { entityColour }) =>
        row['is_tracked'] === true ? entityColour(textOf(row['competitor_id']) || null) : null,
      to: ({ competitor_id: id }, { linkTo }) =>
        id === null ? null : linkTo('/responses', { prompt: null, competitor: textOf(id) }),
      below: (row) => (row['is_tracked'] === true ? null : 'no longer tracked'),
    },
    { name: 'position', unit: 'count' },
    { name: 'sentiment', unit: 'text' },
  ],
};

const ALL_DAYS = { prompt: null, competitor: null, range: 'all', from: null, to: null } as const;

/** The pages that a response cites. */
export const CITED_PAGES: TableSpec = {
  query: 'response_sources',
  of: 'request',
  title: 'Cited pages',
  about: 'The pages that the response cites, their owners, and how often other responses of the brand cite them.',
  empty: 'The response cites no page.',
  columns: [
    {
      name: 'title',
      label: 'Page',
      value: ({ title, url }) => textOf(title) || textOf(url),
      url: ({ url }) => textOf(url),
      below: ({ url }) => <bdi class="clamped address">{textOf(url)}</bdi>,
    },
    'domain',
    'owner',
    {
      name: 'other_responses',
      label: 'Cited elsewhere',
      to: ({ url, other_responses: others }, { linkTo }) =>
        others === 0 ? null : linkTo('/responses', ALL_DAYS, { search: textOf(url) }),
      below: ({ other_responses: others, other_engines: engines, last_cited_at: last }, { format }) =>
        others === 0 ? null : (
          <>
            {format.value(engines, 'count')} engines, last <Timestamp time={textOf(last) || null} />
          </>
        ),
    },
    { name: 'position', unit: 'count' },
  ],
  hidden: ['url', { name: 'competitor', label: 'Owned by' }],
  sort: 'position',
};
