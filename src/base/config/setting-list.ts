import { z } from 'zod';
import { CONFIG_FILE, fileSchema } from './config-file.ts';
import { allowedOf, membersOf, noteOf, schemaAt } from './setting-schema.ts';

/** Variables that have no setting in the file. */
const VARIABLES = {
  SIGHTLINE_BASE_URL: 'the root of the versioned API: https, or http on loopback',
  SIGHTLINE_API_KEY: "the workspace's key, gsk_...; SIGHTLINE_API_KEY_FILE: the path of a file with it",
  SIGHTLINE_WORKSPACE: 'the workspace, like --workspace',
  SIGHTLINE_EXTENSION_DIRECTORY:
    "the folder with DuckDB's extensions for destinations; without it, they are downloaded to ~/.duckdb/extensions",
  SIGHTLINE_ALLOW_HTTP: '1 allows http beyond loopback',
};

/**
 * Returns the reference of all settings, as text: those of the configuration file by path, with their meaning, allowed values,
 * default and variable, and the variables without a setting.
 */
export function settingList(): string {
  const variables = Object.entries(VARIABLES).flatMap(([name, about]) => [name, `    ${about}`]);
  const lines = settingsIn(fileSchema, '', new Set());
  return `${[`Settings of ${CONFIG_FILE}:`, '', ...lines, '', 'Variables only:', '', ...variables].join('\n')}\n`;
}

// Settings of the file and of a workspace are the same schemas: each is listed once.
function settingsIn(schema: z.ZodType, path: string, listed: Set<z.ZodType>): string[] {
  return membersOf(schema).flatMap((name) => {
    const member = schemaAt(schema, [name]);
    if (listed.has(member)) return [];
    listed.add(member);
    const at = path === '' ? name : `${path}.${name}`;
    return [...linesOf(member, at), ...settingsIn(...innerOf(member, at), listed)];
  });
}

function linesOf(schema: z.ZodType, path: string): string[] {
  const { about, variable, preset } = noteOf(schema);
  const isGroup = membersOf(innerOf(schema, '')[0]).length > 0;
  const facts = [
    ...(isGroup ? [] : [`allowed: ${allowedOf(schema)}`]),
    ...(preset === undefined ? [] : [`default: ${String(preset)}`]),
    ...(variable === undefined ? [] : [`variable: ${variable}`]),
  ].join('; ');
  const lines = [about ?? '', facts].filter((line) => line !== '');
  return lines.length === 0 ? [] : [path, ...lines.map((line) => `    ${line}`)];
}

// The schema of the members of a record or of the elements of a list, and their path.
function innerOf(schema: z.ZodType, path: string): [z.ZodType, string] {
  if (schema instanceof z.ZodOptional) return innerOf(schema.unwrap() as z.ZodType, path);
  if (schema instanceof z.ZodRecord) return [schema.valueType as z.ZodType, `${path}.<name>`];
  return schema instanceof z.ZodArray ? [schema.element as z.ZodType, `${path}[]`] : [schema, path];
}
