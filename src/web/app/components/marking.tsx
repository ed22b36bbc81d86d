import type { JSX } from 'preact';
import { OWNER_MARKS } from '../../../analytics/explain/mark-kinds.ts';
import { useApi, useMe, useResource } from '../state/data.tsx';
import { usePaper } from '../state/paper.ts';
import { useScope } from '../state/scope.tsx';
import { type Row, textOf } from '../state/table.ts';
import { Tag } from './parts.tsx';
import { Popup } from './popup.tsx';
import type { ColumnSpec } from './table-columns.tsx';
import { MARK } from './table-view.ts';

/** A mark of `/data/marks`. */
interface Mark {
  readonly brandId: string;
  readonly kind: string;
  readonly id: string;
  readonly value: string | null;
  readonly at: string;
  readonly by: string | null;
}

// Returns the function that marks something; a value of null takes the mark back. Null if the reader may not mark anything.
function useMarking(kind: string, id: string): ((value: string | null) => void) | null {
  const api = useApi();
  const { brand } = useScope();
  const mayMark = useMe().data?.features.marks === true;
  if (!mayMark || brand === null) return null;
  return (value) => {
    const mark = { brandId: brand.id, kind, id, value };
    // If it fails, the page shows the state that the server has.
    void api.send('POST', '/data/marks', mark).finally(api.changed);
  };
}

/** Returns the column in which readers mark a row as done or hidden. Rows with a mark are listed only if the facet shows them. */
export function markColumn(kindOf: (row: Row) => string, id: string): ColumnSpec {
  return {
    name: MARK,
    about: 'Done and hidden rows stay in this workspace. The facets above the table show them.',
    value: ({ mark }) => textOf(mark) || 'open',
    cell: (row) => <StateMark kind={kindOf(row)} id={textOf(row[id])} mark={textOf(row['mark'])} />,
  };
}

interface StateMarkProps {
  readonly kind: string;
  readonly id: string;
  /** Empty if there is none. */
  readonly mark: string;
}

function StateMark({ kind, id, mark }: StateMarkProps): JSX.Element {
  const set = useMarking(kind, id);
  const choices = mark === '' ? { Done: 'done', Hide: 'hidden' } : { Undo: null };
  return (
    <span class="choices">
      {mark !== '' && <Tag text={mark} />}
      {set !== null &&
        Object.entries(choices).map(([label, value]) => (
          <button key={label} type="button" class="small" onClick={() => set(value)}>
            {label}
          </button>
        ))}
    </span>
  );
}

interface OwnerMarkProps {
  readonly domain: string;
  /** Empty if it is not known. */
  readonly owner: string;
}

/** The owner of a domain. Readers who may mark it choose another one. */
export function OwnerMark({ domain, owner }: OwnerMarkProps): JSX.Element | null {
  const tag = owner === '' ? null : <Tag text={owner} />;
  return usePaper() === null && domain !== '' ? <OwnerChoice domain={domain} tag={tag} /> : tag;
}

function OwnerChoice({
  domain,
  tag,
}: {
  readonly domain: string;
  readonly tag: JSX.Element | null;
}): JSX.Element | null {
  const { competitors } = useScope();
  const set = useMarking('domain', domain);
  if (set === null) return tag;
  const choices = [...Object.entries(OWNER_MARKS).map(([id, label]) => ({ id, label })), ...competitors];
  return (
    <Popup
      label={`Owner of ${domain}`}
      isUnnamed
      isLazy
      class="owner"
      panelClass="list"
      button={tag ?? <span class="quiet">Owner?</span>}
    >
      {(close) => (
        <>
          {choices.map(({ id, label }) => (
            <button
              key={id}
              type="button"
              class="menu-item"
              onClick={() => {
                close();
                set(id);
              }}
            >
              <bdi>{label}</bdi>
            </button>
          ))}
          <OwnerHistory domain={domain} choices={choices} onUndo={() => set(null)} />
        </>
      )}
    </Popup>
  );
}

interface OwnerHistoryProps {
  readonly domain: string;
  readonly choices: readonly { readonly id: string; readonly label: string }[];
  readonly onUndo: () => void;
}

function OwnerHistory({ domain, choices, onUndo }: OwnerHistoryProps): JSX.Element | null {
  const { brand, format } = useScope();
  const { data } = useResource<{ readonly marks: readonly Mark[] }>('/data/marks');
  const own = (data?.marks ?? []).filter(
    ({ brandId, kind, id }) => brandId === brand?.id && kind === 'domain' && id === domain,
  );
  const nameOf = (value: string | null): string =>
    value === null ? 'taken back' : (choices.find(({ id }) => id === value)?.label ?? value);
  if (own.length === 0) return null;
  return (
    <>
      {own.at(-1)?.value !== null && (
        <button type="button" class="menu-item" onClick={onUndo}>
          Take the mark back
        </button>
      )}
      <ul class="definition">
        {own.map(({ at, by, value }) => (
          <li key={at} dir="auto">
            {format.shortDay(at.slice(0, 10))}: {nameOf(value)}
            {by !== null && `, by ${by}`}
          </li>
        ))}
      </ul>
    </>
  );
}
