import { resolve } from 'node:path';
import { SightlineError, toSightlineError } from '../base/errors.ts';

/** A database file that cannot be used: damaged, not a DuckDB database, or not a warehouse. */
export class DamagedFile extends SightlineError {
  readonly path: string;

  constructor(path: string, message: string, options?: ErrorOptions) {
    super('warehouse_invalid', message, options);
    this.name = 'DamagedFile';
    this.path = path;
  }
}

/** DuckDB errors that mean a damaged file, whichever query runs. */
const DAMAGE_ON_READING: readonly (readonly [RegExp, string])[] = [
  [/replaying WAL|WAL file|WAL does not match/, 'its write-ahead log cannot be replayed'],
  [/checksum|Corrupt database/i, 'a block has a wrong checksum'],
  [/Could not read (enough|all|from)/i, 'it ends too early or cannot be read'],
  [/not a valid DuckDB database/, 'it is not a DuckDB database'],
];

/** DuckDB errors that mean a damaged file only if the SQL is sightline's own and known to be valid. */
const DAMAGE: readonly (readonly [RegExp, string])[] = [
  ...DAMAGE_ON_READING,
  [/^Serialization Error|Failed to deserialize/, 'its content cannot be decoded'],
  [/^INTERNAL Error/, 'DuckDB cannot process its content'],
  [/^FATAL Error|database has been invalidated/, 'DuckDB stopped using it after an error'],
];

/** Kinds of DuckDB errors that a damaged file causes; messages of other kinds may quote data. */
const DAMAGE_KINDS = /^(IO|Serialization|INTERNAL|FATAL|TransactionContext) Error/;

/**
 * Maps an error of a statement on the database at `path` to a SightlineError. DuckDB's text about a damaged file is
 * kept only as `cause`.
 */
export function toDatabaseError(path: string, thrown: unknown): SightlineError {
  return toMachineError(thrown) ?? toDamage(path, thrown, DAMAGE) ?? toSightlineError(thrown);
}

/** Like `toDatabaseError`, for SQL written by a user: returns null unless the file is damaged. */
export function toReadError(path: string, thrown: unknown): DamagedFile | null {
  return toDamage(path, thrown, DAMAGE_ON_READING);
}

/** Maps an error of DuckDB's open. */
export function toOpenError(path: string, thrown: unknown): SightlineError {
  const message = textOf(thrown);
  if (/Could not set lock on file|Conflicting lock|being used by another process/i.test(message)) {
    const pid = /PID (\d+)/.exec(message)?.[1];
    const owner = pid === undefined ? 'a process' : `process ${pid}`;
    return new SightlineError('warehouse_locked', `${owner} owns the warehouse ${path}`, { cause: thrown });
  }
  if (/version number \d+.*can only read/is.test(message)) {
    return new SightlineError('warehouse_newer', `${path} was written by a newer version of DuckDB`, { cause: thrown });
  }
  const system = /Permission denied|Read-only file system|File name too long|No such file or directory/i.exec(message);
  if (system !== null) {
    return new SightlineError('folder_unwritable', `cannot open ${path}: ${system[0]}`, { cause: thrown });
  }
  const other = toMachineError(thrown) ?? toDamage(path, thrown, DAMAGE);
  if (other !== null) return other;
  if (/Too many open files/i.test(message)) return toSightlineError(thrown);
  return new DamagedFile(path, `${path} is damaged: DuckDB cannot open it`, { cause: thrown });
}

// Errors of the machine, not of the file. A fatal error repeats the text of the error that caused it.
function toMachineError(thrown: unknown): SightlineError | null {
  const known = toSightlineError(thrown);
  if (known.code !== 'internal' || thrown instanceof SightlineError) return known;
  return toMemoryError(thrown);
}

/** Maps an error of DuckDB that its memory limit was reached; returns null for others. */
export function toMemoryError(thrown: unknown): SightlineError | null {
  if (!/Out of Memory Error|failed to (allocate|pin)/i.test(textOf(thrown))) return null;
  return new SightlineError('out_of_memory', 'DuckDB needs more memory than it may use', { cause: thrown });
}

function toDamage(path: string, thrown: unknown, kinds: typeof DAMAGE): DamagedFile | null {
  const message = textOf(thrown);
  const known = DAMAGE_KINDS.test(message) ? kinds.find(([pattern]) => pattern.test(message)) : undefined;
  if (known === undefined) return null;
  const named = /file "([^"]+)"/.exec(message)?.[1]?.replace(/\.wal$/, '') ?? path;
  const damaged = resolve(named) === resolve(path) ? path : named;
  return new DamagedFile(damaged, `${damaged} is damaged: ${known[1]}`, { cause: thrown });
}

function textOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}
