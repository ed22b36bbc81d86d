import type { JSX } from 'preact';
import { useId, useMemo, useRef, useState } from 'preact/hooks';
import type { Me } from '../state/api.ts';
import { type Appearance, chooseAppearance, readAppearance } from '../state/appearance.ts';
import { useApi } from '../state/data.tsx';
import { type Brand, useScope } from '../state/scope.tsx';
import { Dialog } from './dialog.tsx';
import { Choice } from './filter-bar.tsx';
import { Icon } from './icon.tsx';
import { Popup } from './popup.tsx';
import { SessionList } from './session-list.tsx';

/** Brands of the list that are shown at once. */
const SHOWN_MAX = 50;

const APPEARANCES: readonly { readonly id: Appearance; readonly label: string }[] = [
  { id: 'system', label: 'As the system' },
  { id: 'light', label: 'Light' },
  { id: 'dark', label: 'Dark' },
];

/** The brand that the pages show; opens the choice of the brand, of the workspace and of the colours, and the account. */
export function BrandSwitch({ me }: { readonly me: Me }): JSX.Element {
  const { brand, brandList } = useScope();
  const name = brand?.name ?? me.workspace ?? 'sightline';
  const below = brand === null || me.workspaces === null ? (brand?.site ?? '') : (me.workspace ?? '');
  return (
    <Popup
      label="Brand and workspace"
      class="brand-switch"
      panelClass="switch-panel"
      button={
        <>
          <span class="hidden-text">Brand and workspace: </span>
          <span class="brand-logo" aria-hidden="true">
            {initialOf(name)}
          </span>
          <span class="brand-name" dir="auto">
            <b>{name}</b>
            {below !== '' && <small>{below}</small>}
          </span>
          <Icon name="down" />
        </>
      }
    >
      {(close) => (
        <>
          {brandList.length > 0 && <BrandList onChoose={close} />}
          {me.workspaces !== null && <WorkspaceChoice me={me} names={me.workspaces} />}
          <AccountPart me={me} />
        </>
      )}
    </Popup>
  );
}

function initialOf(name: string): string {
  return [...name.trim()][0]?.toLocaleUpperCase() ?? '';
}

// A text field, and a list of the brands with this text in their names.
function BrandList({ onChoose }: { readonly onChoose: () => void }): JSX.Element {
  const { brand, brandList, setFilters } = useScope();
  const id = useId();
  const [text, setText] = useState('');
  const [active, setActive] = useState(0);
  const found = useMemo(() => matching(brandList, text), [brandList, text]);
  const choose = (chosen: Brand | undefined): void => {
    if (chosen === undefined) return;
    setText('');
    setActive(0);
    // Groups, prompts and competitors belong to a brand.
    setFilters({ brand: chosen.id, topic: null, tag: null, prompt: null, competitor: null });
    onChoose();
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key === 'Enter') choose(found[active]);
    else if (event.key === 'ArrowDown') setActive(Math.min(found.length - 1, active + 1));
    else if (event.key === 'ArrowUp') setActive(Math.max(0, active - 1));
    else return;
    event.preventDefault();
  };
  return (
    <div class="field">
      <label for={`${id}-field`}>Brand</label>
      <input
        id={`${id}-field`}
        type="text"
        role="combobox"
        dir="auto"
        autocomplete="off"
        spellcheck={false}
        aria-expanded
        aria-controls={`${id}-list`}
        aria-autocomplete="list"
        aria-activedescendant={found.length > 0 ? `${id}-${active}` : undefined}
        value={text}
        placeholder={brand?.name ?? 'Choose a brand'}
        onInput={(event) => {
          setText(event.currentTarget.value);
          setActive(0);
        }}
        onKeyDown={onKeyDown}
      />
      <ul id={`${id}-list`} role="listbox" aria-label="Brands" tabIndex={-1}>
        {found.map((each, index) => (
          <li
            key={each.id}
            id={`${id}-${index}`}
            role="option"
            dir="auto"
            aria-selected={index === active}
            onClick={() => choose(each)}
          >
            {each.name}
          </li>
        ))}
      </ul>
      {found.length === 0 && <p class="quiet">No brand has this text in its name.</p>}
    </div>
  );
}

function matching(brands: readonly Brand[], text: string): readonly Brand[] {
  const wanted = text.trim().toLocaleLowerCase();
  const found = brands.filter(({ name }) => name.toLocaleLowerCase().includes(wanted));
  return found.slice(0, SHOWN_MAX);
}

function WorkspaceChoice({ me, names }: { readonly me: Me; readonly names: readonly string[] }): JSX.Element {
  return (
    <Choice
      label="Workspace"
      all="All workspaces"
      value={me.workspace}
      options={names.map((name) => ({ id: name, label: name }))}
      onChoose={(name) => window.location.assign(name === null ? '/' : `/w/${name}/`)}
    />
  );
}

/** The colours of the pages; the signed-in key, its sessions, and the sign-out button. */
export function AccountPart({ me }: { readonly me: Me }): JSX.Element {
  const [appearance, setAppearance] = useState<Appearance>(() => readAppearance(localStorage));
  const choose = (chosen: Appearance): void => {
    chooseAppearance(localStorage, document.documentElement, chosen);
    setAppearance(chosen);
  };
  return (
    <>
      <Choice
        label="Colours"
        value={appearance}
        options={APPEARANCES}
        onChoose={(id) => choose((id ?? 'system') as Appearance)}
      />
      {me.signedIn && <Account me={me} />}
    </>
  );
}

function Account({ me }: { readonly me: Me }): JSX.Element {
  const api = useApi();
  const dialog = useRef<HTMLDialogElement>(null);
  const [isListed, setIsListed] = useState(false);
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
    <div class="field">
      <p class="label" dir="auto">
        {me.key === null ? 'Signed in with a link' : `Signed in with key ${me.key.name}`}
      </p>
      <div class="row">
        <button type="button" onClick={list}>
          Sessions
        </button>
        <button type="button" onClick={signOut}>
          Sign out
        </button>
      </div>
      <Dialog of={dialog} title="Browser sessions" onClose={() => setIsListed(false)}>
        {isListed && <SessionList />}
      </Dialog>
    </div>
  );
}
