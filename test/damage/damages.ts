import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';

/** One way to damage the bytes of a file; `random` returns numbers in [0, 1). */
export interface Damage {
  readonly title: string;
  readonly apply: (bytes: Buffer, random: () => number) => Buffer;
}

const BLOCK_BYTES = 4096;

/** All ways to damage a file, each at several positions. */
export const damages: readonly Damage[] = [
  ...[0, 0.2, 0.5, 0.8, 0.99].map((share) => ({
    title: `has bits flipped at ${share * 100} %`,
    apply: (bytes: Buffer, random: () => number) => flip(bytes, Math.floor(bytes.length * share), random),
  })),
  ...[0.01, 0.3, 0.6, 0.95].map((share) => ({
    title: `is truncated at ${share * 100} %`,
    apply: (bytes: Buffer) => bytes.subarray(0, Math.floor(bytes.length * share)),
  })),
  { title: 'lacks its last byte', apply: (bytes) => bytes.subarray(0, Math.max(0, bytes.length - 1)) },
  ...[0, 0.5].map((share) => ({
    title: `has a block of zeros at ${share * 100} %`,
    apply: (bytes: Buffer) => {
      const at = Math.floor(bytes.length * share);
      return Buffer.from(bytes).fill(0, at, Math.min(bytes.length, at + BLOCK_BYTES));
    },
  })),
  { title: 'is all zeros', apply: (bytes) => Buffer.alloc(bytes.length) },
  { title: 'is empty', apply: () => Buffer.alloc(0) },
  { title: 'is replaced by text', apply: () => Buffer.from('This is not the file that was here.\n'.repeat(20)) },
];

// Flips 8 bits within 64 kB after the position, because a single byte may be unused.
function flip(bytes: Buffer, from: number, random: () => number): Buffer {
  const damaged = Buffer.from(bytes);
  for (let count = 0; count < 8 && bytes.length > 0; count++) {
    const at = Math.min(bytes.length - 1, from + Math.floor(random() * Math.min(65_536, bytes.length - from)));
    damaged[at] = (damaged[at] as number) ^ (1 << Math.floor(random() * 8));
  }
  return damaged;
}

/** Damages a file in place; other hard links of it do not change. */
export function damageFile(path: string, { apply }: Damage, random: () => number): void {
  const bytes = readFileSync(path);
  rmSync(path);
  writeFileSync(path, apply(bytes, random), { mode: 0o600 });
}

/** Replaces a file by a folder. */
export function replaceByFolder(path: string): void {
  rmSync(path, { force: true });
  mkdirSync(path);
}
