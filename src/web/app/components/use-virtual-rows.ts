import {
  observeWindowOffset,
  observeWindowRect,
  type VirtualItem,
  Virtualizer,
  windowScroll,
} from '@tanstack/virtual-core';
import { useEffect, useLayoutEffect, useReducer, useState } from 'preact/hooks';

/** The rows that are drawn, and the space of the other rows. */
export interface VirtualRows {
  readonly items: readonly VirtualItem[];
  /** Height of the rows before and after the drawn ones, in pixels. */
  readonly before: number;
  readonly after: number;
  /** Reference of a drawn row, which needs the attribute `data-index`. */
  readonly measure: (row: Element | null) => void;
}

/** Rows before and after the visible ones that are drawn too. */
const OVERSCAN = 12;
/** Tables with at most so many rows are drawn whole, so that they can be printed and searched by the browser. */
const WHOLE_MAX = 100;

/** Decides which rows of an element are drawn while the page scrolls. Rows are measured, so that they may have any height. */
export function useVirtualRows(
  box: { readonly current: HTMLElement | null },
  count: number,
  rowHeight: number,
): VirtualRows {
  const [, redraw] = useReducer<number, void>((drawn) => drawn + 1, 0);
  const [scrollMargin, setScrollMargin] = useState(0);
  const options = {
    count,
    scrollMargin,
    getScrollElement: () => (typeof window === 'undefined' ? null : window),
    estimateSize: () => rowHeight,
    overscan: count <= WHOLE_MAX ? WHOLE_MAX : OVERSCAN,
    observeElementRect: observeWindowRect,
    observeElementOffset: observeWindowOffset,
    scrollToFn: windowScroll,
    initialRect: { width: 0, height: rowHeight * OVERSCAN },
    onChange: () => redraw(),
  };
  const [virtualizer] = useState(() => new Virtualizer<Window, Element>(options));
  virtualizer.setOptions(options);
  useEffect(() => virtualizer._didMount(), [virtualizer]);
  useLayoutEffect(() => {
    // Blocks above may change their heights.
    const top = box.current?.getBoundingClientRect().top ?? 0;
    setScrollMargin(Math.round(top + window.scrollY));
    virtualizer._willUpdate();
  });
  const items = virtualizer.getVirtualItems();
  return {
    items,
    before: (items[0]?.start ?? scrollMargin) - scrollMargin,
    after: virtualizer.getTotalSize() - ((items.at(-1)?.end ?? scrollMargin) - scrollMargin),
    measure: virtualizer.measureElement,
  };
}
