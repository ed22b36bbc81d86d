import { fileURLToPath } from 'node:url';
import { SightlineError } from '../../base/errors.ts';
import { installLine } from '../../base/optional-packages.ts';

/** The fonts of the package, for machines without fonts. Texts in other scripts use the fonts of the system. */
export const FONTS = ['public-sans-regular.ttf', 'public-sans-bold.ttf'].map((name) =>
  fileURLToPath(
    new URL(
      import.meta.url.endsWith('.ts') ? `../../../dist/src/web/fonts/${name}` : `../fonts/${name}`,
      import.meta.url,
    ),
  ),
);

/** Pixels per unit of the SVG, so that texts are sharp on screens with a high resolution. */
const SCALE = 2;

/**
 * Draws an SVG document as a PNG, twice as large as its `width` and `height`.
 *
 * @throws `usage` if the package @resvg/resvg-js is not installed
 */
export async function svgToPng(svg: string): Promise<Uint8Array> {
  const { Resvg } = await loadResvg();
  const drawing = new Resvg(svg, {
    fitTo: { mode: 'zoom', value: SCALE },
    font: { fontFiles: FONTS, loadSystemFonts: true, defaultFontFamily: 'Public Sans' },
  });
  return drawing.render().asPng();
}

async function loadResvg(): Promise<typeof import('@resvg/resvg-js')> {
  try {
    return await import('@resvg/resvg-js');
  } catch (thrown) {
    const { code } = thrown as NodeJS.ErrnoException;
    if (code !== 'ERR_MODULE_NOT_FOUND' && code !== 'MODULE_NOT_FOUND') throw thrown;
    const message = `PNG files need the package @resvg/resvg-js, which is not installed; run \`${installLine('png')}\``;
    throw new SightlineError('usage', message);
  }
}
