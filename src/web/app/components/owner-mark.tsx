import type { JSX } from 'preact';
import { OWNER_MARKS } from '../../../metrics/explain/mark-kinds.ts';
import type { Mark } from '../../../workspace/marks-file.ts';
import { useResource } from '../state/data.tsx';
import { useScope } from '../state/scope.tsx';
import { useMarking } from '../state/use-marking.ts';
import { Tag } from './parts.tsx';
import { Popup } from './popup.tsx';

interface OwnerMarkProps {
  readonly domain: string;
  /** Empty if it is not known. */
  readonly owner: string;
}

/** The owner of a domain. Readers who may mark it choose another one. */
export function OwnerMark({ domain, owner }: OwnerMarkProps): JSX.Element | null {
  const { competitors } = useScope();
  const marking = useMarking('domain', domain);
  const tag = owner === '' ? null : <Tag text={owner} />;
  if (marking === null || domain === '') return tag;
  const choices = [...Object.entries(OWNER_MARKS).map(([id, label]) => ({ id, label })), ...competitors];
  const shown = (
    <>
      {tag ?? <span class="quiet">Owner?</span>}
      <span class="hidden-text"> Owner of {domain}</span>
      {marking.failure !== '' && <span role="alert">{marking.failure}</span>}
    </>
  );
  return (
    <Popup label={`Owner of ${domain}`} isLazy class="owner" panelClass="list" button={shown}>
      {(close) => (
        <>
          {choices.map(({ id, label }) => (
            <button
              key={id}
              type="button"
              class="menu-item"
              onClick={() => {
                close();
                marking.set(id);
              }}
            >
              <bdi>{label}</bdi>
            </button>
          ))}
          <OwnerHistory domain={domain} choices={choices} onUndo={() => marking.set(null)} />
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
    ({ brandId, kind, id }) => brandId === brand?.id && kind === 'domain' && [id, `www.${id}`].includes(domain),
  );
  const nameOf = (value: string | null): string =>
    value === null ? 'removed' : (choices.find(({ id }) => id === value)?.label ?? value);
  if (own.length === 0) return null;
  return (
    <>
      {own.at(-1)?.value !== null && (
        <button type="button" class="menu-item" onClick={onUndo}>
          Undo
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
