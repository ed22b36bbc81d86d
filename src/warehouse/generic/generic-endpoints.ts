import { type Catalogue, createCatalogue, type LiveCatalogue, type WarehouseTable } from '../../contract/catalogue.ts';
import { declareForms } from '../../contract/generic/generic-declarations.ts';
import type { GenericForm } from '../../contract/generic/generic-form.ts';
import type { ResourceDeclaration } from '../../contract/resource.ts';
import type { Database } from '../database.ts';
import { migrateTables } from '../migrate.ts';
import { type ChangedTable, rebuildTables } from './rebuild-tables.ts';
import { readForms, writeForm } from './stored-forms.ts';

/** The inferred declarations of a warehouse. */
export interface GenericEndpoints {
  /** Returns the form of a resource; null if it is declared. */
  formOf(resource: string): GenericForm | null;
  forms(): readonly GenericForm[];
  /**
   * Stores new and changed forms and changes the tables, in one transaction. If its columns change, a table is created again
   * with the values of the stored items. `at` is upstream's time, epoch milliseconds.
   */
  adopt(changed: readonly GenericForm[], at: number): Promise<void>;
}

/** Opens the inferred declarations and adds their resources to the catalogue. `onChange` is called after every change. */
export async function openGenericEndpoints(
  database: Database,
  catalogue: LiveCatalogue,
  onChange: () => void,
): Promise<GenericEndpoints> {
  const declared: readonly ResourceDeclaration[] = catalogue.resources.filter(({ generic }) => generic !== true);
  const forms = new Map((await database.exclusive(({ query }) => readForms(query))).map((form) => [form.name, form]));
  const cataloguesOf = (all: Iterable<GenericForm>): ResourceDeclaration[] => [
    ...declared,
    ...declareForms(declared, [...all]),
  ];
  if (forms.size > 0) {
    const declarations = cataloguesOf(forms.values());
    const next = createCatalogue(declarations);
    await migrateTables(database, next);
    catalogue.replace(declarations);
    onChange();
  }
  const adopt = async (changed: readonly GenericForm[], at: number): Promise<void> => {
    if (changed.length === 0) return;
    const all = new Map([...forms, ...changed.map((form) => [form.name, form] as const)]);
    const declarations = cataloguesOf(all.values());
    const next = createCatalogue(declarations);
    await database.transaction(async (session) => {
      await rebuildTables(session, changedTables(catalogue, next), () => migrateTables(session, next));
      for (const form of changed) await writeForm(session, form, at);
    });
    // Checkpoint at once, so that a crash never requires a replay of schema changes from the log.
    await database.exclusive((session) => session.run('CHECKPOINT'));
    for (const form of changed) forms.set(form.name, form);
    catalogue.replace(declarations);
    onChange();
  };
  let tail: Promise<unknown> = Promise.resolve();
  return {
    formOf: (resource) => forms.get(resource) ?? null,
    forms: () => [...forms.values()],
    // One change at a time: each replaces the complete catalogue.
    adopt: (changed, at) => {
      const result = tail.then(() => adopt(changed, at));
      tail = result.catch(() => undefined);
      return result;
    },
  };
}

// The tables and histories of undeclared endpoints that have other columns than before.
function changedTables(before: Catalogue, after: Catalogue): ChangedTable[] {
  const tables = after.resources.filter(({ generic }) => generic === true).flatMap(({ derived }) => derived);
  return tables.flatMap(({ name }) =>
    [name, `${name}_history`].flatMap((one) => {
      const [from, to] = [before, after].map((catalogue) =>
        [...catalogue.tables, ...catalogue.histories].find((table) => table.name === one),
      );
      if (from === undefined || to === undefined) return [];
      return shapeOf(from) === shapeOf(to) ? [] : [{ name: one, before: from.columns, after: to.columns }];
    }),
  );
}

function shapeOf({ columns }: Pick<WarehouseTable, 'columns'>): string {
  return JSON.stringify(columns.map(({ name, kind, source }) => [name, kind, source]));
}
