import type { Format } from './format.ts';
import type { PaperChart } from './paper.ts';

export const XLSX = 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet';

/** Pixels of a picture per pixel of its chart. */
const SCALE = 2;

/** Saves contents as a file. */
export function saveFile(blob: Blob, name: string): void {
  const url = URL.createObjectURL(blob);
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  URL.revokeObjectURL(url);
}

/** Saves a chart with its title and legend as a picture. */
export async function saveChart(chart: PaperChart, format: Format): Promise<void> {
  const { svgFile } = await import('../charts/svg-file.ts');
  const text = svgFile(chart, format, document);
  const url = URL.createObjectURL(new Blob([text], { type: 'image/svg+xml' }));
  try {
    const image = new Image();
    image.src = url;
    await image.decode();
    const canvas = document.createElement('canvas');
    canvas.width = image.width * SCALE;
    canvas.height = image.height * SCALE;
    canvas.getContext('2d')?.drawImage(image, 0, 0, canvas.width, canvas.height);
    const blob = await new Promise<Blob | null>((resolve) => canvas.toBlob(resolve));
    if (blob === null) throw new Error('the chart could not be drawn');
    saveFile(blob, `${chart.title}.png`);
  } finally {
    URL.revokeObjectURL(url);
  }
}
