import type { JSX } from 'preact';
import { useEffect, useId, useMemo, useState } from 'preact/hooks';
import { TableBlock } from '../../components/data-table.tsx';
import { Choice } from '../../components/filter-bar.tsx';
import { PageHead } from '../../components/page-head.tsx';
import { ErrorState } from '../../components/parts.tsx';
import { useCursorPages } from '../../state/cursor-pages.ts';
import { useQuery } from '../../state/data.tsx';
import { addressWith, useRoute } from '../../state/router.tsx';
import { useScope } from '../../state/scope.tsx';
import { textOf, toRecords } from '../../state/table.ts';
import { MENTIONED, readReader, SEARCH } from './reader-filters.ts';
import { responseColumns } from './response-columns.tsx';

const WITHOUT = ['comparison'] as const;
/** Rows of one request. */
const PAGE_ROWS = 50;
/** Quiet time after the last key before a search begins, in milliseconds. */
const SEARCH_DELAY_MS = 250;

const ignore = (): void => undefined;

/** A reader of single responses: filters, text search, and all rows in pages. */
export default function ResponsesPage(): JSX.Element {
  const { params, filters, format, linkTo } = useScope();
  const route = useRoute();
  const { search } = route;
  const reader = readReader(search);
  const pages = useCursorPages(
    'response_list',
    params && { ...params, ...reader.params, compare_to: 'none', limit: PAGE_ROWS },
    PAGE_ROWS,
  );
  const columns = useMemo(
    () => responseColumns((id) => linkTo(`/responses/${id}`, {}, readReader(search).link)),
    [linkTo, search.toString()],
  );
  const count = format.value(pages.rows.length, 'count');
  const set = (name: string, value: string | null): void =>
    route.navigate(addressWith(route, { [name]: value }), { replace: true });
  return (
    <>
      <PageHead
        title="Responses"
        filters={{
          without: WITHOUT,
          own: [reader.params.mentioned, filters.competitor, filters.prompt].filter((each) => each !== null).length,
          children: <ReaderFields onMentioned={(value) => set(MENTIONED, value)} />,
        }}
      />
      <TableBlock
        title="All responses"
        about="Responses of AI engines, newest first. The API reports mentions and citations, but not the text of a response."
        data={pages.first}
        tools={<SearchField value={reader.params.search ?? ''} onSearch={(text) => set(SEARCH, text || null)} />}
        empty="No response matches. Choose a longer range, or clear the search and the filters."
        rows={pages.rows}
        columns={columns}
        onEnd={pages.error === null ? pages.more : ignore}
        sentence={
          <span role="status">
            {pages.isComplete
              ? `All ${count} responses are loaded.`
              : `${count} responses are loaded; scroll for more.`}
          </span>
        }
        isMain
      />
      {pages.error !== null && <ErrorState error={pages.error} retry={pages.more} />}
    </>
  );
}

function ReaderFields({ onMentioned }: { readonly onMentioned: (value: string | null) => void }): JSX.Element {
  const { params, filters, setFilters, competitors } = useScope();
  const reader = readReader(useRoute().search);
  const brand = textOf(params?.['brand']);
  const { table } = useQuery('prompt_names', brand === '' ? null : { brand });
  const texts = useMemo(
    () =>
      toRecords(table).map((row) => ({
        id: textOf(row['prompt_id']),
        label: `${textOf(row['text'])}${row['is_deleted'] === true ? ' (deleted)' : ''}`,
      })),
    [table],
  );
  return (
    <>
      <Choice
        label="Mention"
        all="With or without"
        value={reader.params.mentioned}
        options={[
          { id: 'true', label: 'Brand mentioned' },
          { id: 'false', label: 'Brand not mentioned' },
        ]}
        onChoose={onMentioned}
      />
      {competitors.length > 0 && (
        <Choice
          label="Competitor"
          all="Any or none"
          value={filters.competitor}
          options={competitors}
          onChoose={(competitor) => setFilters({ competitor })}
        />
      )}
      <Choice
        label="Prompt"
        all="All prompts"
        value={filters.prompt}
        options={texts}
        onChoose={(prompt) => setFilters({ prompt })}
      />
    </>
  );
}

interface SearchFieldProps {
  readonly value: string;
  readonly onSearch: (text: string) => void;
}

// A search begins when typing pauses. The request of the text before it is aborted, which ends its query on the server.
function SearchField({ value, onSearch }: SearchFieldProps): JSX.Element {
  const id = useId();
  const [text, setText] = useState(value);
  useEffect(() => setText(value), [value]);
  useEffect(() => {
    if (text.trim() === value) return;
    const timer = setTimeout(() => onSearch(text.trim()), SEARCH_DELAY_MS);
    return () => clearTimeout(timer);
  }, [text]);
  return (
    <div class="row table-tools">
      <label for={id} class="hidden-text">
        Search
      </label>
      <input
        id={id}
        type="search"
        dir="auto"
        value={text}
        placeholder="Prompt, name, URL, title"
        title="Text in the prompt, in mentioned names, or in URL, domain or title of cited pages"
        onInput={(event) => setText(event.currentTarget.value)}
      />
    </div>
  );
}
