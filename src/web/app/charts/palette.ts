/**
 * Colours of the series. Index 0 is the brand. Any two of a list differ by at least 0.11 in OKLab for readers with normal
 * vision, protanopia and deuteranopia, and by 0.07 with tritanopia; each has a contrast of at least 3 to its surface.
 */
const light = [
  '#1d4ed8',
  '#f0621d',
  '#c674b3',
  '#5d5b13',
  '#58056b',
  '#a96460',
  '#7f387a',
  '#69072e',
  '#4c81fa',
  '#0012a7',
];
const dark = [
  '#8ab4ff',
  '#bd4334',
  '#96549c',
  '#c0bd52',
  '#facef4',
  '#f05465',
  '#a485ae',
  '#ea9fae',
  '#5658ee',
  '#7986f2',
];

/** Colours of the parts of a page that charts use. */
const lightParts = { ink: '#111827', muted: '#4b5563', grid: '#e5e7eb', surface: '#ffffff' };
const darkParts = { ink: '#f3f4f6', muted: '#b6bdc9', grid: '#374151', surface: '#1a2130' };

export const PALETTES = {
  light: { series: light, ...lightParts },
  dark: { series: dark, ...darkParts },
} as const;

/** Entities other than the brand that have a colour of their own. */
const OTHERS = light.length - 1;

/** Returns the colour of a series as an index of the palettes. Index 10 has the colour of index 1, and another pattern. */
export const hueOf = (index: number): number => (index === 0 ? 0 : 1 + ((index - 1) % OTHERS));

/** Patterns of lines and shapes of dots, by the number of earlier series with the same colour. */
const PATTERNS = [
  { dashes: null, symbol: 'circle' },
  { dashes: '8 3 2 3', symbol: 'square' },
  { dashes: '2 3', symbol: 'diamond' },
  { dashes: '10 5', symbol: 'triangle' },
] as const;

/** Returns the pattern that tells a series from earlier ones with the same colour. */
export function patternOf(index: number): (typeof PATTERNS)[number] {
  return PATTERNS[Math.floor(Math.max(0, index - 1) / OTHERS) % PATTERNS.length] ?? PATTERNS[0];
}

/** Colours of a chart. */
export interface ChartTheme {
  /** Colour of the series at this index. Other entities than the brand are assigned 1 and up. */
  series(index: number): string;
  readonly ink: string;
  readonly muted: string;
  readonly grid: string;
  readonly surface: string;
}

/** The colours of the page as CSS variables, which follow its light and dark appearance. */
export const pageColours: ChartTheme = {
  series: (index) => `var(--series-${hueOf(index)})`,
  ink: 'var(--ink)',
  muted: 'var(--muted)',
  grid: 'var(--grid)',
  surface: 'var(--surface)',
};

/** Literal colours, for charts in files of their own. */
export function fileColours(appearance: keyof typeof PALETTES): ChartTheme {
  const { series, ...parts } = PALETTES[appearance];
  return { ...parts, series: (index) => series[hueOf(index)] as string };
}
