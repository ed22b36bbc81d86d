import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { EntityDot, Timestamp } from '../../components/parts.tsx';
import { useVirtualRows } from '../../components/use-virtual-rows.ts';
import { NO_VALUE } from '../../state/format.ts';
import { Link } from '../../state/router.tsx';
import { useScope } from '../../state/scope.tsx';
import { type Row, textOf } from '../../state/table.ts';
import { namesOf } from '../prompts/prompt-rows.ts';
import '../../styles/responses.css';

interface ResponseTableProps {
  readonly caption: string;
  readonly rows: readonly Row[];
  readonly linkOf: (id: string) => string;
  /** Called when the last drawn row is near the end of the rows. */
  readonly onEnd?: () => void;
  /** Shown below the rows. */
  readonly children?: ComponentChildren;
}

const ROW_HEIGHT = 57;
/** Rows below the drawn ones at which more are requested. */
const AHEAD = 10;
/** Competitors of a row; the others are counted. */
const NAMES_MAX = 3;

/** Responses in the order of the server. Only visible rows are drawn. */
export function ResponseTable({ caption, rows, linkOf, onEnd, children }: ResponseTableProps): JSX.Element {
  const scroller = useRef<HTMLElement>(null);
  const virtual = useVirtualRows(scroller, rows.length, ROW_HEIGHT);
  const last = virtual.items.at(-1)?.index ?? 0;
  useEffect(() => {
    if (last >= rows.length - AHEAD) onEnd?.();
  }, [last, rows.length, onEnd]);
  return (
    <section class="table-box responses" ref={scroller} tabIndex={0} aria-label={`Rows of ${caption}`}>
      <table aria-rowcount={-1}>
        <thead>
          <tr>
            <th scope="col">Response</th>
            <th scope="col">Brand</th>
            <th scope="col">Competitors</th>
            <th scope="col" class="number">
              Cited pages
            </th>
          </tr>
        </thead>
        <tbody>
          <Space height={virtual.before} />
          {virtual.items.map(({ index }) => {
            const row = rows[index];
            if (row === undefined) return null;
            return (
              <tr key={textOf(row['response_id'])} ref={virtual.measure} data-index={index}>
                <Cells row={row} to={linkOf(textOf(row['response_id']))} />
              </tr>
            );
          })}
          <Space height={virtual.after} />
        </tbody>
      </table>
      {children}
    </section>
  );
}

function Cells({ row, to }: { readonly row: Row; readonly to: string }): JSX.Element {
  const { format, engineLabel, engineColour, entityColour } = useScope();
  const { engine, citations } = row;
  const slug = textOf(engine);
  const names = namesOf(row['competitors']);
  const prompt = textOf(row['prompt']);
  return (
    <>
      <td class="wide">
        <Link to={to} class="clamped" dir="auto" title={prompt}>
          {prompt === '' ? 'Prompt without text' : prompt}
        </Link>
        <span class="below">
          <span class="engine" dir="auto">
            <EntityDot colour={engineColour(slug)} />
            {engineLabel(slug)}
          </span>{' '}
          <Timestamp time={textOf(row['created_at']) || null} />
        </span>
      </td>
      <td class="brief">
        {row['brand_mentioned'] === true ? (
          <>
            <EntityDot colour={0} />
            {row['brand_position'] === null ? 'mentioned' : `position ${format.value(row['brand_position'], 'count')}`}
            <span class="below">{textOf(row['brand_sentiment']) || NO_VALUE}</span>
          </>
        ) : (
          <span class="quiet">not mentioned</span>
        )}
      </td>
      <td>
        {names.length === 0 ? (
          <span class="quiet">none</span>
        ) : (
          <ul class="leaders">
            {names.slice(0, NAMES_MAX).map(({ id, name }, index) => (
              <li key={index} title={name}>
                <EntityDot colour={entityColour(id)} />
                <span dir="auto">{name}</span>
              </li>
            ))}
            {names.length > NAMES_MAX && <li class="quiet">and {names.length - NAMES_MAX} more</li>}
          </ul>
        )}
      </td>
      <td class="number">{format.value(citations, 'count')}</td>
    </>
  );
}

function Space({ height }: { readonly height: number }): JSX.Element | null {
  if (height <= 0) return null;
  return (
    <tr aria-hidden="true" class="space">
      <td colSpan={4} style={{ height: `${height}px` }} />
    </tr>
  );
}
