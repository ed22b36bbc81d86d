import type { JSX } from 'preact';
import { useId, useMemo, useRef, useState } from 'preact/hooks';
import { type Brand, useScope } from '../state/scope.tsx';

/** Brands of the list that are shown at once. */
const SHOWN_MAX = 50;

/** Chooses the brand: a text field, and a list of the brands with this text in their names. */
export function BrandPicker(): JSX.Element {
  const { brand, brandList, setFilters } = useScope();
  const id = useId();
  const field = useRef<HTMLInputElement>(null);
  /** Null while the list is closed. */
  const [text, setText] = useState<string | null>(null);
  const [active, setActive] = useState(0);
  const found = useMemo(() => matching(brandList, text ?? ''), [brandList, text]);
  const choose = (chosen: Brand | undefined): void => {
    if (chosen === undefined) return;
    setText(null);
    // Groups, prompts and competitors belong to a brand.
    setFilters({ brand: chosen.id, topic: null, tag: null, prompt: null, competitor: null });
    field.current?.blur();
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key === 'Escape') setText(null);
    else if (event.key === 'Enter') choose(found[active]);
    else if (event.key === 'ArrowDown') setActive(Math.min(found.length - 1, active + 1));
    else if (event.key === 'ArrowUp') setActive(Math.max(0, active - 1));
    else return;
    event.preventDefault();
  };
  const open = (): void => {
    setText('');
    setActive(0);
  };
  return (
    <div class="field picker">
      <label for={`${id}-field`}>Brand</label>
      <input
        ref={field}
        id={`${id}-field`}
        type="text"
        role="combobox"
        dir="auto"
        autocomplete="off"
        spellcheck={false}
        aria-expanded={text !== null}
        aria-controls={`${id}-list`}
        aria-autocomplete="list"
        aria-activedescendant={text !== null && found.length > 0 ? `${id}-${active}` : undefined}
        value={text ?? brand?.name ?? ''}
        placeholder={brand?.name ?? 'Choose a brand'}
        onFocus={open}
        onBlur={() => setText(null)}
        onInput={(event) => {
          setText(event.currentTarget.value);
          setActive(0);
        }}
        onKeyDown={onKeyDown}
      />
      <ul id={`${id}-list`} role="listbox" aria-label="Brands" hidden={text === null}>
        {text !== null &&
          found.map((each, index) => (
            <li
              key={each.id}
              id={`${id}-${index}`}
              role="option"
              dir="auto"
              aria-selected={index === active}
              onMouseDown={(event) => event.preventDefault()}
              onClick={() => choose(each)}
            >
              {each.name}
            </li>
          ))}
        {text !== null && found.length === 0 && <li class="quiet">No brand has this text in its name.</li>}
      </ul>
    </div>
  );
}

function matching(brands: readonly Brand[], text: string): readonly Brand[] {
  const wanted = text.trim().toLocaleLowerCase();
  const found = brands.filter(({ name }) => name.toLocaleLowerCase().includes(wanted));
  return found.slice(0, SHOWN_MAX);
}
