import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { useRoute } from '../state/router.tsx';
import { useScope } from '../state/scope.tsx';
import { Dialog } from './dialog.tsx';
import { Facts } from './parts.tsx';

/** The keys of the pages, and what they do. */
const KEYS: Readonly<Record<string, string>> = {
  '/': 'search',
  j: 'the next row; in a response the older one, as →',
  k: 'the previous row; in a response the newer one, as ←',
  Esc: 'close a panel',
  '?': 'this list',
};

/** Elements in which the reader types. */
export const TYPED = 'input, select, textarea, [contenteditable], dialog';

/** Returns whether an event is a key for the page: not one with modifiers besides Shift, and not within one of the elements. */
export function isPageKey(event: KeyboardEvent, elements: string): boolean {
  if (event.defaultPrevented || event.altKey || event.ctrlKey || event.metaKey) return false;
  return !(event.target instanceof Element && event.target.closest(elements) !== null);
}

/** Focuses the search of the page with `/`, its rows with `j` and `k`, and lists the keys with `?`. */
export function Keys(): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  const { navigate } = useRoute();
  const { linkTo } = useScope();
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent): void => {
      if (!isPageKey(event, TYPED)) return;
      if (event.key === '?') dialog.current?.showModal();
      if (event.key === 'j') focusRow(1);
      if (event.key === 'k') focusRow(-1);
      if (event.key !== '/') return;
      event.preventDefault();
      const search = document.querySelector<HTMLInputElement>('main input[type="search"]');
      // Every page leads to a search: that of the responses, if it has none.
      if (search === null) navigate(linkTo('/responses'));
      else search.focus();
    };
    window.addEventListener('keydown', onKeyDown);
    return () => window.removeEventListener('keydown', onKeyDown);
  }, [navigate, linkTo]);
  return (
    <Dialog of={dialog} title="Keys">
      <Facts facts={Object.entries(KEYS).map(([key, about]) => [<kbd key={key}>{key}</kbd>, about])} />
    </Dialog>
  );
}

// Focuses the link of the next or the previous row of the page. A response has its own meaning of the keys.
function focusRow(step: 1 | -1): void {
  if (document.querySelector('main .steps') !== null) return;
  const links = [...document.querySelectorAll('main tbody tr')].flatMap((row) => row.querySelector('a') ?? []);
  const at = links.findIndex((link) => link.closest('tr')?.contains(document.activeElement));
  links[at === -1 && step === -1 ? -1 : at + step]?.focus();
}
