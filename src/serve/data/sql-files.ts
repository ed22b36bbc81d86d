import { fileURLToPath } from 'node:url';
import Negotiator from 'negotiator';
import { attachment, contentTypeOf, fileOf, formatOf } from '../http/content/negotiation.ts';
import type { FileFormat } from './encode-result.ts';

const XLSX = 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet';
/** CSV in the form of `EXCEL_CSV`. */
const EXCEL = 'text/csv;dialect=excel';
const NAME = 'query';

/** Path of the module that encodes results, for the process that runs queries, which is always the built one. */
export const ENCODER = fileURLToPath(
  new URL(
    import.meta.url.endsWith('.ts') ? '../../../dist/src/serve/data/encode-result.js' : './encode-result.js',
    import.meta.url,
  ),
);

/** Returns the format that Accept prefers; JSON if no available format matches. */
export function sqlFormatOf(accept: string | undefined): FileFormat | 'json' {
  const chosen = new Negotiator({ headers: { accept } }).mediaType(['application/json', 'text/csv', XLSX, EXCEL]);
  if (chosen === EXCEL) return 'csv-excel';
  return chosen === XLSX ? 'xlsx' : formatOf(accept);
}

/** Returns the headers of a file with a result. */
export function fileHeaders(format: FileFormat): Record<string, string> {
  if (format === 'csv-excel')
    return { 'content-type': `${EXCEL}; charset=utf-8`, 'content-disposition': attachment(`${NAME}.csv`) };
  return format === 'xlsx'
    ? { 'content-type': XLSX, 'content-disposition': attachment(`${NAME}.xlsx`) }
    : { 'content-type': contentTypeOf(format), 'content-disposition': fileOf(NAME, format) };
}
