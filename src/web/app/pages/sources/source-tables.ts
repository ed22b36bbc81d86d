import type { TableSpec } from '../../components/data-table.tsx';
import { markColumn } from '../../components/mark-column.tsx';
import { textOf } from '../../state/table.ts';
import { PAGE } from './page-table.tsx';

/** Maximum number of domains that are shown. */
const GAPS_MAX = 500;

/** All domains that are cited for competitors and never for the brand. */
export const GAPS: TableSpec = {
  query: 'gap_domains',
  request: { limit: GAPS_MAX },
  title: 'Gaps',
  about:
    'Domains cited by responses that mention a competitor, and by no response of the range that mentions the brand.',
  empty:
    'No domain is cited for competitors only. Shorter ranges and more filters show more gaps, because one response with the brand removes a domain from the list.',
  sort: '-responses',
  isMain: true,
  columns: [
    'domain',
    'owner',
    {
      name: 'responses',
      to: ({ domain }, { linkTo }) => linkTo('/responses', {}, { search: textOf(domain), mentioned: 'false' }),
    },
    {
      name: 'share',
      about: 'Share of the responses that mention a tracked competitor and not the brand (n).',
      n: 'responses_of_all',
    },
    markColumn(() => 'source_gap', 'domain'),
  ],
  facets: ['mark', 'owner'],
};

/** The pages of the brand that are cited now, or were in the comparison range. */
export const OWN_PAGES: TableSpec = {
  query: 'own_cited_pages',
  title: 'Own pages',
  about: 'Pages of the brand’s domains that are cited in this range or in the comparison range.',
  empty: 'No response cites a page of the brand, or the website of the brand is not known.',
  columns: [
    PAGE,
    {
      name: 'state',
      about:
        'new: cited only in this range; dropped: only in the comparison range; kept: in both; cited: without a comparison.',
    },
    'citations',
    { name: 'before_citations', label: 'Before' },
  ],
  hidden: ['url'],
  facets: ['state'],
};

/** Citations of a domain by engine. */
export const DOMAIN_ENGINES: TableSpec = {
  query: 'domain_history',
  title: 'By engine',
  about: 'Citations and citing responses of the range by engine.',
  columns: [
    {
      name: 'engine',
      value: ({ engine }, { engineLabel }) => (engine === null ? 'All engines' : engineLabel(textOf(engine))),
    },
    'citations',
    'responses',
    { name: 'share', n: 'responses_of_all' },
  ],
};

/** The newest responses that cite a domain. */
export const CITING_RESPONSES: TableSpec = {
  query: 'domain_responses',
  title: 'Newest responses that cite it',
  about: 'At most 20; the link lists all.',
  linkLabel: 'All responses',
  empty: 'No response in this range cites the domain.',
  columns: [
    {
      name: 'prompt',
      label: 'Response',
      to: (row, { linkTo }) => linkTo(`/responses/${textOf(row['response_id'])}`),
      below: (row, { engineLabel }) => engineLabel(textOf(row['engine'])),
    },
    {
      name: 'brand_mentioned',
      label: 'Brand',
      value: (row) => (row['brand_mentioned'] === true ? 'mentioned' : 'not mentioned'),
    },
    'citations',
    { name: 'created_at', label: 'Time' },
  ],
};
