import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { createSqlEditor, type EditorHandlers, type SqlEditor } from './sql-editor.ts';

export interface CodeEditorProps {
  /** The first text; later texts are set with the editor. */
  readonly text: string;
  readonly handlers: EditorHandlers;
  readonly onReady: (editor: SqlEditor | null) => void;
}

/** The editor with its keys. */
export function CodeEditor({ text, handlers, onReady }: CodeEditorProps): JSX.Element {
  const host = useRef<HTMLDivElement>(null);
  const latest = useRef({ text, handlers, onReady });
  latest.current = { ...latest.current, handlers, onReady };
  useEffect(() => {
    if (host.current === null) return;
    const editor = createSqlEditor(host.current, latest.current.text, {
      run: () => latest.current.handlers.run(),
      cancel: () => latest.current.handlers.cancel(),
      changed: (changed) => latest.current.handlers.changed(changed),
      tables: () => latest.current.handlers.tables(),
    });
    latest.current.onReady(editor);
    return () => {
      editor.close();
      latest.current.onReady(null);
    };
  }, []);
  return (
    <>
      <div ref={host} class="sql-editor" />
      <p class="quiet sql-keys">
        <kbd>Ctrl</kbd>/<kbd>⌘</kbd> <kbd>Enter</kbd> runs, <kbd>Ctrl</kbd> <kbd>Space</kbd> proposes names,{' '}
        <kbd>Escape</kbd> cancels. <kbd>Tab</kbd> indents; after <kbd>Escape</kbd> it leaves the editor.
      </p>
    </>
  );
}
