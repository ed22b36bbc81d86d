import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { SavedQuery } from '../../../page-data/sql-data.ts';
import { useApi } from '../../state/data.tsx';
import { type ErrorPlace, placeOf } from './editor/error-place.ts';
import type { SqlEditor } from './editor/sql-editor.ts';
import type { OpenQuery } from './save-bar.tsx';
import { openHistory, type PastQuery } from './side/query-history.ts';
import { type Saved, useSaved } from './side/use-saved.ts';
import { type SqlRunner, useSql } from './use-sql.ts';
import { type EditedText, useText } from './use-text.ts';

/** State and actions of the page. */
export interface Workbench extends EditedText {
  /** Null until the editor is shown. */
  readonly editor: { current: SqlEditor | null };
  readonly runner: SqlRunner;
  readonly saved: Saved;
  /** The saved query in the editor; null for a new one. */
  readonly open: OpenQuery | null;
  readonly setOpen: (query: OpenQuery | null) => void;
  readonly past: readonly PastQuery[];
  /** The place of the last query's error; null if there is none. */
  readonly place: ErrorPlace | null;
  run(sql: string): Promise<void>;
  /** Replaces the text of the editor. */
  edit(sql: string): void;
  /** Opens a saved query. */
  load(name: string): Promise<void>;
  /** Follows a renamed or deleted (null) saved query. */
  moved(name: string, to: SavedQuery | null): void;
  clearHistory(): void;
}

export function useWorkbench(): Workbench {
  const { base } = useApi();
  const runner = useSql();
  const saved = useSaved();
  const editor = useRef<SqlEditor | null>(null);
  const { text, setText, isMissing, remember } = useText(base, editor);
  const history = useMemo(() => openHistory(localStorage, base), [base]);
  const [past, setPast] = useState(history.list);
  const [open, setOpen] = useState<OpenQuery | null>(null);

  const run = async (sql: string): Promise<void> => {
    if (sql.trim() === '') return;
    remember(sql);
    const table = await runner.run(sql);
    const at = new Date().toISOString();
    setPast(
      history.add({
        sql,
        at,
        rows: table?.rowsTotal ?? table?.rows.length ?? null,
        elapsedMs: table?.elapsedMs ?? null,
      }),
    );
  };
  const edit = (sql: string): void => {
    setOpen(null);
    editor.current?.replace(sql);
    editor.current?.focus();
  };
  const load = async (name: string): Promise<void> => {
    const { sql, etag } = await saved.read(name);
    editor.current?.replace(sql);
    setOpen({ name, etag, sql });
    editor.current?.focus();
  };
  const { error, sql } = runner;
  const place = useMemo(() => (error === null || sql === null ? null : placeOf(error.message, sql)), [error, sql]);
  useEffect(() => editor.current?.mark(place), [place]);
  return {
    text,
    setText,
    isMissing,
    remember,
    editor,
    runner,
    saved,
    open,
    setOpen,
    past,
    place,
    run,
    edit,
    load,
    moved: (name, to) => setOpen((now) => (now?.name !== name ? now : to === null ? null : { ...to, sql: now.sql })),
    clearHistory() {
      history.clear();
      setPast([]);
    },
  };
}
