import { isRecord } from '../base/json.ts';
import { itemsOf } from './body.ts';
import type { Resource } from './catalogue.ts';
import { createFindings, type Finding, type Knowledge, typeName } from './drift-findings.ts';
import {
  createEnvelope,
  createItemShape,
  finishShape,
  type Shape,
  settleShape,
  shapesOf,
  thoroughly,
  walk,
} from './drift-shape.ts';
import type { Rejected } from './rows.ts';

/** Compares the answers of one resource with its declaration and with what earlier answers showed. */
export interface DriftWatcher {
  /** What departs in a body that could be read; `rejected` are its items that could not be taken as rows. */
  look(body: unknown, rejected: readonly Rejected[]): readonly Finding[];
  /** What was learned since the last call. */
  takeKnowledge(): Knowledge[];
  /** Ends the learning of whatever was seen at all: what comes later and is new, is a finding. */
  settle(): void;
}

/**
 * Compiles the watcher of a resource, with what is known of it. A detail repeats the fields of its list, `listed`, which
 * are the list's own to watch.
 */
export function createDriftWatcher(
  resource: Resource,
  knowledge: readonly Knowledge[],
  listed: readonly string[] = [],
): DriftWatcher {
  const learned: Knowledge[] = [];
  const findings = createFindings();
  const context = { resource, knowledge, learned, findings };
  const tables = resource.derived.map((table) => ({ table, shape: createItemShape(context, table, listed) }));
  const envelope = createEnvelope(context);
  const all: readonly Shape[] = [envelope, ...tables.map(({ shape }) => shape)].flatMap(shapesOf);

  const lookAt = (shape: Shape, item: unknown): void => {
    if (isRecord(item)) walk(shape, item);
    else if (!shape.isFree)
      findings.add(shape.table, shape.path, 'changed_type', `expected object, got ${typeName(item)}`, item);
  };
  return {
    look: (body, rejected) => {
      let isWhole = false;
      for (const { table, shape } of tables) {
        const items = itemsOf(resource, table, body) ?? [];
        for (const item of items) {
          isWhole ||= item === body;
          lookAt(shape, item);
        }
      }
      // The body is the item itself, or it is around the items.
      if (!isWhole && isRecord(body)) walk(envelope, body);
      for (const { table, reason, item } of rejected) {
        const shape = tables.find((candidate) => candidate.table.name === table)?.shape;
        if (shape !== undefined) thoroughly(shape, item, reason);
      }
      for (const shape of all) finishShape(shape);
      return findings.take();
    },
    takeKnowledge: () => learned.splice(0),
    settle: () => {
      for (const shape of all) settleShape(shape);
    },
  };
}
