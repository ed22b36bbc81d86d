import { randomBytes } from 'node:crypto';
import { inflateRawSync } from 'node:zlib';

/** An Avro schema in its JSON form, limited to the types that Iceberg manifests use. */
export type AvroSchema = string | readonly AvroSchema[] | AvroNode;

interface AvroNode {
  readonly type: AvroSchema;
  readonly fields?: readonly { readonly name: string; readonly type: AvroSchema }[];
  readonly items?: AvroSchema;
  readonly size?: number;
}

/**
 * An Avro value. A `long` is read as bigint and may be written as number. A union is represented by its value alone.
 */
export type AvroValue = null | boolean | number | bigint | string | Buffer | readonly AvroValue[] | AvroRecord;
/** An Avro record: values by field name. */
export interface AvroRecord {
  readonly [name: string]: AvroValue;
}

// Format: https://avro.apache.org/docs/1.12.0/specification/, "Object Container Files".
const MAGIC = Buffer.from('Obj\x01', 'latin1');
const SYNC_BYTES = 16;
const LONG_BYTES_MAX = 10;

/** Reads all records of a container file. Throws an Error if the file is not an Avro container or is truncated. */
export function readAvro(file: Buffer): AvroRecord[] {
  const input = { bytes: file, at: MAGIC.length };
  if (!file.subarray(0, MAGIC.length).equals(MAGIC)) throw new Error('is not an Avro container');
  const about = new Map<string, Buffer>();
  readBlocks(input, () => about.set(readText(input), readBytes(input)));
  const sync = take(input, SYNC_BYTES);
  const schema = JSON.parse(String(about.get('avro.schema'))) as AvroSchema;
  const codec = String(about.get('avro.codec') ?? 'null');
  if (codec !== 'null' && codec !== 'deflate') throw new Error(`uses the codec ${codec}; allowed: null, deflate`);
  const records: AvroRecord[] = [];
  while (input.at < file.length) {
    const count = Number(readLong(input));
    const packed = readBytes(input);
    const block = { bytes: codec === 'null' ? packed : inflateRawSync(packed), at: 0 };
    for (let index = 0; index < count; index++) records.push(readValue(block, schema) as AvroRecord);
    if (!take(input, SYNC_BYTES).equals(sync)) throw new Error('has a block without its sync marker');
  }
  return records;
}

/** Builds an uncompressed container file. `about` is added to the metadata in its header. */
export function writeAvro(
  schema: AvroSchema,
  about: Readonly<Record<string, string>>,
  records: readonly AvroRecord[],
): Buffer {
  const head = Object.entries({ 'avro.schema': JSON.stringify(schema), 'avro.codec': 'null', ...about });
  const sync = randomBytes(SYNC_BYTES);
  const out: Buffer[] = [MAGIC, toLong(head.length)];
  for (const [name, value] of head) out.push(withLength(Buffer.from(name)), withLength(Buffer.from(value)));
  out.push(toLong(0), sync);
  if (records.length > 0) {
    const rows: Buffer[] = [];
    for (const record of records) writeValue(rows, schema, record);
    out.push(toLong(records.length), withLength(Buffer.concat(rows)), sync);
  }
  return Buffer.concat(out);
}

interface Input {
  readonly bytes: Buffer;
  at: number;
}

function readValue(input: Input, schema: AvroSchema): AvroValue {
  if (Array.isArray(schema)) return readValue(input, schema[Number(readLong(input))] ?? missing('a branch'));
  if (typeof schema === 'string') return readPlain(input, schema);
  const { type, fields = [], items, size } = schema as AvroNode;
  switch (type) {
    case 'record':
      return Object.fromEntries(fields.map((field) => [field.name, readValue(input, field.type)]));
    case 'array': {
      const values: AvroValue[] = [];
      readBlocks(input, () => values.push(readValue(input, items ?? missing('a type of items'))));
      return values;
    }
    case 'fixed':
      return take(input, size ?? missing('a size'));
    default:
      return readValue(input, type);
  }
}

function readPlain(input: Input, type: string): AvroValue {
  switch (type) {
    case 'null':
      return null;
    case 'boolean':
      return take(input, 1)[0] === 1;
    case 'int':
      return Number(readLong(input));
    case 'long':
      return readLong(input);
    case 'float':
      return take(input, 4).readFloatLE();
    case 'double':
      return take(input, 8).readDoubleLE();
    case 'bytes':
      return readBytes(input);
    case 'string':
      return readText(input);
    default:
      throw new Error(`has the type ${type}, which is not supported`);
  }
}

function readBlocks(input: Input, readOne: () => void): void {
  for (;;) {
    const count = Number(readLong(input));
    if (count === 0) return;
    // A negative count is followed by the block's length.
    if (count < 0) readLong(input);
    for (let index = 0; index < Math.abs(count); index++) readOne();
  }
}

function take(input: Input, length: number): Buffer {
  const end = input.at + length;
  if (!(length >= 0) || end > input.bytes.length) throw new Error('is truncated');
  const bytes = input.bytes.subarray(input.at, end);
  input.at = end;
  return bytes;
}

function readBytes(input: Input): Buffer {
  return take(input, Number(readLong(input)));
}

function readText(input: Input): string {
  return readBytes(input).toString();
}

function readLong(input: Input): bigint {
  let value = 0n;
  for (let index = 0; index < LONG_BYTES_MAX; index++) {
    const byte = take(input, 1)[0] ?? 0;
    value |= BigInt(byte & 0x7f) << BigInt(7 * index);
    if (byte < 0x80) return (value >> 1n) ^ -(value & 1n);
  }
  throw new Error('has an unterminated integer');
}

function writeValue(out: Buffer[], schema: AvroSchema, value: AvroValue): void {
  if (Array.isArray(schema)) {
    const branches = schema as readonly AvroSchema[];
    const branch = branches.findIndex((each) => (each === 'null') === (value === null));
    out.push(toLong(branch));
    writeValue(out, branches[branch] ?? missing('a branch'), value);
    return;
  }
  if (typeof schema === 'string') {
    out.push(toPlain(schema, value));
    return;
  }
  const { type, fields = [], items } = schema as AvroNode;
  if (type === 'record') {
    for (const field of fields) writeValue(out, field.type, (value as AvroRecord)[field.name] ?? null);
  } else if (type === 'array') {
    const values = value as readonly AvroValue[];
    if (values.length > 0) out.push(toLong(values.length));
    for (const each of values) writeValue(out, items ?? missing('a type of items'), each);
    out.push(toLong(0));
  } else {
    writeValue(out, type, value);
  }
}

function toPlain(type: string, value: AvroValue): Buffer {
  switch (type) {
    case 'null':
      return Buffer.alloc(0);
    case 'boolean':
      return Buffer.from([value === true ? 1 : 0]);
    case 'int':
    case 'long':
      return toLong(value as number | bigint);
    case 'string':
    case 'bytes':
      return withLength(Buffer.isBuffer(value) ? value : Buffer.from(value as string));
    default:
      throw new Error(`has the type ${type}, which is not supported`);
  }
}

function toLong(value: number | bigint): Buffer {
  const long = BigInt(value);
  let rest = BigInt.asUintN(64, (long << 1n) ^ (long >> 63n));
  const bytes: number[] = [];
  while (rest > 0x7fn) {
    bytes.push(Number(rest & 0x7fn) | 0x80);
    rest >>= 7n;
  }
  return Buffer.from([...bytes, Number(rest)]);
}

function withLength(bytes: Buffer): Buffer {
  return Buffer.concat([toLong(bytes.length), bytes]);
}

function missing(what: string): never {
  throw new Error(`has a schema without ${what}`);
}
