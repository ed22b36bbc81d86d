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
