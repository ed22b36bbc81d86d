import type { TableSpec } from '../../components/data-table.tsx';
import { markColumn } from '../../components/mark-column.tsx';
import { HISTORY, STATUS } from '../../components/state-history.tsx';
import { textOf } from '../../state/table.ts';

/** All articles that syncs stored. */
export const ARTICLES: TableSpec = {
  query: 'article_list',
  of: 'brand',
  title: 'Articles',
  about: 'Articles of all days, including articles that the API no longer lists.',
  empty: 'No articles yet.',
  sort: '-created_at',
  isMain: true,
  columns: [
    {
      name: 'title',
      value: ({ title, type }) => textOf(title) || `Untitled ${textOf(type)}`,
      to: (row, { linkTo }) => linkTo('/content', {}, { view: 'articles', article: textOf(row['article_id']) }),
    },
    STATUS,
    'prompt',
    { name: 'word_count', label: 'Words' },
    { name: 'created_at', label: 'Ordered', unit: 'day' },
    { name: 'completed_at', label: 'Finished', unit: 'day' },
  ],
  hidden: [HISTORY, { name: 'credits_charged', label: 'Credits' }, 'sources', 'type', 'quality', 'format'],
  facets: ['status'],
};

/** All proposed actions that syncs stored, open ones first. */
export const ACTIONS: TableSpec = {
  query: 'action_list',
  of: 'brand',
  title: 'Actions',
  about: 'Actions proposed for prompts that competitors win, including actions that the API no longer lists.',
  empty: 'No action plans yet. Plans are generated in the app of the service.',
  isMain: true,
  columns: [
    {
      name: 'title',
      label: 'Action',
      below: ({ detail }) => <span class="detail">{textOf(detail)}</span>,
    },
    {
      name: 'done',
      label: 'State',
      value: ({ done, gone_at: gone }) =>
        `${done === true ? 'done' : 'open'}${gone === null ? '' : ', no longer listed'}`,
      isTag: true,
    },
    'prompt',
    {
      name: 'lost',
      about: 'Responses that competitors won and all responses to the prompt in 14 days, as the API reports them.',
      below: ({ answers }, { format }) => <span class="unbroken">of {format.value(answers, 'count')}</span>,
    },
    { name: 'target_url', label: 'Page', url: ({ target_url: url }) => textOf(url) },
    markColumn(() => 'action', 'action_id'),
  ],
  hidden: [
    {
      name: 'done_at',
      label: 'Done since',
      about: 'Time of the first sync that found the action done.',
      unit: 'day',
    },
    'detail',
    {
      name: 'recorded_since',
      about: 'Time of the first sync that found the action.',
      unit: 'day',
    },
    'kind',
    'evidence',
  ],
  facets: ['mark', 'done', 'kind'],
};

/** All forum threads that syncs stored. */
export const THREADS: TableSpec = {
  query: 'forum_list',
  of: 'brand',
  title: 'Forum threads',
  about: 'Threads of all days, including threads that the API no longer lists.',
  empty: 'No forum threads yet.',
  sort: '-citing_responses',
  isMain: true,
  columns: [
    {
      name: 'title',
      label: 'Thread',
      value: ({ title, url }) => textOf(title) || textOf(url),
      url: ({ url }) => textOf(url),
      below: ({ subforum }) => textOf(subforum) || null,
    },
    {
      name: 'type',
      about: 'ai: engines cite the thread; outreach: the brand could join it.',
      isTag: true,
    },
    STATUS,
    { name: 'citing_responses', label: 'Cited by' },
    { name: 'citing_articles', label: 'In articles' },
    'comments',
  ],
  hidden: [
    HISTORY,
    { name: 'subforum', label: 'Community' },
    'upvotes',
    { name: 'cited_at', label: 'Cited on', unit: 'day' },
  ],
  facets: ['type', 'status'],
};
