import type { JSX } from 'preact';
import { useCallback, useMemo } from 'preact/hooks';
import { BeforeAfter } from '../../components/before-after.tsx';
import { Frame } from '../../components/chart-frame.tsx';
import { Markdown, OuterLink } from '../../components/markdown.tsx';
import { EmptyState, Timestamp } from '../../components/parts.tsx';
import { StateList, statesOf } from '../../components/state-history.tsx';
import { addDays } from '../../state/calendar-days.ts';
import { useMetrics, useQuery } from '../../state/data.tsx';
import { Link } from '../../state/router.tsx';
import { useScope } from '../../state/scope.tsx';
import { type Row, textOf, toRecords } from '../../state/table.ts';

/** Days after an article was finished that are compared with as many before. */
const DAYS = 28;

/** One article: its states, its text and sources, and the visibility of its prompt before and after. */
export function ArticleDetail({ id }: { readonly id: string }): JSX.Element {
  const { brand, linkTo } = useScope();
  const data = useQuery('article_detail', brand === null ? null : { brand: brand.id, article: id });
  const row = useMemo(() => toRecords(data.table)[0] ?? null, [data.table]);
  const text = textOf(row?.['markdown']);
  return (
    <>
      <Frame
        title={textOf(row?.['title']) || 'Article'}
        data={data}
        to={linkTo('/content', {}, { view: 'articles' })}
        linkLabel="All articles"
        empty="No article with this id is stored for this brand."
      >
        {row !== null && <ArticleFacts row={row} />}
      </Frame>
      {row !== null && <PromptEffect row={row} />}
      {row !== null && (
        <Frame title="Text" about="As the API returned it; HTML in it is shown as text." data={data}>
          {text === '' ? <EmptyState>The API has not returned a text yet.</EmptyState> : <Markdown text={text} />}
        </Frame>
      )}
      {row !== null && (
        <Frame title="Sources" data={data}>
          <SourceList row={row} />
        </Frame>
      )}
    </>
  );
}

function ArticleFacts({ row }: { readonly row: Row }): JSX.Element {
  const { linkTo, format } = useScope();
  const since = textOf(row['recorded_since']) || null;
  return (
    <>
      <dl class="facts">
        <dt>State</dt>
        <dd>
          <StateList states={statesOf(row['states'])} goneAt={textOf(row['gone_at']) || null} />
          {statesOf(row['states']).length === 0 && (
            <span>
              <bdi>{textOf(row['status'])}</bdi>; its history was not recorded.
            </span>
          )}
        </dd>
        <dt>Prompt</dt>
        <dd>
          {row['prompt_id'] === null ? (
            'none'
          ) : (
            <Link to={linkTo(`/prompts/${textOf(row['prompt_id'])}`)} dir="auto">
              {textOf(row['prompt']) || textOf(row['prompt_id'])}
            </Link>
          )}
        </dd>
        <dt>Ordered</dt>
        <dd>
          <Timestamp time={textOf(row['created_at']) || null} />
        </dd>
        <dt>Finished</dt>
        <dd>
          <Timestamp time={textOf(row['completed_at']) || null} />
        </dd>
        <dt>Kind</dt>
        <dd dir="auto">
          {[row['type'], row['quality'], row['format'], row['topic']]
            .map((value) => textOf(value))
            .filter((value) => value !== '')
            .join(', ') || '–'}
        </dd>
        <dt>Length</dt>
        <dd>
          {format.value(row['word_count'], 'count')} words, {format.value(row['credits_charged'], 'count')} credits
        </dd>
        <dt>Keyword</dt>
        <dd dir="auto">{textOf(row['primary_keyword']) || '–'}</dd>
        <dt>Description</dt>
        <dd dir="auto">{textOf(row['meta_description']) || '–'}</dd>
      </dl>
      {since !== null && (
        <p class="quiet">
          sightline has recorded this article since <Timestamp time={since} />.
        </p>
      )}
    </>
  );
}

/** Visibility of the prompt in the days before and after the article was finished. */
function PromptEffect({ row }: { readonly row: Row }): JSX.Element {
  const { brand, brands } = useScope();
  const day = textOf(row['completed_day']);
  const prompt = textOf(row['prompt_id']);
  const last = brands.table?.completeTo ?? '';
  const to = [addDays(day || '2000-01-01', DAYS), last].sort()[0] ?? '';
  const from = day === '' ? '' : addDays(day, 1);
  const isKnown = day !== '' && prompt !== '' && from <= to;
  const data = useMetrics(
    !isKnown || brand === null
      ? null
      : { metrics: 'visibility', brand: brand.id, prompt, from, to, compare_to: 'previous' },
  );
  const nameOf = useCallback(() => ({ name: 'Visibility of the prompt', colour: 0 }), []);
  if (!isKnown) {
    return (
      <section class="panel" aria-label="Visibility of its prompt">
        <h2>Visibility of its prompt</h2>
        <EmptyState>
          {prompt === ''
            ? 'The article has no prompt.'
            : day === ''
              ? 'The article is not finished, so there are no days after it to compare.'
              : 'There are no complete days after the article was finished.'}
        </EmptyState>
      </section>
    );
  }
  return (
    <BeforeAfter
      title="Visibility of its prompt"
      about={`${from} to ${to}, after the article was finished, against as many days up to ${day}. The API does not say when it was published. A difference may have other causes.`}
      data={data}
      nameOf={nameOf}
    />
  );
}

interface Source {
  readonly url?: string;
  readonly title?: string;
  readonly fact?: string;
  readonly thread?: string | null;
}

function SourceList({ row }: { readonly row: Row }): JSX.Element {
  const { linkTo } = useScope();
  const sources = Array.isArray(row['sources']) ? (row['sources'] as readonly Source[]) : [];
  const references = Array.isArray(row['references']) ? (row['references'] as readonly unknown[]) : [];
  if (sources.length + references.length === 0) return <EmptyState>The API lists no source.</EmptyState>;
  return (
    <>
      <ol class="sources">
        {sources.map(({ url, title, fact, thread }, index) => (
          <li key={index}>
            <OuterLink url={textOf(url)}>{textOf(title) || textOf(url)}</OuterLink>
            {textOf(thread) !== '' && (
              <>
                {' '}
                (<Link to={linkTo('/content', {}, { view: 'forum' })}>forum thread</Link>)
              </>
            )}
            <span class="detail quiet" dir="auto">
              {textOf(fact)}
            </span>
          </li>
        ))}
      </ol>
      {references.length > 0 && (
        <>
          <h3>References</h3>
          <ul class="sources">
            {references.map((url, index) => (
              <li key={index}>
                <OuterLink url={textOf(url)} />
              </li>
            ))}
          </ul>
        </>
      )}
    </>
  );
}
