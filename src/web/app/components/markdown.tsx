import type { ComponentChildren, JSX } from 'preact';

/** Blocks that are rendered; longer texts are cut. */
const BLOCKS_MAX = 2_000;

/**
 * Markdown of upstream as elements: headings, lists, quotes, tables, code, emphasis and http links. HTML in it is shown as text. All
 * headings have the same level, below the headings of the page.
 */
export function Markdown({ text }: { readonly text: string }): JSX.Element {
  return <div class="prose">{blocksOf(text.replaceAll('\r\n', '\n').split('\n'))}</div>;
}

function blocksOf(lines: readonly string[]): ComponentChildren[] {
  const blocks: ComponentChildren[] = [];
  let at = 0;
  const take = (belongs: (line: string) => boolean): string[] => {
    const start = at;
    while (at < lines.length && belongs(lines[at] ?? '')) at += 1;
    return lines.slice(start, at);
  };
  while (at < lines.length && blocks.length < BLOCKS_MAX) {
    const line = lines[at] ?? '';
    const key = at;
    if (line.trim() === '') at += 1;
    else if (line.startsWith('```')) {
      at += 1;
      const code = take((each) => !each.startsWith('```'));
      at += 1;
      blocks.push(<pre key={key}>{code.join('\n')}</pre>);
    } else if (/^#{1,6}\s/.test(line)) {
      at += 1;
      blocks.push(
        <h3 key={key} dir="auto">
          {inline(line.replace(/^#+\s+/, ''))}
        </h3>,
      );
    } else if (isTableRow(line)) blocks.push(<TextTable key={key} rows={take(isTableRow)} />);
    else if (ITEM.test(line))
      blocks.push(
        listOf(
          key,
          take((each) => ITEM.test(each)),
        ),
      );
    else if (line.startsWith('>')) {
      const quoted = take((each) => each.startsWith('>')).map((each) => each.replace(/^>\s?/, ''));
      blocks.push(
        <blockquote key={key} dir="auto">
          {inline(quoted.join(' '))}
        </blockquote>,
      );
    } else {
      blocks.push(
        <p key={key} dir="auto">
          {inline(take(isText).join(' ') || lines[at++])}
        </p>,
      );
    }
  }
  return blocks;
}

const ITEM = /^\s*(?:[-*+]|\d{1,9}[.)])\s+/;
const isTableRow = (line: string): boolean => /^\s*\|.*\|\s*$/.test(line);
const isText = (line: string): boolean =>
  line.trim() !== '' && !/^(?:#{1,6}\s|```|>)/.test(line) && !ITEM.test(line) && !isTableRow(line);

function listOf(key: number, lines: readonly string[]): JSX.Element {
  const items = lines.map((line, index) => (
    <li key={index} dir="auto">
      {inline(line.replace(ITEM, ''))}
    </li>
  ));
  return /^\s*\d/.test(lines[0] ?? '') ? <ol key={key}>{items}</ol> : <ul key={key}>{items}</ul>;
}

function TextTable({ rows }: { readonly rows: readonly string[] }): JSX.Element {
  const cells = rows
    .filter((row) => !/^[\s|:-]+$/.test(row))
    .map((row) =>
      row
        .trim()
        .slice(1, -1)
        .split('|')
        .map((cell) => cell.trim()),
    );
  return (
    <section class="table-box" tabIndex={0} aria-label="Table of the article">
      <table>
        <tbody>
          {cells.map((row, index) => (
            <tr key={index}>
              {row.map((cell, column) => (
                <td key={column} dir="auto">
                  {inline(cell)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

/** Code, bold, emphasis and links, in this order. */
const INLINE = /`([^`]+)`|\*\*([^*]+)\*\*|\*([^*]+)\*|\[([^\]]*)\]\((https?:\/\/[^\s)]+)\)/g;

function inline(text: string | undefined): ComponentChildren[] {
  const parts: ComponentChildren[] = [];
  let end = 0;
  for (const match of (text ?? '').matchAll(INLINE)) {
    const [whole, code, bold, emphasis, label, url] = match;
    parts.push((text ?? '').slice(end, match.index));
    if (code !== undefined) parts.push(<code>{code}</code>);
    else if (bold !== undefined) parts.push(<b>{bold}</b>);
    else if (emphasis !== undefined) parts.push(<em>{emphasis}</em>);
    else parts.push(<OuterLink url={url ?? ''}>{label === '' ? url : label}</OuterLink>);
    end = match.index + whole.length;
  }
  parts.push((text ?? '').slice(end));
  return parts;
}

/** A link to another site; text if the address is not one of the web. */
export function OuterLink({
  url,
  children,
}: {
  readonly url: string;
  readonly children?: ComponentChildren;
}): JSX.Element {
  if (!/^https?:\/\//i.test(url)) return <bdi>{children ?? url}</bdi>;
  return (
    <a href={url} rel="noopener noreferrer nofollow" target="_blank" dir="auto">
      {children ?? url}
    </a>
  );
}
