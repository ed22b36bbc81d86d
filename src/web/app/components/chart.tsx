import type { ComponentChild, JSX } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { ChartContext, Drawing, Stop } from '../charts/drawing.ts';
import { pageColours } from '../charts/palette.ts';
import { toNode } from '../charts/svg-node.ts';
import { type Paper, usePaper } from '../state/paper.ts';
import { useScope } from '../state/scope.tsx';
import { EntityDot } from './parts.tsx';

/** Widths in pixels of a chart on desktops and phones; the style sheet shows one of them. */
const WIDTHS = { wide: 820, narrow: 330 } as const;
const STATIC_WIDTH = 230;

export interface ChartProps {
  readonly label: string;
  /** Draws the chart. A new function draws again, so memoise it with the data that it draws. */
  readonly draw: (context: ChartContext) => Drawing;
  /** Height before the first drawing, in pixels, so that the page does not jump. */
  readonly height?: number;
  /** Label of the series that stands out. */
  readonly highlighted?: string | null;
  /** Charts without tooltips cannot be focused. */
  readonly isStatic?: boolean;
}

/** A chart; in a browser as wide as its container, with tooltips for the pointer and the arrow keys. */
export function Chart(props: ChartProps): JSX.Element {
  const paper = usePaper();
  return paper === null ? <LiveChart {...props} /> : <DrawnChart {...props} paper={paper} />;
}

/** A chart of a page without scripts: drawn once for desktops and once for phones, so that its text stays readable on both. */
function DrawnChart({ draw, isStatic = false, paper }: ChartProps & { readonly paper: Paper }): JSX.Element {
  const { format } = useScope();
  const { document } = paper;
  const drawnAt = (width: number): ComponentChild => {
    const { svg } = draw({ document, theme: pageColours, width, format });
    return toNode(svg);
  };
  if (isStatic) return <div class="chart">{drawnAt(STATIC_WIDTH)}</div>;
  return (
    <>
      {(['wide', 'narrow'] as const).map((name) => (
        <div key={name} class={`chart ${name}`}>
          {drawnAt(WIDTHS[name])}
        </div>
      ))}
    </>
  );
}

function LiveChart({ label, draw, height = 280, highlighted = null, isStatic = false }: ChartProps): JSX.Element {
  const { format } = useScope();
  const holder = useRef<HTMLDivElement>(null);
  const width = useWidth(holder);
  const [stops, setStops] = useState<readonly Stop[]>([]);
  const [current, setCurrent] = useState<number | null>(null);
  useLayoutEffect(() => {
    if (width === 0 || holder.current === null) return;
    const drawing = draw({ document, theme: pageColours, width, format, highlighted });
    holder.current.replaceChildren(drawing.svg);
    setStops(drawing.stops);
    setCurrent(null);
  }, [draw, width, format, highlighted]);
  if (isStatic) return <div ref={holder} class="chart" />;
  const onPointerMove = (event: PointerEvent): void => {
    const box = holder.current?.getBoundingClientRect();
    if (box !== undefined) setCurrent(nearestStop(stops, event.clientX - box.left, event.clientY - box.top));
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const next = keyedStop(event.key, current, stops.length);
    if (next === undefined) return;
    event.preventDefault();
    setCurrent(next);
  };
  const stop = current === null ? null : (stops[current] ?? null);
  return (
    <div
      class="chart-box"
      role="group"
      aria-label={`${label}. Use the arrow keys to read the values.`}
      tabIndex={0}
      onKeyDown={onKeyDown}
      onPointerMove={onPointerMove}
      onPointerLeave={() => setCurrent(null)}
      onBlur={() => setCurrent(null)}
    >
      <div ref={holder} class="chart" style={{ minHeight: `${height}px` }} />
      {stop !== null && <span class="chart-line" style={{ left: `${stop.x}px` }} />}
      <Tooltip stop={stop} width={width} />
    </div>
  );
}

function Tooltip({ stop, width }: { readonly stop: Stop | null; readonly width: number }): JSX.Element {
  const isLeft = stop !== null && stop.x < width / 2;
  const place = stop === null ? {} : isLeft ? { left: `${stop.x + 10}px` } : { right: `${width - stop.x + 10}px` };
  return (
    <div class="tooltip" role="status" hidden={stop === null} style={{ left: 'auto', right: 'auto', ...place }}>
      {stop !== null && (
        <>
          <strong dir="auto">{stop.title}</strong>
          <ul>
            {stop.lines.map(({ colour, label, value }, index) => (
              <li key={index}>
                {colour !== null && <EntityDot colour={colour} />}
                {label !== '' && <span dir="auto">{label} </span>}
                <b>{value}</b>
              </li>
            ))}
          </ul>
        </>
      )}
    </div>
  );
}

function useWidth(holder: { readonly current: HTMLElement | null }): number {
  const [width, setWidth] = useState(0);
  useEffect(() => {
    const element = holder.current;
    if (element === null) return;
    const observer = new ResizeObserver(() => setWidth(Math.floor(element.clientWidth)));
    observer.observe(element);
    setWidth(Math.floor(element.clientWidth));
    return () => observer.disconnect();
  }, [holder]);
  return width;
}

// The vertical distance decides only between places that are equally near, as in a scatter plot.
function nearestStop(stops: readonly Stop[], x: number, y: number): number | null {
  let nearest: number | null = null;
  let least = Number.POSITIVE_INFINITY;
  for (const [index, stop] of stops.entries()) {
    const distance = Math.abs(stop.x - x) + (stop.y === null ? 0 : Math.abs(stop.y - y) / 8);
    if (distance < least) {
      least = distance;
      nearest = index;
    }
  }
  return nearest;
}

// Undefined for keys that do not move the tooltip.
function keyedStop(key: string, current: number | null, count: number): number | null | undefined {
  if (count === 0) return undefined;
  if (key === 'Escape') return null;
  if (key === 'Home') return 0;
  if (key === 'End') return count - 1;
  if (key === 'ArrowRight' || key === 'ArrowDown') return Math.min(count - 1, (current ?? -1) + 1);
  if (key === 'ArrowLeft' || key === 'ArrowUp') return Math.max(0, (current ?? count) - 1);
  return undefined;
}
