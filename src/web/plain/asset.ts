/** A file of the pages. */
export interface Asset {
  /** Path below its folder; empty for the page itself. */
  readonly name: string;
  readonly mediaType: string;
  readonly bytes: Buffer;
  /** Hash of the bytes, in hex. */
  readonly version: string;
}
