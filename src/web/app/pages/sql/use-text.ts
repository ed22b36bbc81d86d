import { useCallback, useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { useRoute } from '../../state/router.tsx';
import { readSql, withSql } from '../../state/sql-link.ts';
import type { SqlEditor } from './editor/sql-editor.ts';

const FIRST_TEXT = `-- How has our visibility developed week by week?
SELECT brand_name, week, visibility, visibility_lower, visibility_upper, responses
FROM mart.visibility_weekly
WHERE scope = 'all engines'
ORDER BY brand_name, week
`;
/** Parameters of the address that belong to the result of one query. */
const CHART_PARAMETERS = ['chart', 'x', 'y', 'by'];

/** The text of the editor. */
export interface EditedText {
  readonly text: string;
  readonly setText: (text: string) => void;
  /** Whether the address names a query that this tab does not have. */
  readonly isMissing: boolean;
  /** Writes a query that was run into the address. */
  readonly remember: (sql: string) => void;
}

/** Begins with the query of the address, or else with the last text of this tab. A new query in the address replaces the text. */
export function useText(base: string, editor: { readonly current: SqlEditor | null }): EditedText {
  const route = useRoute();
  const draft = `sightline-sql-draft${base}`;
  const linked = useMemo(() => readSql(route.search, sessionStorage), [route.search]);
  const [text, setShown] = useState(() => linked.sql ?? sessionStorage.getItem(draft) ?? FIRST_TEXT);
  const known = useRef(linked.sql);
  useEffect(() => {
    if (linked.sql === null || linked.sql === known.current) return;
    known.current = linked.sql;
    editor.current?.replace(linked.sql);
  }, [linked.sql, editor]);
  const setText = useCallback(
    (changed: string): void => {
      setShown(changed);
      try {
        sessionStorage.setItem(draft, changed);
      } catch {
        // The text is lost when the page is left.
      }
    },
    [draft],
  );
  const remember = (sql: string): void => {
    const isSame = known.current === sql;
    known.current = sql;
    const search = withSql(route.search, sql, sessionStorage);
    if (!isSame) for (const name of CHART_PARAMETERS) search.delete(name);
    route.navigate(`${route.path}?${search}`, { replace: true });
  };
  return { text, setText, isMissing: linked.isMissing, remember };
}
