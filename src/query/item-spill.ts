import { type FileHandle, open, rm } from 'node:fs/promises';
import { promisify } from 'node:util';
import { deflateRaw, inflateRaw } from 'node:zlib';
import { freeBytes } from '../base/free-space.ts';

const compress = promisify(deflateRaw);
const decompress = promisify(inflateRaw);

/** Fastest level; responses with competitors and citations shrink to a seventh. */
const LEVEL = 1;

/** Nothing is written if the disk would have less space than this for the warehouse and its copies. */
const FREE_BYTES_LEAST = 2 * 1024 ** 3;

/** Place of a block in the file. */
export interface Block {
  readonly position: number;
  /** Length in the file, and of the bytes. */
  readonly length: number;
  readonly size: number;
}

/** Blocks of bytes in a temporary file of this process. */
export interface ItemSpill {
  /** Appends a block. Returns null if the limit is reached or the disk is nearly full. */
  write(bytes: Buffer): Promise<Block | null>;
  read(block: Block): Promise<Buffer>;
  close(): Promise<void>;
}

/** Creates the store. Its file, of at most `bytesMax` bytes, is created with the first block and unlinked at once, so it never outlives the process. */
export function createItemSpill(path: string, bytesMax: number): ItemSpill {
  let opened: Promise<FileHandle> | null = null;
  let size = 0;
  const openFile = async (): Promise<FileHandle> => {
    const file = await open(path, 'wx+', 0o600);
    try {
      await rm(path);
      return file;
    } catch (thrown) {
      await file.close();
      throw thrown;
    }
  };
  return {
    write: async (bytes) => {
      const packed = await compress(bytes, { level: LEVEL });
      const free = freeBytes(path);
      if (size + packed.length > bytesMax || (free !== null && free < FREE_BYTES_LEAST)) return null;
      opened ??= openFile();
      const block = { position: size, length: packed.length, size: bytes.length };
      await (await opened).write(packed, 0, packed.length, size);
      size += packed.length;
      return block;
    },
    read: async ({ position, length, size: chunkSize }) => {
      const packed = Buffer.allocUnsafe(length);
      const { bytesRead } = await ((await opened) as FileHandle).read(packed, 0, length, position);
      // A single buffer for the result, because collecting large buffers as garbage takes long.
      return decompress(packed.subarray(0, bytesRead), { chunkSize });
    },
    close: async () => {
      const file = await opened?.catch(() => null);
      await file?.close();
    },
  };
}
