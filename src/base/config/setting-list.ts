import { z } from 'zod';
import { CONFIG_FILE, fileSchema } from './config-file.ts';
import { allowedOf, membersOf, noteOf, schemaAt } from './setting-schema.ts';

/** Variables that have no setting in the file. */
const VARIABLES = {
  SIGHTLINE_BASE_URL: 'the root of the versioned API of the workspace `default`: https, or http on loopback',
  SIGHTLINE_API_KEY: 'the key of the workspace `default`, gsk_...',
  SIGHTLINE_API_KEY_FILE: 'instead: the path of a file with the key',
  SIGHTLINE_WORKSPACE: 'the workspace, like --workspace',
  SIGHTLINE_EXTENSION_DIRECTORY:
    "the folder with DuckDB's extensions for destinations; without it, they are downloaded to ~/.duckdb/extensions",
  SIGHTLINE_ALLOW_HTTP: '1 allows http beyond loopback',
};

/**
 * Returns a text that describes every setting: variables without a setting in the file, then each setting of the configuration file
 * with its path, variable, meaning, default and allowed values.
 */
export function settingList(): string {
  const variables = Object.entries(VARIABLES).flatMap(([name, about]) => [name, `    ${about}`]);
  const lines = settingsIn(fileSchema, '', new Set());
  const inFile = `In ${CONFIG_FILE} (a variable in parentheses overrides the file):`;
  return `${['In the environment or .env:', '', ...variables, '', inFile, '', ...lines].join('\n')}\n`;
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
  const { about, variable, whenUnset, preset = whenUnset } = noteOf(schema);
  const isGroup = membersOf(innerOf(schema, '')[0]).length > 0;
  const facts = [
    ...(preset === undefined ? [] : [`default: ${String(preset)}`]),
    ...(isGroup ? [] : [`allowed: ${allowedOf(schema)}`]),
  ].join('; ');
  const lines = [about ?? '', facts].filter((line) => line !== '');
  const name = variable === undefined ? path : `${path} (${variable})`;
  return lines.length === 0 ? [] : [name, ...lines.map((line) => `    ${line}`)];
}

// Returns the schema of the members of a record or of the elements of a list, and their path.
function innerOf(schema: z.ZodType, path: string): [z.ZodType, string] {
  if (schema instanceof z.ZodOptional) return innerOf(schema.unwrap() as z.ZodType, path);
  if (schema instanceof z.ZodRecord) return [schema.valueType as z.ZodType, `${path}.<name>`];
  return schema instanceof z.ZodArray ? [schema.element as z.ZodType, `${path}[]`] : [schema, path];
}
