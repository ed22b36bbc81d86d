import { type Markish, type PlotOptions, plot } from '@observablehq/plot';
import type { ChartContext } from './drawing.ts';

/** A drawn plot with the positions of its values. */
export interface Plotted {
  readonly svg: SVGSVGElement;
  x(value: unknown): number;
  y(value: unknown): number;
}

/** Margins in pixels. */
const MARGINS = { marginTop: 18, marginRight: 26, marginBottom: 26, marginLeft: 48 };

/** Draws marks without Plot's style element, so that the page's content security policy can forbid inline styles. */
export function drawPlot(
  context: ChartContext,
  label: string,
  options: Omit<PlotOptions, 'marks'> & { readonly marks: readonly Markish[] },
): Plotted {
  const { document, width, theme } = context;
  const drawn = plot({ ...MARGINS, width, document, className: 'plot', ...options, marks: [...options.marks] });
  const svg = drawn as unknown as SVGSVGElement & Pick<typeof drawn, 'scale'>;
  for (const style of [...svg.querySelectorAll('style')]) style.remove();
  svg.setAttribute('role', 'img');
  svg.setAttribute('aria-label', label);
  svg.setAttribute('color', theme.muted);
  svg.setAttribute('font-size', '12');
  // The page names the chart; the parts of Plot would be read one by one.
  for (const part of [...svg.querySelectorAll('[aria-label], [aria-description]')]) {
    part.removeAttribute('aria-label');
    part.removeAttribute('aria-description');
  }
  const position = (name: 'x' | 'y') => {
    const scale = drawn.scale(name);
    const middle = (scale?.bandwidth ?? 0) / 2;
    return (value: unknown): number => Number(scale?.apply(value) ?? 0) + middle;
  };
  return { svg, x: position('x'), y: position('y') };
}
