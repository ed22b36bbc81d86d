/**
 * Colours of the series. Index 0 is the brand. Any two of a list differ by at least 0.11 in OKLab for readers with normal
 * vision, protanopia and deuteranopia, and by 0.07 with tritanopia; each has a contrast of at least 3 to its surface.
 */
const light = [
  '#2f55ff',
  '#e36626',
  '#009488',
  '#9340b7',
  '#8f5400',
  '#cc70d5',
  '#1c4e60',
  '#4e2b03',
  '#020b84',
  '#120234',
];
const dark = [
  '#86a2ff',
  '#f99c67',
  '#42d1bb',
  '#b87bb1',
  '#ffce2d',
  '#8bfada',
  '#9f4f84',
  '#e06c18',
  '#9c10f2',
  '#d0061b',
];

/** Colours of the parts of a page that charts use. */
const lightParts = { ink: '#0d1421', muted: '#586274', line: '#e4e8ee', surface: '#ffffff', none: '#c3c9d3' };
const darkParts = { ink: '#edf1f7', muted: '#9aa5b6', line: '#252e3c', surface: '#141a24', none: '#3f4a5c' };

export const PALETTES = {
  light: { series: light, ...lightParts },
  dark: { series: dark, ...darkParts },
} as const;

/** Colour index of a series of unknown values: grey, and sorted after all other series. */
export const NO_HUE = Number.POSITIVE_INFINITY;

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
  readonly line: string;
  readonly surface: string;
}

/** The colours of the page as CSS variables, which follow its light and dark appearance. */
export const pageColours: ChartTheme = {
  series: (index) => `var(--series-${index === NO_HUE ? 'none' : hueOf(index)})`,
  ink: 'var(--ink)',
  muted: 'var(--muted)',
  line: 'var(--line)',
  surface: 'var(--surface)',
};

/** Literal colours, for charts in files of their own. */
export function fileColours(appearance: keyof typeof PALETTES): ChartTheme {
  const { series, none, ...parts } = PALETTES[appearance];
  return { ...parts, series: (index) => (index === NO_HUE ? none : (series[hueOf(index)] as string)) };
}
