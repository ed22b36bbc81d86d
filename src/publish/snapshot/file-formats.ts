/** Formats of plain files and their file name extensions. */
export const FILE_FORMATS = {
  parquet: 'parquet',
  csv: 'csv',
  'csv-excel': 'csv',
  ndjson: 'ndjson',
  arrow: 'arrows',
  xlsx: 'xlsx',
} as const;

/** The form of `csv-excel`. */
export const EXCEL_CSV = {
  /** Byte order mark: Excel then reads UTF-8. */
  mark: '\ufeff',
  separator: ';',
  /** Regular expression of texts that a spreadsheet takes for formulas. */
  formula: '^[=+\\-@\\t\\r\\n＝＋－＠]',
  /** Written before such a text, so that it is shown. */
  prefix: "'",
} as const;

/** One of FILE_FORMATS. */
export type FileFormat = keyof typeof FILE_FORMATS;

/** Whether the output of an export is the file of a workbook, and not a folder. */
export function isWorkbook(output: string): boolean {
  return output.toLowerCase().endsWith('.xlsx');
}
