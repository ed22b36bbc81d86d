import { escaped } from './svg.ts';

/** Markup of a cell, in contrast to plain text, which is escaped. */
export interface Markup {
  readonly markup: string;
}

/** Returns a section with a heading; empty without content. */
export function section(title: string, content: string): string {
  return content === '' ? '' : `<section><h2>${escaped(title)}</h2>${content}</section>`;
}

/**
 * Returns a table. On narrow screens the style sheet shows each row as a list of labelled cells; the roles keep it a table for
 * screen readers.
 */
export function table(heads: readonly string[], rows: readonly (readonly (string | Markup)[])[]): string {
  const head = heads.map((text) => `<th scope="col" role="columnheader">${escaped(text)}</th>`).join('');
  const cell = (content: string | Markup, column: number): string =>
    `<td role="cell" data-head="${escaped(heads[column] ?? '')}">${typeof content === 'string' ? escaped(content) : content.markup}</td>`;
  const body = rows.map((row) => `<tr role="row">${row.map(cell).join('')}</tr>`).join('');
  return `<div class="scroll"><table role="table"><thead><tr role="row">${head}</tr></thead><tbody>${body}</tbody></table></div>`;
}

/** Returns a paragraph in muted ink; empty without text. */
export function note(text: string): string {
  return text === '' ? '' : `<p class="muted">${escaped(text)}</p>`;
}

/** Returns a link if the URL is one of the web, and the text alone otherwise. */
export function link(text: string, url: string): Markup {
  const isWeb = /^https?:\/\//i.test(url) && URL.canParse(url);
  const shown = escaped(text === '' ? url : text);
  return { markup: isWeb ? `<a href="${escaped(url)}" rel="noopener noreferrer">${shown}</a>` : shown };
}
