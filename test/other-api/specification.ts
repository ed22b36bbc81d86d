import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

/** A schema of the document. */
export interface Schema {
  readonly $ref?: string;
  readonly type?: string;
  readonly format?: string;
  readonly enum?: readonly string[];
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
}

interface Operation {
  readonly parameters: readonly { readonly name: string; readonly in: string; readonly required?: boolean }[];
  readonly responses: Readonly<
    Record<string, { readonly content: Readonly<Record<string, { readonly schema: Schema }>> }>
  >;
}

/** The parts of an OpenAPI 3.0 document that the simulator uses. */
export interface Specification {
  readonly openapi: string;
  readonly info: { readonly title: string };
  readonly paths: Readonly<Record<string, { readonly get?: Operation }>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}

/** A list of the API and the endpoint of one of its items. */
export interface Collection {
  /** Path of the list. */
  readonly path: string;
  /** Path of one item, which takes the parameter `uid`. */
  readonly itemPath: string;
  /** Member of the response with the items. */
  readonly member: string;
  /** Member of the response with one item. */
  readonly itemMember: string;
  /** Names of the schemas of an item in the list and alone. */
  readonly base: string;
  readonly full: string;
}

/**
 * Reads the specification of STAPI, a public read API about Star Trek, as published in the package `@readme/oas-examples`
 * (MIT license).
 */
export function readSpecification(): Specification {
  const path = createRequire(import.meta.url).resolve('@readme/oas-examples/3.0/json/star-trek.json');
  return JSON.parse(readFileSync(path, 'utf8')) as Specification;
}

/** Returns the schema to which a reference leads, and its name; the schema itself if it is no reference. */
export function resolveSchema({ components }: Specification, schema: Schema): { schema: Schema; name: string } {
  if (schema.$ref === undefined) return { schema, name: '' };
  const name = schema.$ref.replace('#/components/schemas/', '');
  const found = components.schemas[name];
  if (found === undefined) throw new Error(`no schema ${name}`);
  return { schema: found, name };
}

/** Returns all lists of the API in the order of the document. */
export function collectionsOf(specification: Specification): Collection[] {
  return Object.keys(specification.paths)
    .filter((path) => path.endsWith('/search'))
    .map((path) => {
      const itemPath = path.slice(0, -'/search'.length);
      const list = Object.entries(responseOf(specification, path)).find(([, schema]) => schema.type === 'array');
      const item = Object.entries(responseOf(specification, itemPath))[0];
      if (list === undefined || item === undefined) throw new Error(`no items at ${path}`);
      return {
        path,
        itemPath,
        member: list[0],
        itemMember: item[0],
        base: resolveSchema(specification, list[1].items ?? {}).name,
        full: resolveSchema(specification, item[1]).name,
      };
    });
}

function responseOf(specification: Specification, path: string): Readonly<Record<string, Schema>> {
  const schema = specification.paths[path]?.get?.responses['200']?.content['application/json']?.schema ?? {};
  return resolveSchema(specification, schema).schema.properties ?? {};
}
