import { expect, test } from 'vitest';
import { declarations } from '../../schemas/catalogue.ts';
import { declareForms } from '../../src/contract/generic/generic-declarations.ts';
import { formOfEndpoint } from '../../src/contract/generic/generic-form.ts';
import { SERVER_TOOLS } from '../../src/contract/generic/server-tools.ts';
import { readEndpoints } from '../../src/contract/openapi/document-endpoints.ts';

test('tools of undeclared endpoints have names that no other tool has', () => {
  const list = { type: 'object', properties: { data: { type: 'array', items: { type: 'object' } } } };
  const item = { type: 'object', properties: { id: { type: 'string' } } };
  const get = (schema: object) => ({
    get: { responses: { 200: { content: { 'application/json': { schema } } } } },
  });
  // Names of a tool of the server, of a declared endpoint, and a free one.
  const paths = { '/tables': get(list), '/daily-metrics': get(item), '/campaigns': get(list) };
  const taken = { resources: new Set<string>(), tables: new Set<string>() };
  const forms = readEndpoints({ openapi: '3.1.0', paths }).endpoints.map((one) =>
    formOfEndpoint(one, '/brands', taken),
  );
  const made = declareForms(declarations, forms).map(({ tool }) => tool);
  expect(made.toSorted()).toEqual(['get_daily_metrics_2', 'list_campaigns', 'list_tables_2']);
  expect(SERVER_TOOLS).toContain('list_tables');
});
