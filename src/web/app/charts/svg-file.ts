import type { VNode } from 'preact';
import { renderToString } from 'preact-render-to-string';
import type { Format } from '../state/format.ts';
import type { PaperChart } from '../state/paper.ts';
import { type ChartContext, cut, type Drawing } from './drawing.ts';
import { fileColours } from './palette.ts';
import { toNode } from './svg-node.ts';

/** Width of a chart in a file of its own, and the lines above it, in pixels. */
const WIDTH = 820;
const PADDING = 16;
const TITLE_HEIGHT = 26;
const LINE_HEIGHT = 18;
/** Mean width of a letter of the 12 and 15 pixel texts. */
const LETTER_WIDTH = 6.4;
/** Lines of the description; a longer one is cut off. */
const ABOUT_LINES_MAX = 3;
/** Letters of an entry of the legend; longer ones are cut off. */
const LABEL_LENGTH_MAX = 32;
const FONT = "'Public Sans', system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif";
const SVG = 'http://www.w3.org/2000/svg';

/** Draws a chart as a complete SVG document with a title, a description, a legend, literal colours and a background. */
export function svgFile(
  { title, about, legend, draw }: PaperChart,
  format: Format,
  document: Document,
  width = WIDTH,
): string {
  const theme = fileColours('light');
  const context: ChartContext = { document, theme, width, format };
  const { svg: chart }: Drawing = draw(context);
  const create = (name: string, attributes: Readonly<Record<string, string | number>>, text?: string): Element => {
    const element = document.createElementNS(SVG, name);
    for (const [attribute, value] of Object.entries(attributes)) element.setAttribute(attribute, String(value));
    if (text !== undefined) element.textContent = text;
    return element;
  };
  const letters = Math.floor((width - 2 * PADDING) / LETTER_WIDTH);
  const parts: Element[] = [
    create('text', { x: PADDING, y: 26, 'font-size': 15, 'font-weight': 700 }, cut(title, letters)),
  ];
  let y = 26 + LINE_HEIGHT;
  if (about !== '') {
    for (const [index, line] of linesOf(about, letters).entries()) {
      if (index > 0) y += LINE_HEIGHT;
      parts.push(create('text', { x: PADDING, y, fill: theme.muted }, line));
    }
    y += legend.length === 0 ? 0 : TITLE_HEIGHT;
  }
  let x = PADDING;
  for (const { label, colour } of legend) {
    const shown = cut(label, LABEL_LENGTH_MAX);
    const needed = 24 + shown.length * LETTER_WIDTH * 1.1;
    if (x > PADDING && x + needed > width - PADDING) {
      x = PADDING;
      y += LINE_HEIGHT;
    }
    parts.push(create('circle', { cx: x + 5, cy: y - 4, r: 5, fill: theme.series(colour) }));
    parts.push(create('text', { x: x + 15, y }, shown));
    x += needed;
  }
  if (legend.length > 0) y += LINE_HEIGHT - 8;
  const chartHeight = Number(chart.getAttribute('height'));
  const height = Math.ceil(y + chartHeight + 8);
  const moved = create('g', {
    transform: `translate(0 ${y})`,
    color: theme.muted,
    fill: 'currentColor',
    'text-anchor': 'middle',
  });
  for (const child of [...chart.childNodes]) moved.append(child);
  const root = create('svg', {
    xmlns: SVG,
    viewBox: `0 0 ${width} ${height}`,
    width,
    height,
    role: 'img',
    'aria-label': about === '' ? title : `${title}. ${about}`,
    'font-family': FONT,
    'font-size': 12,
    fill: theme.ink,
  });
  root.append(create('rect', { width, height, fill: theme.surface }), ...parts, moved);
  return xmlText(renderToString(toNode(root) as VNode));
}

// XML cannot represent most control characters, lone surrogates, U+FFFE or U+FFFF.
function xmlText(text: string): string {
  return text.replaceAll(/[^\P{Cc}\t\n]|\p{Cs}|[\uFFFE\uFFFF]/gu, ' ');
}

// Breaks a text between words.
function linesOf(text: string, most: number): string[] {
  const lines: string[] = [];
  let rest = text;
  while (lines.length < ABOUT_LINES_MAX - 1 && [...rest].length > most) {
    const end = rest.lastIndexOf(' ', most);
    if (end <= 0) break;
    lines.push(rest.slice(0, end));
    rest = rest.slice(end + 1);
  }
  return [...lines, cut(rest, most)];
}
