import {
  elementScroll,
  observeElementOffset,
  observeElementRect,
  type VirtualItem,
  Virtualizer,
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

/** Decides which rows of a scrolling element are drawn. Rows are measured, so that they may have any height. */
export function useVirtualRows(
  scroller: { readonly current: HTMLElement | null },
  count: number,
  rowHeight: number,
): VirtualRows {
  const [, redraw] = useReducer<number, void>((drawn) => drawn + 1, 0);
  const options = {
    count,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowHeight,
    overscan: OVERSCAN,
    observeElementRect,
    observeElementOffset,
    scrollToFn: elementScroll,
    initialRect: { width: 0, height: rowHeight * OVERSCAN },
    onChange: () => redraw(),
  };
  const [virtualizer] = useState(() => new Virtualizer<HTMLElement, Element>(options));
  virtualizer.setOptions(options);
  useEffect(() => virtualizer._didMount(), [virtualizer]);
  useLayoutEffect(() => virtualizer._willUpdate());
  const items = virtualizer.getVirtualItems();
  return {
    items,
    before: items[0]?.start ?? 0,
    after: virtualizer.getTotalSize() - (items.at(-1)?.end ?? 0),
    measure: virtualizer.measureElement,
  };
}
