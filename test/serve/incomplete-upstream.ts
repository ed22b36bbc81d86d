import { declarations } from '../../schemas/catalogue.ts';
import { isRecord } from '../../src/base/json.ts';
import { type Fields, metaOf } from '../../src/contract/fields.ts';
import type { ResourceDeclaration, TableDeclaration } from '../../src/contract/resource.ts';
import { type Exchange, startLiar } from '../hostile/liar.ts';

/** What happens to the fields of an item that are not kept. */
type Loss = (item: Record<string, unknown>, fields: Fields, kept: readonly string[]) => Record<string, unknown>;

const none: Loss = (item) => item;

const omitted: Loss = (item, _fields, kept) => Object.fromEntries(kept.map((field) => [field, item[field]]));

const nulled: Loss = (item, fields, kept) => {
  const lost = Object.keys(fields).filter((field) => !kept.includes(field));
  return { ...item, ...Object.fromEntries(lost.map((field) => [field, null])) };
};

// Nested objects and the elements of nested arrays lose their declared fields and get another one; other arrays have null.
const hollow: Loss = (item, fields) => {
  const changed = Object.entries(fields).flatMap(([field, schema]): [string, unknown][] => {
    const { as } = metaOf(schema);
    if (as === 'column') return Array.isArray(item[field]) ? [[field, [null]]] : [];
    return [[field, as === 'group' ? { added: 1 } : [{ added: 1 }, {}]]];
  });
  return { ...item, ...Object.fromEntries(changed) };
};

const extended: Loss = (item) => ({ ...item, added: { level: [1, null] } });

const LOSSES = [none, omitted, nulled, hollow, extended];

/**
 * Starts a server in front of the sandbox whose items lack fields: each item keeps its key and the time that selects it, and
 * the other fields are sent, omitted, null or hollow, in turns. Returns its base URL.
 */
export async function startIncompleteUpstream(sandboxUrl: string): Promise<string> {
  const liar = await startLiar(sandboxUrl);
  let objects = 0;
  liar.tell((exchange) => {
    const resource = exchange.status === 200 ? resourceOf(exchange) : undefined;
    if (resource === undefined) return;
    objects += 1;
    exchange.edit((body) => incomplete(resource, body, objects));
  });
  return liar.baseUrl;
}

function resourceOf({ path }: Exchange): ResourceDeclaration | undefined {
  const matches = (template: string): boolean => new RegExp(`^${template.replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(path);
  return declarations.find((declaration) => matches(declaration.path));
}

function incomplete({ tables }: ResourceDeclaration, body: unknown, turn: number): unknown {
  let result = body;
  for (const table of tables) {
    // Items of unknown form have no declared fields to lose.
    if (table.whole !== undefined || !isRecord(result)) continue;
    if (table.at === 'body') result = lose(table, result, turn);
    else {
      const { list } = table.at;
      const items = result[list];
      if (Array.isArray(items)) {
        result = { ...result, [list]: items.map((item, index) => (isRecord(item) ? lose(table, item, index) : item)) };
      }
    }
  }
  return result;
}

function lose(table: TableDeclaration, item: Record<string, unknown>, turn: number): Record<string, unknown> {
  const { fields, key, extent, at } = table;
  const times = extent?.kind === 'time' ? [extent.field] : [];
  const frame = at === 'body' ? Object.keys(item).filter((field) => !(field in fields)) : [];
  const loss = LOSSES[turn % LOSSES.length] as Loss;
  return loss(
    item,
    fields,
    [...key, ...times, ...frame].filter((field) => field in item),
  );
}
