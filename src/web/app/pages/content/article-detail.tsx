import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import { BeforeAfter } from '../../components/before-after.tsx';
import { Frame } from '../../components/chart-frame.tsx';
import { Markdown, OuterLink } from '../../components/markdown.tsx';
import { EmptyState } from '../../components/parts.tsx';
import { RowFacts } from '../../components/row-facts.tsx';
import { HISTORY, STATUS } from '../../components/state-history.tsx';
import type { GivenColumn } from '../../components/table-columns.tsx';
import { addDays } from '../../state/calendar-days.ts';
import { useQuery } from '../../state/data.tsx';
import { Link } from '../../state/router.tsx';
import { useScope } from '../../state/scope.tsx';
import { type Row, textOf, toRecords } from '../../state/table.ts';

/** Days after an article was finished that are compared with as many before. */
const DAYS = 28;

/** One article: its states, its text and sources, and the visibility of its prompt before and after. */
export function ArticleDetail({ id }: { readonly id: string }): JSX.Element {
  const { brand, linkTo } = useScope();
  const data = useQuery('article_detail', brand && { brand: brand.id, article: id });
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
        {data.table !== null && <RowFacts table={data.table} columns={FACTS} />}
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

const FACTS: readonly GivenColumn[] = [
  STATUS,
  HISTORY,
  'prompt',
  { name: 'created_at', label: 'Ordered' },
  { name: 'completed_at', label: 'Finished' },
  {
    name: 'type',
    label: 'Kind',
    value: ({ type, quality, format, topic }) =>
      [type, quality, format, topic]
        .map(textOf)
        .filter((value) => value !== '')
        .join(', ') || null,
  },
  { name: 'word_count', label: 'Words' },
  { name: 'credits_charged', label: 'Credits' },
  { name: 'primary_keyword', label: 'Keyword' },
  { name: 'meta_description', label: 'Description' },
];

/** Visibility of the prompt in the days before and after the article was finished. */
function PromptEffect({ row }: { readonly row: Row }): JSX.Element {
  const { brands, format } = useScope();
  const day = textOf(row['completed_day']);
  const prompt = textOf(row['prompt_id']);
  const last = brands.table?.completeTo ?? '';
  const to = [addDays(day || '2000-01-01', DAYS), last].sort()[0] ?? '';
  const from = day === '' ? '' : addDays(day, 1);
  const isKnown = day !== '' && prompt !== '' && from <= to;
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
      about={`${format.days(from, to)}, after the article was finished, against as many days up to ${format.day(day)}. The API does not say when it was published. A difference may have other causes.`}
      from={from}
      to={to}
      prompt={prompt}
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
