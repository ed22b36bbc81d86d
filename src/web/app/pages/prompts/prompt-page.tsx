import type { JSX } from 'preact';
import { Frame } from '../../components/chart-frame.tsx';
import { FilterBar } from '../../components/filter-bar.tsx';
import { EmptyState, PageHead, Timestamp } from '../../components/parts.tsx';
import { useQuery } from '../../state/data.tsx';
import { NO_VALUE } from '../../state/format.ts';
import { Link, type PageProps } from '../../state/router.tsx';
import { ScopeWith, useScope } from '../../state/scope.tsx';
import { numberOf, type Row, textOf, toRecords } from '../../state/table.ts';
import { TopDomains } from '../overview/cited-sources.tsx';
import { OverviewTiles } from '../overview/overview-tiles.tsx';
import { RecentResponses } from '../responses/recent-responses.tsx';
import { PromptEntities } from './prompt-entities.tsx';
import { PromptEngines } from './prompt-history.tsx';
import { PromptVersions } from './prompt-versions.tsx';
import { namesOf } from './prompts-columns.tsx';
import '../../styles/prompts.css';

const WITHOUT = ['topic', 'tag', 'branded'] as const;

/** One prompt: its groups now and then, its measures per engine, its competitors, sources and responses. */
export default function PromptPage({ params: { id = '' } }: PageProps): JSX.Element {
  const { linkTo } = useScope();
  const data = useQuery('prompt_detail', { id });
  const row = toRecords(data.table)[0] ?? null;
  const isUnknown = data.error?.code === 'invalid_parameter' || (data.table !== null && row === null);
  if (isUnknown) {
    return (
      <EmptyState>
        <h1>Prompt not found</h1>
        <p>No stored prompt has this id. It may belong to a brand that your key cannot read.</p>
        <Link to={linkTo('/prompts')}>All prompts</Link>
      </EmptyState>
    );
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
      >
        <FilterBar without={WITHOUT} />
      </PageHead>
      <ScopeWith changes={{ prompt: id, topic: null, tag: null, branded: null }}>
        <OverviewTiles />
        <div class="grid">
          <PromptEngines />
          <div class="pair">
            <PromptEntities />
            <TopDomains />
            <Frame
              title="The prompt now"
              about="Its current groups and state, as upstream reports them."
              data={data}
              empty="Nothing is stored about this prompt."
            >
              {row !== null && <PromptFacts row={row} />}
            </Frame>
            <PromptVersions id={id} />
          </div>
          <RecentResponses prompt={id} />
        </div>
      </ScopeWith>
    </>
  );
}

function PromptFacts({ row }: { readonly row: Row }): JSX.Element {
  const { format, linkTo } = useScope();
  const { topic, branded, responses } = row;
  const tags = namesOf(row['tags']);
  const time = (name: string): JSX.Element => <Timestamp time={textOf(row[name]) || null} />;
  return (
    <dl class="facts">
      <dt>State</dt>
      <dd>
        {textOf(row['state'])}
        {row['deleted_at'] !== null && <> since {time('deleted_at')}, when a sync found it missing</>}
      </dd>
      <dt>Topic</dt>
      <dd dir="auto">
        {topic === null || topic === undefined ? (
          NO_VALUE
        ) : (
          <Link to={linkTo('/prompts', { topic: textOf(row['topic_id']) })}>{textOf(topic)}</Link>
        )}
      </dd>
      <dt>Tags</dt>
      <dd dir="auto">
        {tags.length === 0
          ? NO_VALUE
          : tags.map(({ id, name }, index) => (
              <span key={id}>
                {index > 0 && ', '}
                <Link to={linkTo('/prompts', { tag: id })}>{name}</Link>
              </span>
            ))}
      </dd>
      <dt>Branded</dt>
      <dd>{branded === null ? NO_VALUE : branded === true ? 'yes, it names the brand' : 'no'}</dd>
      <dt>Funnel stage</dt>
      <dd dir="auto">{textOf(row['funnel_stage']) || NO_VALUE}</dd>
      <dt>Added</dt>
      <dd>{time('created_at')}</dd>
      <dt>Responses</dt>
      <dd>
        <span data-value={numberOf(responses) ?? undefined}>{format.value(responses, 'count')}</span> on all days, from{' '}
        {format.day(textOf(row['first_at']).slice(0, 10))} to {format.day(textOf(row['last_at']).slice(0, 10))}
      </dd>
      <dt>Last synced</dt>
      <dd>{time('synced_at')}</dd>
    </dl>
  );
}
