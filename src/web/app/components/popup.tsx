import type { ComponentChildren, JSX } from 'preact';
import { useId, useRef, useState } from 'preact/hooks';

/** Distance from the edges of the window, and from the element below which a panel opens, in pixels. */
const EDGE = 8;
const GAP = 4;

export interface PopupProps {
  /** Name of the panel. */
  readonly label: string;
  /** Whether the button has no text, so that it needs the name of the panel. */
  readonly isUnnamed?: boolean;
  readonly class?: string;
  readonly panelClass?: string;
  readonly isPressed?: boolean;
  /** Whether the contents of the panel are drawn only while it is open. */
  readonly isLazy?: boolean;
  /** Contents of the button. */
  readonly button: ComponentChildren;
  /** Contents of the panel; a function gets the function that closes it. */
  readonly children: ComponentChildren | ((close: () => void) => ComponentChildren);
}

/** A button that opens a panel, which Escape and a click elsewhere close. */
export function Popup({
  label,
  class: name,
  panelClass = '',
  isPressed,
  button,
  children,
  ...rest
}: PopupProps): JSX.Element {
  const { isUnnamed = false, isLazy = false } = rest;
  const id = useId();
  const anchor = useRef<HTMLButtonElement>(null);
  const panel = useRef<HTMLDivElement>(null);
  const [isOpen, setIsOpen] = useState(false);
  const close = (): void => {
    panel.current?.hidePopover();
    anchor.current?.focus();
  };
  return (
    <>
      <button
        ref={anchor}
        type="button"
        class={name}
        popovertarget={id}
        aria-label={isUnnamed ? label : undefined}
        aria-haspopup="dialog"
        aria-expanded={isOpen}
        aria-pressed={isPressed}
      >
        {button}
      </button>
      <div
        ref={panel}
        id={id}
        popover="auto"
        role="dialog"
        aria-label={label}
        class={`popup ${panelClass}`}
        onBeforeToggle={({ newState }) => setIsOpen(newState === 'open')}
        onToggle={({ newState }) => {
          if (newState === 'open' && anchor.current !== null && panel.current !== null)
            placeBelow(anchor.current, panel.current);
        }}
      >
        {(isOpen || !isLazy) && (typeof children === 'function' ? children(close) : children)}
      </div>
    </>
  );
}

/** Places an open panel below an element, or above it if there is more room, inside the window. */
export function placeBelow(anchor: Element, panel: HTMLElement): void {
  const box = anchor.getBoundingClientRect();
  const { offsetWidth: width, offsetHeight: height } = panel;
  const page = document.documentElement.clientWidth;
  const start = box.left + width > page - EDGE ? box.right - width : box.left;
  const left = Math.max(EDGE, Math.min(start, page - width - EDGE));
  const isBelow = box.bottom + GAP + height <= innerHeight || box.top < height + GAP;
  const top = isBelow ? box.bottom + GAP : box.top - GAP - height;
  panel.style.left = `${left + scrollX}px`;
  panel.style.top = `${top + scrollY}px`;
}
