/** Colours and fonts of a chart. */
export interface Theme {
  /**
   * Colour of the series at this index; index 0 is the brand. The colours are distinguishable for colour-blind readers.
   */
  series(index: number): string;
  readonly ink: string;
  readonly muted: string;
  readonly grid: string;
  readonly surface: string;
  /** Whether a chart draws its own title. Charts inside a page do not. */
  readonly titled: boolean;
}

/** Font stack with at least one font for every platform. */
export const FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif";

const light = ['#1d4ed8', '#c2410c', '#0f766e', '#7e22ce', '#a16207', '#be185d', '#4b5563'];
const dark = ['#8ab4ff', '#ff9f6b', '#4fd1c5', '#cf9fff', '#e6c35c', '#ff8fb8', '#9ca3af'];

const names = ['ink', 'muted', 'grid', 'surface', 'page'] as const;
const lightParts = { ink: '#111827', muted: '#4b5563', grid: '#e5e7eb', surface: '#ffffff', page: '#f3f4f6' };
const darkParts = { ink: '#f3f4f6', muted: '#b6bdc9', grid: '#374151', surface: '#1a2130', page: '#0f1521' };

/** Colours as CSS variables, for charts inside a page that defines them with `themeRules`. */
export const pageTheme: Theme = {
  series: (index) => `var(--series-${index % light.length})`,
  ink: 'var(--ink)',
  muted: 'var(--muted)',
  grid: 'var(--grid)',
  surface: 'var(--surface)',
  titled: false,
};

/** Literal colours, for charts in files of their own. */
export const fileTheme: Theme = {
  series: (index) => light[index % light.length] as string,
  ink: lightParts.ink,
  muted: lightParts.muted,
  grid: lightParts.grid,
  surface: lightParts.surface,
  titled: true,
};

/** Returns the CSS rules that define the colours of `pageTheme`, for light and dark. */
export function themeRules(): string {
  const rules = (parts: typeof lightParts, series: readonly string[]): string =>
    [
      ...names.map((name) => `--${name}:${parts[name]}`),
      ...series.map((colour, index) => `--series-${index}:${colour}`),
    ].join(';');
  return `:root{color-scheme:light dark;${rules(lightParts, light)}}
@media (prefers-color-scheme:dark){:root{${rules(darkParts, dark)}}}`;
}
