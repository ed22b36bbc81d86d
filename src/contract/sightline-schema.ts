/**
 * The package's entry for declarations, `import { defineResource } from '@sightline-mirror/sightline/schema'`. Nothing in `src` imports it.
 *
 * @module
 * @example
 * const keywords = defineResource({
 *   name: 'keywords',
 *   about: 'Keywords of a brand.',
 *   scope: 'brand',
 *   path: '/brands/{brandId}/keywords',
 *   paging: 'single',
 *   change: { kind: 'set' },
 *   query: {},
 *   tables: [
 *     { name: 'keywords', about: 'Keywords.', at: { list: 'data' }, key: ['id'], fields: { id: uuid('Id.'), word: text('Word.') } },
 *   ],
 *   tool: 'list_keywords',
 * });
 * const [table] = createCatalogue([keywords]).tables;
 */
export { type Catalogue, createCatalogue, type Resource, type WarehouseTable } from './catalogue.ts';
export {
  boolean,
  type ChildDeclaration,
  type ColumnKind,
  children,
  day,
  type Fields,
  group,
  integer,
  json,
  label,
  number,
  text,
  timestamp,
  uuid,
} from './fields.ts';
export {
  choiceParameter,
  cursorParameter,
  dayParameter,
  type Filter,
  flagParameter,
  limitParameter,
  type Parameter,
  type Parameters,
  textParameter,
  uuidParameter,
} from './parameters.ts';
export { defineResource, type ResourceDeclaration, type TableDeclaration } from './resource.ts';
export type { Column } from './tables.ts';
