import { createCatalogue, type LiveCatalogue, type Resource } from '../../contract/catalogue.ts';
import { declareForms } from '../../contract/generic/generic-declarations.ts';
import type { GenericForm } from '../../contract/generic/generic-form.ts';
import type { ResourceDeclaration } from '../../contract/resource.ts';
import type { ResourceTable } from '../../contract/tables.ts';
import type { Database } from '../database.ts';
import { migrateTables } from '../migrate.ts';
import { dropAside, refill, type SetAside, setAside } from './refill.ts';
import { readForms, writeForm } from './stored-forms.ts';

/** The inferred declarations of a warehouse. */
export interface GenericEndpoints {
  /** Returns the form of a resource; null if it is declared. */
  formOf(resource: string): GenericForm | null;
  forms(): readonly GenericForm[];
  /**
   * Stores new and changed forms and changes the tables, in one transaction. If columns change their type, all rows and versions are
   * decoded again from the stored items. `at` is upstream's time, epoch milliseconds.
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
      const moved: { readonly aside: SetAside; readonly to: Resource }[] = [];
      for (const after of next.resources.filter(({ generic }) => generic === true)) {
        const before = catalogue.resources.find(({ name }) => name === after.name);
        if (before === undefined || !needsRefill(before, after)) continue;
        const hasHistory = catalogue.histories.some(({ of }) => of === after.name);
        const table = before.derived[0] as ResourceTable;
        moved.push({ aside: await setAside(session, table, hasHistory), to: after });
      }
      await migrateTables(session, next);
      for (const { aside, to } of moved) {
        await refill(session, aside, next, to);
        await dropAside(session, aside);
      }
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

// New columns and child tables are added; everything else is decoded again.
function needsRefill(before: Resource, after: Resource): boolean {
  const [from] = before.derived;
  const [to] = after.derived;
  if (from === undefined || to === undefined) return false;
  if (JSON.stringify(from.extent) !== JSON.stringify(to.extent)) return true;
  if (isNarrower(from, to)) return true;
  return from.children.some((child) => {
    const other = to.children.find(({ name }) => name === child.name);
    return other === undefined || child.parentKey.join() !== other.parentKey.join() || isNarrower(child, other);
  });
}

function isNarrower(from: Pick<ResourceTable, 'columns'>, to: Pick<ResourceTable, 'columns'>): boolean {
  return from.columns.some(
    ({ name, kind }) => !to.columns.some((column) => column.name === name && column.kind === kind),
  );
}
