import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import { Frame } from '../../components/chart-frame.tsx';
import { type ColumnSpec, DataTable } from '../../components/data-table.tsx';
import { OuterLink } from '../../components/markdown.tsx';
import { useQuery } from '../../state/data.tsx';
import { Link } from '../../state/router.tsx';
import { type Scope, useScope } from '../../state/scope.tsx';
import { numberOf, type Row, textOf, toRecords } from '../../state/table.ts';

/** All proposed actions that syncs stored, open ones first. */
export function ActionTable(): JSX.Element {
  const { brand, linkTo, format } = useScope();
  const data = useQuery('action_list', brand === null ? null : { brand: brand.id });
  const items = useMemo(() => toRecords(data.table), [data.table]);
  const done = items.filter((row) => row['done'] === true).length;
  const columns = useMemo(() => columnsOf(linkTo, format), [linkTo, format]);
  return (
    <div class="full">
      <Frame
        title="Actions"
        about={`Actions proposed for prompts that competitors win, including actions that the API no longer lists. ${format.value(done, 'count')} done, ${format.value(items.length - done, 'count')} open.`}
        data={data}
        empty="No action plans yet. Plans are generated in the app of the service."
      >
        <DataTable caption="Actions" items={items} columns={columns} keyOf={({ action_id: id }) => textOf(id)} />
      </Frame>
    </div>
  );
}

function columnsOf(linkTo: Scope['linkTo'], format: Scope['format']): readonly ColumnSpec<Row>[] {
  return [
    {
      id: 'title',
      label: 'Action',
      isWide: true,
      value: ({ title, detail }) => `${textOf(title)} ${textOf(detail)}`,
      cell: ({ title, detail }) => (
        <>
          <b dir="auto">{textOf(title)}</b>
          <span class="detail quiet" dir="auto">
            {textOf(detail)}
          </span>
        </>
      ),
    },
    {
      id: 'state',
      label: 'State',
      value: ({ done: isDone, gone_at: gone }) =>
        `${isDone === true ? 'done' : 'open'}${gone === null ? '' : ', no longer listed'}`,
    },
    {
      id: 'done_at',
      label: 'Done since',
      about: 'Time of the first sync that found the action done.',
      unit: 'day',
      value: ({ done_at: at }) => textOf(at) || null,
    },
    {
      id: 'recorded',
      label: 'Recorded since',
      about: 'Time of the first sync that found the action.',
      unit: 'day',
      value: ({ recorded_since: at }) => textOf(at) || null,
    },
    { id: 'kind', label: 'Kind', value: ({ kind }) => textOf(kind) },
    {
      id: 'prompt',
      label: 'Prompt',
      isWide: true,
      value: ({ prompt }) => textOf(prompt),
      cell: ({ prompt_id: id, prompt }) => (
        <Link to={linkTo(`/prompts/${textOf(id)}`)} dir="auto" class="clamped">
          {textOf(prompt) || textOf(id)}
        </Link>
      ),
    },
    {
      id: 'lost',
      label: 'Lost',
      about: 'Responses that competitors won and all responses to the prompt in 14 days, as the API reports them.',
      unit: 'count',
      value: ({ lost }) => numberOf(lost),
      cell: ({ lost, answers }) => `${format.value(lost, 'count')} of ${format.value(answers, 'count')}`,
    },
    {
      id: 'target',
      label: 'Page',
      isWide: true,
      value: ({ target_url: url }) => textOf(url),
      cell: ({ target_url: url }) => (url === null ? '–' : <OuterLink url={textOf(url)} />),
    },
    { id: 'evidence', label: 'Evidence', isHidden: true, isWide: true, value: ({ evidence }) => textOf(evidence) },
  ];
}
