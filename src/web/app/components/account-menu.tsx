import type { JSX } from 'preact';
import { useRef, useState } from 'preact/hooks';
import type { Me } from '../state/api.ts';
import { useApi } from '../state/data.tsx';
import { SessionList } from './session-list.tsx';

/** Menu with the signed-in key, the sessions, and the sign-out button. */
export function AccountMenu({ me }: { readonly me: Me }): JSX.Element | null {
  const api = useApi();
  const dialog = useRef<HTMLDialogElement>(null);
  const [isListed, setIsListed] = useState(false);
  if (!me.signedIn) return null;
  const signOut = (): void => {
    api.send('DELETE', '/data/session', null).then(
      () => api.changed(),
      () => api.refused(),
    );
  };
  const list = (): void => {
    setIsListed(true);
    dialog.current?.showModal();
  };
  return (
    <>
      <details class="menu account">
        <summary aria-label="Account">Account</summary>
        <fieldset>
          <legend class="quiet" dir="auto">
            {me.key === null ? 'Signed in with a link' : `Signed in with key ${me.key.name}`}
          </legend>
          <button type="button" onClick={list}>
            Sessions
          </button>
          <button type="button" onClick={signOut}>
            Sign out
          </button>
        </fieldset>
      </details>
      <dialog ref={dialog} class="sql-dialog" aria-label="Browser sessions" onClose={() => setIsListed(false)}>
        <div class="panel-head">
          <h2>Browser sessions</h2>
          <button type="button" onClick={() => dialog.current?.close()}>
            Close
          </button>
        </div>
        {isListed && <SessionList />}
      </dialog>
    </>
  );
}

/** Leads to another workspace of the server; null if there is only one. */
export function WorkspaceSwitch({ me }: { readonly me: Me }): JSX.Element | null {
  if (me.workspaces === null)
    return me.workspace === null ? null : (
      <span class="workspace" dir="auto">
        {me.workspace}
      </span>
    );
  return (
    <select
      class="workspace-switch"
      aria-label="Workspace"
      value={me.workspace ?? ''}
      onChange={(event) => {
        const name = event.currentTarget.value;
        window.location.assign(name === '' ? '/' : `/w/${name}/`);
      }}
    >
      <option value="">All workspaces</option>
      {me.workspaces.map((name) => (
        <option key={name} value={name}>
          {name}
        </option>
      ))}
    </select>
  );
}
