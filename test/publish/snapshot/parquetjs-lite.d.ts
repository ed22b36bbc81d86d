/** The part of parquetjs-lite that the tests read with; the package brings no types. */
declare module 'parquetjs-lite' {
  export class ParquetReader {
    static openFile(path: string): Promise<ParquetReader>;
    getCursor(): { next(): Promise<Record<string, unknown> | null> };
    close(): Promise<void>;
  }
}
