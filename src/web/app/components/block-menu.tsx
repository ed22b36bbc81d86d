import type { ComponentChildren, JSX } from 'preact';
import { createContext } from 'preact';
import { useContext, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { useApi, useMe } from '../state/data.tsx';
import { type PaperChart, usePaper } from '../state/paper.ts';
import { Link } from '../state/router.tsx';
import { saveChart, saveFile, XLSX } from '../state/save-file.ts';
import { useScope } from '../state/scope.tsx';
import { sqlParams } from '../state/sql-link.ts';
import type { Table } from '../state/table.ts';
import { useCopy } from '../state/use-copy.ts';
import { Dialog } from './dialog.tsx';
import { Icon } from './icon.tsx';
import { Popup } from './popup.tsx';
import { ValueTable } from './value-table.tsx';

/** The columns of the table of a block, which its menu lists. */
export interface ColumnList {
  readonly columns: readonly { readonly id: string; readonly label: string; readonly isShown: boolean }[];
  readonly toggle: (id: string, isShown: boolean) => void;
}

/** Takes the columns of the table of a block. */
export const ColumnContext = createContext<((list: ColumnList | null) => void) | null>(null);

/** Offers the choice of columns in the menu of the block. `list` changes with the columns that are shown. */
export function useColumnChoice(list: ColumnList | null): void {
  const offer = useContext(ColumnContext);
  const key = list === null ? '' : list.columns.map(({ id, isShown }) => `${id}${isShown}`).join();
  useLayoutEffect(() => {
    offer?.(list);
    return () => offer?.(null);
  }, [offer, key]);
}

export interface BlockMenuProps {
  readonly title: string;
  /** Definition of the numbers. */
  readonly about?: ComponentChildren;
  /** The tables of the block; the first is the one that is saved as a file. */
  readonly tables: readonly (Table | null)[];
  readonly columns?: ColumnList | null;
  readonly chart?: PaperChart;
}

/** The menu of a block: columns, values, SQL, files, link and definition. Reports have none. */
export function BlockMenu({ title, about, tables, columns = null, chart }: BlockMenuProps): JSX.Element | null {
  const dialog = useRef<HTMLDialogElement>(null);
  const [shown, setShown] = useState<'sql' | 'values' | null>(null);
  const paper = usePaper();
  if (paper !== null) return null;
  const known = tables.filter((table) => table !== null);
  const [table] = known;
  const open = (part: 'sql' | 'values'): void => {
    setShown(part);
    dialog.current?.showModal();
  };
  const name = shown === 'values' ? `Values of ${title}` : `SQL of ${title}`;
  return (
    <span class="block-menu">
      <Popup label={`Menu of ${title}`} isUnnamed class="dots" panelClass="list" button={<Icon name="dots" />}>
        {(close) => (
          <>
            {columns !== null && <Columns list={columns} />}
            {table !== undefined && (
              <>
                {chart !== undefined && <Item icon="table" label="Values" onChoose={() => open('values')} />}
                <Item icon="sql" label="Show SQL" onChoose={() => open('sql')} />
                <FileItems title={title} table={table} chart={chart} onSaved={close} />
              </>
            )}
            <CopyLink title={title} />
            {about !== undefined && <p class="definition">{about}</p>}
          </>
        )}
      </Popup>
      <Dialog of={dialog} title={name} onClose={() => setShown(null)}>
        {shown === 'sql' && known.map((each) => <Sql key={each.name} table={each} />)}
        {shown === 'values' && table !== undefined && <ValueTable title={title} table={table} />}
      </Dialog>
    </span>
  );
}

interface ItemProps {
  readonly icon: Parameters<typeof Icon>[0]['name'];
  readonly label: string;
  readonly beside?: string;
  readonly onChoose: () => void;
}

function Item({ icon, label, beside, onChoose }: ItemProps): JSX.Element {
  return (
    <button type="button" class="menu-item" onClick={onChoose}>
      <Icon name={icon} />
      {label}
      {beside !== undefined && <em role="status">{beside}</em>}
    </button>
  );
}

function Columns({ list: { columns, toggle } }: { readonly list: ColumnList }): JSX.Element {
  const shown = columns.filter(({ isShown }) => isShown).length;
  return (
    <details class="column-choice">
      <summary class="menu-item">
        <Icon name="table" />
        Columns
        <em>
          {shown} of {columns.length}
        </em>
      </summary>
      <fieldset>
        <legend class="hidden-text">Shown columns</legend>
        {columns.map(({ id, label, isShown }) => (
          <label key={id} class="check">
            <input type="checkbox" checked={isShown} onChange={(event) => toggle(id, event.currentTarget.checked)} />
            {label}
          </label>
        ))}
      </fieldset>
    </details>
  );
}

interface FileItemsProps {
  readonly title: string;
  readonly table: Table;
  readonly chart: PaperChart | undefined;
  readonly onSaved: () => void;
}

// The complete rows are computed again from the SQL, for which the reader needs the right to run SQL.
function FileItems({ title, table, chart, onSaved }: FileItemsProps): JSX.Element {
  const api = useApi();
  const { format } = useScope();
  const maySave = useMe().data?.features.sql === true;
  const [status, setStatus] = useState<Readonly<Record<string, string>>>({});
  const save = async (label: string, run: () => Promise<void>): Promise<void> => {
    setStatus({ [label]: '…' });
    try {
      await run();
      setStatus({});
      onSaved();
    } catch {
      setStatus({ [label]: 'failed' });
    }
  };
  const rows = (ending: string, accept: string) => async (): Promise<void> => {
    const response = await api.send('POST', '/data/sql', { sql: table.sql }, { accept });
    saveFile(await response.blob(), `${title}.${ending}`);
  };
  const files: readonly (readonly [string, () => Promise<void>])[] = [
    ...(maySave
      ? ([
          ['CSV', rows('csv', 'text/csv')],
          ['XLSX', rows('xlsx', XLSX)],
        ] as const)
      : []),
    ...(chart === undefined ? [] : ([['PNG', () => saveChart(chart, format)]] as const)),
  ];
  return (
    <>
      {files.map(([label, run]) => (
        <Item
          key={label}
          icon={label === 'PNG' ? 'picture' : 'download'}
          label={`Download ${label}`}
          beside={status[label] ?? ''}
          onChoose={() => void save(label, run)}
        />
      ))}
    </>
  );
}

function CopyLink({ title }: { readonly title: string }): JSX.Element {
  const [status, copy] = useCopy();
  const share = (): void => {
    const url = new URL(window.location.href);
    url.hash = idOf(title);
    copy(url.href);
  };
  return <Item icon="share" label="Copy link" beside={status} onChoose={share} />;
}

/** Returns the id of the element of a block, for links to it. */
export function idOf(title: string): string {
  return title.toLowerCase().replaceAll(/[^\p{L}\p{N}]+/gu, '-');
}

function Sql({ table: { name, sql } }: { readonly table: Table }): JSX.Element {
  const { linkTo } = useScope();
  const [status, copy] = useCopy();
  return (
    <>
      <pre tabIndex={0} role="region" aria-label={`SQL of ${name}`}>
        <code>{sql}</code>
      </pre>
      <div class="row">
        <button type="button" onClick={() => copy(sql)}>
          Copy
        </button>
        <Link class="button" to={linkTo('/sql', {}, sqlParams(sql, sessionStorage))}>
          Open in the editor
        </Link>
        <span role="status">{status}</span>
      </div>
    </>
  );
}
