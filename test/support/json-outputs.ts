import formats from 'ajv-formats';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { expect } from 'vitest';
import { z } from 'zod';
import { type JsonName, jsonOutputs } from '../../src/cli/json/json-outputs.ts';

const ajv = new Ajv2020({ allErrors: true, strict: true, allowUnionTypes: true });
formats.default(ajv);
/** Compiled schemas by output. */
const compiled = new Map<JsonName, ValidateFunction>();

function check(validate: ValidateFunction, value: unknown): void {
  if (validate(value)) return;
  const errors = (validate.errors ?? []).map(({ instancePath, message, params }) => {
    return `${instancePath || '/'} ${message}: ${JSON.stringify(params)}`;
  });
  expect.fail(errors.join('\n'));
}

/**
 * Parses a line that a command printed with --json. Checks it against the strict JSON Schema of the output, which also rejects members
 * that are not declared.
 */
export function expectJson<T = ReturnType<typeof JSON.parse>>(name: JsonName, line: string): T {
  const value = JSON.parse(line) as T;
  const validate = compiled.get(name) ?? ajv.compile(z.toJSONSchema(jsonOutputs[name].shape));
  compiled.set(name, validate);
  check(validate, value);
  return value;
}
