/** Formats of plain files and their file name extensions. */
export const FILE_FORMATS = {
  parquet: 'parquet',
  csv: 'csv',
  ndjson: 'ndjson',
  arrow: 'arrows',
  xlsx: 'xlsx',
} as const;

/** One of FILE_FORMATS. */
export type FileFormat = keyof typeof FILE_FORMATS;

/** Whether the output of an export is the file of a workbook, and not a folder. */
export function isWorkbook(output: string): boolean {
  return output.toLowerCase().endsWith('.xlsx');
}
