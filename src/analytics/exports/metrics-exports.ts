import { cubeFiles } from './cube.ts';
import { metricflowFiles } from './metricflow.ts';
import { osiFiles } from './osi.ts';
import { supersetFiles } from './superset.ts';

const EXPORTS = {
  metricflow: metricflowFiles,
  cube: cubeFiles,
  osi: osiFiles,
  superset: supersetFiles,
} as const satisfies Record<string, () => Map<string, string>>;

/** A format of the metrics layer for other tools. */
export type ExportFormat = keyof typeof EXPORTS;

/** The formats of the metrics layer. */
export const EXPORT_FORMATS = Object.keys(EXPORTS) as ExportFormat[];

/** Returns the files of a format, by path relative to the folder of a project. */
export function exportFiles(format: ExportFormat): ReadonlyMap<string, string> {
  return EXPORTS[format]();
}
