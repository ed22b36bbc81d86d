import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import { Frame } from '../../components/chart-frame.tsx';
import { DeclaredTable, type TableSpec } from '../../components/data-table.tsx';
import { namesOf } from '../../components/entity-list.tsx';
import { PageHead } from '../../components/page-head.tsx';
import { NotFound, Timestamp } from '../../components/parts.tsx';
import { RowFacts } from '../../components/row-facts.tsx';
import type { GivenColumn } from '../../components/table-columns.tsx';
import { useQuery } from '../../state/data.tsx';
import { NO_VALUE } from '../../state/format.ts';
import { Link, type PageProps } from '../../state/router.tsx';
import { ScopeWith, useScope } from '../../state/scope.tsx';
import { numberOf, textOf, toRecords } from '../../state/table.ts';
import { TopDomains } from '../overview/cited-sources.tsx';
import { OverviewTiles } from '../overview/overview-tiles.tsx';
import { responseColumns } from '../responses/response-columns.tsx';
import { PromptEngines } from './prompt-history.tsx';
import { PromptVersions } from './prompt-versions.tsx';

/** The newest responses of the prompt. */
const NEWEST = { compare_to: 'none', limit: 10 };
const WITHOUT = ['topic', 'tag', 'branded'] as const;

/** The brand and its competitors in the responses of the prompt, which is part of the scope. */
const ENTITIES: TableSpec = {
  query: null,
  request: {
    metrics: 'visibility,position,sentiment',
    group_by: 'entity',
    compare_to: 'none',
    order: '-visibility,entity',
  },
  title: 'Competitors in its responses',
  about: 'The brand and the tracked competitors that responses to this prompt mention.',
  page: ({ linkTo }) => linkTo('/competitors'),
  linkLabel: 'All competitors',
  sort: '-visibility',
  columns: [
    {
      name: 'entity',
      label: 'Brand or competitor',
      to: ({ competitor_id: id }, { linkTo, params }) =>
        linkTo('/responses', { prompt: textOf(params?.['prompt']), competitor: textOf(id) || null }),
    },
    { name: 'visibility', about: 'Share of the responses that mention it.' },
    { name: 'visibility_numerator', label: 'Mentions', about: 'Responses that mention it.', unit: 'count' },
    { name: 'position', about: 'Mean position in the responses that mention it.' },
    'sentiment',
  ],
};

const FACTS: readonly GivenColumn[] = [
  {
    name: 'state',
    below: ({ deleted_at: at }) =>
      at === null ? null : (
        <>
          since <Timestamp time={textOf(at)} />, when a sync found it missing
        </>
      ),
  },
  {
    name: 'topic',
    to: ({ topic_id: id }, { linkTo }) => (id === null ? null : linkTo('/prompts', { topic: textOf(id) })),
  },
  { name: 'tags', cell: ({ tags }) => <Tags tags={namesOf(tags)} /> },
  {
    name: 'branded',
    value: ({ branded }) => (branded === null ? null : branded === true ? 'yes, it names the brand' : 'no'),
  },
  'funnel_stage',
  { name: 'created_at', label: 'Added' },
  {
    name: 'responses',
    cell: ({ responses, first_at: first, last_at: last }, { format }) => (
      <>
        <span data-value={numberOf(responses) ?? undefined}>{format.value(responses, 'count')}</span>
        {first !== null && ` on all days, ${format.days(textOf(first).slice(0, 10), textOf(last).slice(0, 10))}`}
      </>
    ),
  },
  { name: 'synced_at', label: 'Last synced' },
];

/** One prompt: its groups now and then, its measures per engine, its competitors, sources and responses. */
export default function PromptPage({ params: { id = '' } }: PageProps): JSX.Element {
  const { linkTo } = useScope();
  const data = useQuery('prompt_detail', { id });
  const responses = useMemo(
    () => responseColumns((each) => linkTo(`/responses/${each}`, { prompt: id })),
    [linkTo, id],
  );
  const row = toRecords(data.table)[0] ?? null;
  const isUnknown = data.error?.code === 'invalid_parameter' || (data.table !== null && row === null);
  if (isUnknown) {
    const about = 'No stored prompt has this id. It may belong to a brand that your key cannot read.';
    return <NotFound what="Prompt" about={about} to={linkTo('/prompts')} linkLabel="All prompts" />;
  }
  return (
    <>
      <PageHead
        title={row === null ? 'Prompt' : textOf(row['text']) || 'Prompt without text'}
        about={
          <span class="links">
            <Link to={linkTo('/prompts')}>All prompts</Link>
            {row !== null && <span class="tag">{textOf(row['state'])}</span>}
          </span>
        }
        filters={{ without: WITHOUT }}
      />
      <ScopeWith changes={{ prompt: id, topic: null, tag: null, branded: null }}>
        <OverviewTiles />
        <div class="grid">
          <PromptEngines />
          <div class="pair">
            <DeclaredTable {...ENTITIES} />
            <TopDomains />
            <Frame
              title="The prompt now"
              about="Its current groups and state, as the API reports them."
              data={data}
              empty="Nothing is stored about this prompt."
            >
              {data.table !== null && <RowFacts table={data.table} columns={FACTS} />}
            </Frame>
            <PromptVersions id={id} />
          </div>
          <DeclaredTable
            query="response_list"
            request={NEWEST}
            title="Its responses"
            about="The newest responses of the range."
            page={(scope) => scope.linkTo('/responses', { prompt: id, topic: null, tag: null, branded: null })}
            linkLabel="All its responses"
            empty="No response of this prompt in the range. Choose a longer range."
            columns={responses}
          />
        </div>
      </ScopeWith>
    </>
  );
}

function Tags({ tags }: { readonly tags: ReturnType<typeof namesOf> }): JSX.Element {
  const { linkTo } = useScope();
  if (tags.length === 0) return <>{NO_VALUE}</>;
  return (
    <>
      {tags.map(({ id, name }, index) => (
        <span key={id}>
          {index > 0 && ', '}
          <Link to={linkTo('/prompts', { tag: id })}>{name}</Link>
        </span>
      ))}
    </>
  );
}
