import { ExactNumber, isRecord, toExactJson } from '../../base/json.ts';
import type { SchemaForm } from '../openapi/schema-form.ts';
import { toColumnName } from '../tables.ts';

/** Maximum depth of objects with a column for each member; deeper objects become JSON. */
const DEPTH_MAX = 6;
/** Maximum number of columns of a table. Further members are only in the stored item. */
const COLUMNS_MAX = 250;
/** Maximum length of a column name in characters. */
const NAME_CHARACTERS_MAX = 60;

/** Kind of a column. Values of several kinds are text. */
export type ItemKind = 'boolean' | 'integer' | 'number' | 'text' | 'json';

/** A column that the warehouse derives from the stored items. */
export interface ItemColumn {
  readonly name: string;
  /** Members that lead to the value; empty for an item that is not an object. */
  readonly path: readonly string[];
  readonly kind: ItemKind;
  readonly about?: string;
}

/** Returns the columns that a schema of items describes. `reserved` are names that no column may have. */
export function columnsOfSchema(schema: SchemaForm, reserved: Iterable<string>): readonly ItemColumn[] {
  const tree = createTree([], reserved);
  addSchema(tree, tree.root, [], schema);
  return [...tree.columns];
}

/** Returns the columns, extended so that they have the members of the items; the same list if they have them already. */
export function extendColumns(
  known: readonly ItemColumn[],
  items: readonly unknown[],
  reserved: Iterable<string>,
): readonly ItemColumn[] {
  const tree = createTree(known, reserved);
  for (const item of items) addValue(tree, tree.root, [], item);
  return tree.isChanged ? [...tree.columns] : known;
}

// A member of the items.
interface Node {
  /** Index of its column; undefined if it has none. */
  column: number | undefined;
  readonly members: Map<string, Node>;
}

interface Tree {
  readonly root: Node;
  readonly columns: ItemColumn[];
  readonly names: Set<string>;
  isChanged: boolean;
}

function createTree(known: readonly ItemColumn[], reserved: Iterable<string>): Tree {
  const tree: Tree = { root: newNode(), columns: [...known], names: new Set(reserved), isChanged: false };
  for (const [index, { name, path }] of known.entries()) {
    tree.names.add(name);
    path.reduce(memberOf, tree.root).column = index;
  }
  return tree;
}

function newNode(): Node {
  return { column: undefined, members: new Map() };
}

function memberOf(node: Node, name: string): Node {
  const known = node.members.get(name);
  if (known !== undefined) return known;
  const made = newNode();
  node.members.set(name, made);
  return made;
}

function addValue(tree: Tree, node: Node, path: readonly string[], value: unknown): void {
  if (value === null || value === undefined) return;
  if (!isRecord(value) || path.length >= DEPTH_MAX) {
    addKind(tree, node, path, kindOf(value));
    return;
  }
  for (const [name, inner] of Object.entries(value)) {
    if (inner !== null && canStore(name)) addValue(tree, memberOf(node, name), [...path, name], inner);
  }
}

function addSchema(tree: Tree, node: Node, path: readonly string[], schema: SchemaForm): void {
  const types = [...schema.types].filter((type) => type !== 'null');
  if (types.includes('object') && path.length < DEPTH_MAX) {
    for (const [name, inner] of schema.fields)
      if (canStore(name)) addSchema(tree, memberOf(node, name), [...path, name], inner);
    return;
  }
  const [kind, ...others] = types.map((type): ItemKind => {
    if (type === 'array' || type === 'object') return 'json';
    return type === 'string' ? 'text' : type;
  });
  // A schema that allows everything describes nothing: the items decide.
  if (kind !== undefined) addKind(tree, node, path, others.reduce(merged, kind), schema.about);
}

function addKind(tree: Tree, node: Node, path: readonly string[], kind: ItemKind, about: string | null = null): void {
  const known = node.column === undefined ? undefined : tree.columns[node.column];
  if (known === undefined) {
    if (tree.columns.length >= COLUMNS_MAX) return;
    const name = uniqueName(
      path.map(toPlainName).filter(Boolean).join('_') || (path.length === 0 ? 'value' : 'field'),
      tree.names,
    );
    tree.names.add(name);
    node.column = tree.columns.push({ name, path, kind, ...(about === null ? {} : { about }) }) - 1;
    tree.isChanged = true;
    return;
  }
  const both = merged(known.kind, kind);
  if (both === known.kind) return;
  tree.columns[node.column as number] = { ...known, kind: both };
  tree.isChanged = true;
}

function kindOf(value: unknown): ItemKind {
  if (typeof value === 'boolean') return 'boolean';
  if (typeof value === 'number') return Number.isSafeInteger(value) ? 'integer' : 'number';
  // Text has all digits of a large integer.
  if (value instanceof ExactNumber) return /^-?\d+$/.test(value.text) ? 'text' : 'number';
  return typeof value === 'string' ? 'text' : 'json';
}

function merged(a: ItemKind, b: ItemKind): ItemKind {
  if (a === b) return a;
  if (a === 'json' || b === 'json') return 'json';
  const areNumbers = [a, b].every((kind) => kind === 'integer' || kind === 'number');
  return areNumbers ? 'number' : 'text';
}

/** Returns the JSON pointer of a column's values in the stored item. */
export function pointerOf({ path }: ItemColumn): string {
  if (path.length === 0) return '$';
  return path.map((name) => `/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
}

/** Returns the value of a column in an item, as the column has it; null if it does not fit. */
export function valueIn(item: unknown, { path, kind }: ItemColumn): unknown {
  const value = path.reduce<unknown>(
    (at, name) => (isRecord(at) && Object.hasOwn(at, name) ? at[name] : null),
    path.length === 0 && isRecord(item) ? null : item,
  );
  if (value === null || value === undefined || kind === 'json') return value ?? null;
  if (kind === 'text') return typeof value === 'string' ? value : toExactJson(value);
  if (kind === 'number' && value instanceof ExactNumber) return Number(value.text);
  return typeof value === (kind === 'boolean' ? 'boolean' : 'number') ? value : null;
}

// Names that cannot be declared; the values stay in the stored item.
function canStore(name: string): boolean {
  return name !== '' && name !== '__proto__' && !name.includes('\u0000');
}

/** Returns a name in snake_case with the characters a-z, 0-9 and _; empty if nothing is left. */
export function toPlainName(name: string): string {
  const plain = toColumnName(name.normalize('NFKD'))
    .replace(/[^a-z0-9]+/g, '_')
    .replace(/^_+|_+$/g, '')
    .slice(0, NAME_CHARACTERS_MAX)
    .replace(/_+$/, '');
  return /^\d/.test(plain) ? `_${plain}`.slice(0, NAME_CHARACTERS_MAX) : plain;
}

/** Returns the name, with a number if it is taken. */
export function uniqueName(name: string, taken: ReadonlySet<string>): string {
  if (!taken.has(name)) return name;
  for (let number = 2; ; number += 1) {
    const numbered = `${name}_${number}`;
    if (!taken.has(numbered)) return numbered;
  }
}
