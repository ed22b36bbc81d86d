/** Colours of the page: as in the system, light or dark. */
export type Appearance = 'system' | 'light' | 'dark';

const KEY = 'sightline-appearance';

/** Returns the stored choice; `system` if there is none or the browser stores nothing. */
export function readAppearance(storage: Pick<Storage, 'getItem'>): Appearance {
  try {
    const stored = storage.getItem(KEY);
    return stored === 'light' || stored === 'dark' ? stored : 'system';
  } catch {
    return 'system';
  }
}

/** Stores the choice, if the browser permits it, and applies it to the document. */
export function chooseAppearance(storage: Storage, root: HTMLElement, appearance: Appearance): void {
  applyAppearance(root, appearance);
  try {
    if (appearance === 'system') storage.removeItem(KEY);
    else storage.setItem(KEY, appearance);
  } catch {
    // The choice lasts until the page is closed.
  }
}

export function applyAppearance(root: HTMLElement, appearance: Appearance): void {
  if (appearance === 'system') delete root.dataset['theme'];
  else root.dataset['theme'] = appearance;
}
