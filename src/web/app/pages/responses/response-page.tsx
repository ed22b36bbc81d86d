import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import { Frame } from '../../components/chart-frame.tsx';
import { DeclaredTable } from '../../components/data-table.tsx';
import { PageHead } from '../../components/page-head.tsx';
import { ErrorState, NotFound, Timestamp } from '../../components/parts.tsx';
import { RowFacts } from '../../components/row-facts.tsx';
import type { GivenColumn } from '../../components/table-columns.tsx';
import { listOf } from '../../components/version-list.tsx';
import { useQuery } from '../../state/data.tsx';
import { type PageProps, useRoute } from '../../state/router.tsx';
import { useScope } from '../../state/scope.tsx';
import { textOf, toRecords } from '../../state/table.ts';
import { readReader } from './reader-filters.ts';
import { ReaderSteps } from './reader-steps.tsx';
import { ResponseStored } from './response-stored.tsx';
import { CITED_PAGES, MENTIONS } from './response-tables.tsx';
import { ResponseVersions } from './response-versions.tsx';
import '../../styles/responses.css';

const FACTS: readonly GivenColumn[] = [
  'brand',
  'engine',
  { name: 'created_at', label: 'Time' },
  { name: 'prompt', value: ({ prompt_id: id }) => (textOf(id) === '' ? null : 'History of the prompt') },
  { name: 'topic', value: (row) => thenAndNow(textOf(row['topic_then']), textOf(row['topic_now'])) },
  { name: 'tags', value: (row) => thenAndNow(listOf(row['tags_then']).join(', '), listOf(row['tags_now']).join(', ')) },
];

/** One response: who is mentioned, what is cited, its versions, how it is stored, and the steps to the next ones of the list. */
export default function ResponsePage({ params: { id = '' } }: PageProps): JSX.Element {
  const { linkTo } = useScope();
  const { search } = useRoute();
  const data = useQuery('response_detail', { id });
  // While the next response loads, the last one stays.
  const row = useMemo(() => toRecords(data.table)[0] ?? null, [data.table]);
  const list = linkTo('/responses', {}, readReader(search).link);
  const isUnknown =
    data.error?.code === 'invalid_parameter' || (data.table !== null && !data.isLoading && row === null);
  if (isUnknown) {
    const about = 'No stored response has this id. It may belong to a brand that your key cannot read.';
    return <NotFound what="Response" about={about} to={list} linkLabel="All responses" />;
  }
  if (data.error !== null) return <ErrorState error={data.error} retry={data.retry} />;
  return (
    <>
      <ReaderSteps list={list} cursor={row === null ? null : textOf(row['cursor'])} />
      <PageHead title={row === null ? 'Response' : textOf(row['prompt']) || 'Prompt without text'} />
      {row !== null && row['deleted_at'] !== null && (
        <p class="notice" role="note">
          <strong>Deleted in the API.</strong> A sync found the response missing at{' '}
          <Timestamp time={textOf(row['deleted_at'])} />. It is kept here and counts in no measure.
        </p>
      )}
      <div class="grid">
        <div class="pair">
          <Frame title="Response" about="The prompt, the engine, and the prompt’s groups at that time." data={data}>
            {data.table !== null && <RowFacts table={data.table} columns={FACTS} />}
          </Frame>
          <DeclaredTable {...MENTIONS} request={{ id }} />
        </div>
        <DeclaredTable {...CITED_PAGES} request={{ id }} />
        <ResponseVersions id={id} />
        <ResponseStored data={data} row={row} />
      </div>
    </>
  );
}

function thenAndNow(then: string, now: string): string | null {
  if (then === now) return now || null;
  // Without versions of the prompt, only the current groups are known.
  if (then === '') return `${now} (now)`;
  return `${then} (then), ${now || 'none'} (now)`;
}
