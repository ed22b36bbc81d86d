import { FONT, type Theme } from './theme.ts';

/** Height of the title and the sentence below it. */
const TITLE_HEIGHT = 48;
const ABOUT_CHARACTERS = 110;

/** Attributes of an element; null values are left out. */
type Attributes = Readonly<Record<string, string | number | null>>;

/** Escapes text for XML and HTML, in an element or an attribute. */
export function escaped(text: string): string {
  // XML cannot represent most control characters, lone surrogates, U+FFFE or U+FFFF.
  return text
    .replaceAll(/\p{Cc}|\p{Cs}|[\uFFFE\uFFFF]/gu, ' ')
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&#39;');
}

/** Returns an element as markup; `content` is markup, not text. */
export function element(name: string, attributes: Attributes, content = ''): string {
  const written = Object.entries(attributes)
    .filter(([, value]) => value !== null)
    .map(([attribute, value]) => ` ${attribute}="${escaped(typeof value === 'number' ? short(value) : String(value))}"`)
    .join('');
  return content === '' ? `<${name}${written}/>` : `<${name}${written}>${content}</${name}>`;
}

/** Returns a line of text in a chart. */
export function label(text: string, attributes: Attributes): string {
  return element('text', { 'font-size': 12, ...attributes }, escaped(text));
}

/** Cuts a text to `most` characters, ending in an ellipsis. */
export function cut(text: string, most: number): string {
  const characters = [...text];
  return characters.length <= most
    ? text
    : `${characters
        .slice(0, most - 1)
        .join('')
        .trimEnd()}…`;
}

/** Returns a chart as a complete, scalable SVG document with a title and a description. */
export function svgDocument(
  { title, about, width, height }: { title: string; about: string; width: number; height: number },
  theme: Theme,
  content: string,
): string {
  const above = theme.titled ? TITLE_HEIGHT : 0;
  const whole = height + above;
  const shown = theme.titled
    ? label(title, { x: 12, y: 22, 'font-size': 15, 'font-weight': 700 }) +
      label(cut(about, ABOUT_CHARACTERS), { x: 12, y: 40, fill: theme.muted }) +
      element('g', { transform: `translate(0 ${above})` }, content)
    : content;
  return element(
    'svg',
    {
      xmlns: 'http://www.w3.org/2000/svg',
      viewBox: `0 0 ${width} ${whole}`,
      width,
      height: whole,
      role: 'img',
      'aria-label': `${title}. ${about}`,
      'font-family': FONT,
      'font-size': 12,
      fill: theme.ink,
    },
    `<title>${escaped(title)}</title><desc>${escaped(about)}</desc>${element('rect', { width, height: whole, fill: theme.surface })}${shown}`,
  );
}

/** One decimal is finer than any screen's resolution. */
function short(value: number): string {
  return String(Math.round(value * 10) / 10);
}
