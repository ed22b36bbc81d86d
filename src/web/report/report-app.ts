import { SightlineError } from '../../base/errors.ts';
import type { ReportApp } from './report-types.ts';

/** The built module, which contains the components of the data pages and their packages. */
const BUILT = new URL(
  // Sources that were not built use the built module, because Node cannot run TypeScript with markup.
  import.meta.url.endsWith('.ts') ? '../../../dist/src/web/report-app/report-app.js' : '../report-app/report-app.js',
  import.meta.url,
);

/**
 * Loads the functions that draw reports and charts without a browser. They are loaded on use, because they take about 50 ms.
 *
 * @throws `internal` if the pages were not built
 * @example
 * const { renderChart } = await loadReportApp();
 * const svg = renderChart({ kind: 'lines', title: 'Visibility', about: '', unit: 'ratio', series });
 */
export async function loadReportApp(): Promise<ReportApp> {
  try {
    return (await import(BUILT.href)) as ReportApp;
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw thrown;
    throw new SightlineError('internal', 'the pages were not built; run `npm run build`', { cause: thrown });
  }
}
