import type { JSX } from 'preact';
import type { SqlTable } from '../../../page-data/sql-data.ts';
import '../../styles/sql.css';
import { PageHead } from '../../components/page-head.tsx';
import { ErrorState } from '../../components/parts.tsx';
import type { Me } from '../../state/api.ts';
import { useMe, useResource } from '../../state/data.tsx';
import { Link } from '../../state/router.tsx';
import { CodeEditor } from './editor/code-editor.tsx';
import { ResultView } from './result-view.tsx';
import { RunBar } from './run-bar.tsx';
import { SaveBar } from './save-bar.tsx';
import { SidePanel } from './side/side-panel.tsx';
import { SqlFailure } from './sql-failure.tsx';
import { useWorkbench } from './use-workbench.ts';

/** Free SQL on the data: editor, result, questions, saved queries and history. */
export default function SqlPage(): JSX.Element {
  const me = useMe();
  return (
    <>
      <PageHead title="SQL" about="Queries all stored data in DuckDB’s SQL. It cannot change data." />
      {me.error !== null && <ErrorState error={me.error} retry={me.retry} />}
      {me.data === null && me.error === null && <div class="skeleton" role="status" aria-label="Loading" />}
      {me.data !== null && (me.data.features.sql ? <Workbench /> : <NoSql me={me.data} />)}
    </>
  );
}

function Workbench(): JSX.Element {
  const schema = useResource<{ readonly tables: readonly SqlTable[] }>('/data/sql/schema');
  const work = useWorkbench();
  const { editor, text, setText, runner, saved, open, place, run, edit, load } = work;
  const { error } = runner;
  return (
    <div class="sql-page">
      <div class="sql-main">
        <section class="panel" aria-label="Query">
          <CodeEditor
            text={text}
            handlers={{
              run: () => void run(editor.current?.text() ?? ''),
              cancel: runner.cancel,
              changed: setText,
              tables: () => schema.data?.tables ?? [],
            }}
            onReady={(ready) => {
              editor.current = ready;
            }}
          />
          {work.isMissing && (
            <p role="alert">
              This query was too long for an address and is not stored in this tab. Copy its text instead.
            </p>
          )}
          <RunBar runner={runner} onRun={() => void run(text)} isEmpty={text.trim() === ''} />
          <SaveBar saved={saved} open={open} text={text} onOpen={work.setOpen} onLoad={load} />
        </section>
        {error !== null && (
          <SqlFailure error={error} place={place} onGo={(position) => editor.current?.moveTo(position)} />
        )}
        {runner.table !== null && error === null && (
          <div class={runner.isRunning ? 'sql-old' : undefined} aria-busy={runner.isRunning}>
            <ResultView table={runner.table} download={runner.download} />
          </div>
        )}
      </div>
      <SidePanel
        schema={schema}
        saved={saved}
        past={work.past}
        onInsert={(name) => editor.current?.insert(name)}
        onEdit={edit}
        onRun={(question) => {
          edit(question);
          void run(question);
        }}
        onLoad={load}
        onMoved={work.moved}
        onClear={work.clearHistory}
      />
    </div>
  );
}

// How to get access to SQL.
function NoSql({ me }: { readonly me: Me }): JSX.Element {
  return (
    <section class="panel state" aria-label="No access to SQL">
      {me.access === 'none' ? (
        <>
          <p>You are not signed in.</p>
          <Link to="/sign-in">Sign in</Link>
        </>
      ) : (
        <>
          <p>
            {me.key === null ? 'This access' : <>The key “{me.key.name}”</>} does not have the scope <code>sql</code>,
            so it cannot run queries.
          </p>
          <p>The operator of the server can create a key with this scope. Sign in with that key:</p>
          <pre tabIndex={0} role="region" aria-label="Command">
            <code>sightline keys create NAME --scope read metrics sql</code>
          </pre>
          <Link to="/sign-in">Sign in with another key</Link>
        </>
      )}
    </section>
  );
}
