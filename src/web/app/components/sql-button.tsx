import type { JSX } from 'preact';
import { useRef, useState } from 'preact/hooks';
import { usePaper } from '../state/paper.ts';
import { Link } from '../state/router.tsx';
import { useScope } from '../state/scope.tsx';
import { sqlParams } from '../state/sql-link.ts';

export interface SqlButtonProps {
  /** Name of the element with the rows of the SQL. */
  readonly title: string;
  readonly sql: string | null;
}

/** Shows the SQL of an element in a dialog, to copy it or to open it in the editor. Reports have no dialogs. */
export function SqlButton({ title, sql }: SqlButtonProps): JSX.Element | null {
  const dialog = useRef<HTMLDialogElement>(null);
  const { linkTo } = useScope();
  const [status, setStatus] = useState('');
  const [isOpen, setIsOpen] = useState(false);
  const paper = usePaper();
  if (sql === null || sql === '' || paper !== null) return null;
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(sql);
      setStatus('Copied.');
    } catch {
      setStatus('The browser does not permit copying; select the text instead.');
    }
  };
  const open = (): void => {
    setStatus('');
    setIsOpen(true);
    dialog.current?.showModal();
  };
  return (
    <>
      <button type="button" class="small" onClick={open} aria-haspopup="dialog" aria-label={`SQL of ${title}`}>
        SQL
      </button>
      <dialog ref={dialog} class="sql-dialog" aria-label={`SQL of ${title}`}>
        <h2>SQL of “{title}”</h2>
        <pre tabIndex={0} role="region" aria-label="SQL">
          <code>{sql}</code>
        </pre>
        <div class="row">
          <button type="button" onClick={copy}>
            Copy
          </button>
          <Link
            class="button"
            to={isOpen ? linkTo('/sql', {}, sqlParams(sql, sessionStorage)) : '/sql'}
            onFollow={() => dialog.current?.close()}
          >
            Open in the editor
          </Link>
          <button type="button" onClick={() => dialog.current?.close()}>
            Close
          </button>
          <span role="status">{status}</span>
        </div>
      </dialog>
    </>
  );
}
