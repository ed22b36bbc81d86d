import type { JSX } from 'preact';
import { TableBlock } from '../../components/data-table.tsx';
import type { GivenColumn } from '../../components/table-columns.tsx';
import { useQuery } from '../../state/data.tsx';
import { useScope } from '../../state/scope.tsx';
import { textOf } from '../../state/table.ts';

const COLUMNS: readonly GivenColumn[] = [
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
    below: ({ answers }, { format }) => `of ${format.value(answers, 'count')}`,
  },
  { name: 'target_url', label: 'Page', url: ({ target_url: url }) => textOf(url) },
  {
    name: 'done_at',
    label: 'Done since',
    about: 'Time of the first sync that found the action done.',
    unit: 'day',
  },
];
const HIDDEN: readonly GivenColumn[] = [
  'detail',
  {
    name: 'recorded_since',
    about: 'Time of the first sync that found the action.',
    unit: 'day',
  },
  'kind',
  'evidence',
];
const FACETS = ['done', 'kind'];

/** All proposed actions that syncs stored, open ones first. */
export function ActionTable(): JSX.Element {
  const { brand } = useScope();
  return (
    <TableBlock
      title="Actions"
      about="Actions proposed for prompts that competitors win, including actions that the API no longer lists."
      data={useQuery('action_list', brand === null ? null : { brand: brand.id })}
      empty="No action plans yet. Plans are generated in the app of the service."
      columns={COLUMNS}
      hidden={HIDDEN}
      facets={FACETS}
      isMain
    />
  );
}
