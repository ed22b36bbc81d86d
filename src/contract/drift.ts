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

/** Compares the responses of one resource with its declaration and with earlier responses. */
export interface DriftWatcher {
  /** Returns the findings of a readable body; `rejected` are its items that could not be stored as rows. */
  look(body: unknown, rejected: readonly Rejected[]): readonly Finding[];
  /** Returns and clears the knowledge learned since the last call. */
  takeKnowledge(): Knowledge[];
  /** Ends learning of all shapes that were seen. Later new values are findings. */
  settle(): void;
}

/**
 * Compiles the watcher of a resource from stored knowledge. `listed` are the fields of the list that a detail repeats; only
 * the list's own watcher checks them.
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
      let bodyIsItem = false;
      for (const { table, shape } of tables) {
        const items = itemsOf(resource, table, body) ?? [];
        for (const item of items) {
          bodyIsItem ||= item === body;
          lookAt(shape, item);
        }
      }
      // If the body is not the item itself, it is the envelope.
      if (!bodyIsItem && isRecord(body)) walk(envelope, body);
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
