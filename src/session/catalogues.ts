import { declarations } from '../../schemas/catalogue.ts';
import { FROM_DOCUMENT, type WorkspaceConfig } from '../base/config/config.ts';
import { filesOf, readDeclared } from '../base/declared-values.ts';
import { SightlineError } from '../base/errors.ts';
import { isRecord } from '../base/json.ts';
import { type Catalogue, checkProvider, createCatalogue } from '../contract/catalogue.ts';
import { toDeclaration } from '../contract/declaration-data.ts';
import * as fields from '../contract/fields.ts';
import { declareForms } from '../contract/generic/generic-declarations.ts';
import * as parameters from '../contract/parameters.ts';
import { defineResource, type ResourceDeclaration } from '../contract/resource.ts';
import { layoutOf } from '../snapshot/layout.ts';
import { readStoredForms } from './stored-forms-file.ts';

/** Entry of the setting `schemas` that adds the declarations of this package. */
const BUILT_IN = 'builtin';
/** Names that DuckDB or sightline use for schemas and databases. */
const RESERVED_TABLES = ['sync', 'mart', 'main', 'temp', 'system', 'information_schema', 'pg_catalog', 'warehouse'];
/** Paths that the read server uses itself. */
const RESERVED_PATHS = ['/openapi.json', '/mcp', '/docs'];

/** Functions that a module with declarations receives. */
const helpers = { ...fields, ...parameters, defineResource };

/** Resources of the declarations in this package. */
export const builtInCatalogue = createCatalogue(declarations);

/**
 * Returns the resources of a workspace: the declared ones, and those that were inferred for the endpoints without a declaration when
 * the replica was published.
 * @throws `config_invalid` with the file and the problem
 */
export function catalogueOf(config: Pick<WorkspaceConfig, 'schemas' | 'folder'>): Catalogue {
  const declared = declaredCatalogue(config);
  const forms = readStoredForms(layoutOf(config.folder).endpoints);
  if (forms.length === 0) return declared;
  return createCatalogue([...declared.resources, ...declareForms(declared.resources, forms)]);
}

/**
 * Returns the declared resources of a workspace: those of the files in its setting `schemas`, or of this package.
 * @throws `config_invalid` with the file and the problem
 */
export function declaredCatalogue({ schemas }: Pick<WorkspaceConfig, 'schemas'>): Catalogue {
  if (schemas.every((schema) => schema === BUILT_IN)) return builtInCatalogue;
  const declared = schemas.flatMap((schema) =>
    schema === FROM_DOCUMENT
      ? []
      : schema === BUILT_IN
        ? declarations
        : filesOf('schemas', schema).flatMap(declarationsIn),
  );
  try {
    const catalogue = createCatalogue(
      declared.toSorted((a, b) => (a.position ?? Infinity) - (b.position ?? Infinity) || 0),
    );
    checkProvider(catalogue);
    return catalogue;
  } catch (thrown) {
    if (!(thrown instanceof TypeError || thrown instanceof RangeError)) throw thrown;
    throw new SightlineError('config_invalid', `schemas: ${thrown.message}`, { cause: thrown });
  }
}

/**
 * Returns the resources that several workspaces share.
 * @throws `config_invalid` if the workspaces have different declarations
 */
export function sharedCatalogueOf(configs: Iterable<Pick<WorkspaceConfig, 'name' | 'schemas'>>): Catalogue {
  const [first, ...others] = [...configs];
  if (first === undefined) return builtInCatalogue;
  const other = others.find(({ schemas }) => JSON.stringify(schemas) !== JSON.stringify(first.schemas));
  if (other === undefined) return declaredCatalogue(first);
  const message = `the workspaces ${first.name} and ${other.name} have different schemas; allowed: one server for the workspaces of one API`;
  throw new SightlineError('config_invalid', message);
}

function declarationsIn(path: string): ResourceDeclaration[] {
  const value = readDeclared('schemas', path);
  const isData = path.endsWith('.json');
  try {
    const made: unknown = !isData && typeof value === 'function' ? value(helpers) : value;
    const list: readonly unknown[] = Array.isArray(made) ? made : [made];
    return list.map((one) => {
      const declaration = isData ? toDeclaration(one) : defineResource(checkForm(one));
      checkNames(declaration);
      return declaration;
    });
  } catch (thrown) {
    if (!(thrown instanceof Error)) throw thrown;
    throw new SightlineError('config_invalid', `schemas ${path}: ${thrown.message}`, { cause: thrown });
  }
}

function checkForm(value: unknown): ResourceDeclaration {
  const isDeclaration =
    isRecord(value) &&
    [value['name'], value['path'], value['about'], value['tool']].every((one) => typeof one === 'string') &&
    isRecord(value['query']) &&
    isRecord(value['change']) &&
    Array.isArray(value['tables']);
  if (!isDeclaration) {
    const may = 'an object with the members of ResourceDeclaration, such as name, path, change, query, tables and tool';
    throw new TypeError(
      `the default export contains ${typeof value === 'object' ? 'an incomplete declaration' : typeof value}; allowed: ${may}`,
    );
  }
  return value as unknown as ResourceDeclaration;
}

function checkNames({ name, path, computes, tables, paging, order, query }: ResourceDeclaration): void {
  if (paging === 'cursor' && query['limit'] === undefined)
    throw new TypeError(`resource ${name}: a resource with cursor paging needs the parameter limit`);
  if (paging === 'cursor' && !(order?.length === 1 && order[0]?.startsWith('-')))
    throw new TypeError(
      `resource ${name}: a resource with cursor paging needs the order of one descending field, such as ["-createdAt"]`,
    );
  if (computes !== undefined) throw new TypeError(`resource ${name}: computes is only allowed in the package`);
  const reserved = RESERVED_PATHS.find((one) => path === one || path.startsWith(`${one}/`));
  if (reserved !== undefined) throw new TypeError(`resource ${name}: the read server uses the path ${reserved} itself`);
  for (const table of tables) {
    if (RESERVED_TABLES.includes(table.name) || table.name.startsWith('_'))
      throw new TypeError(`resource ${name}: the table name ${table.name} is reserved; allowed: another name`);
  }
}
