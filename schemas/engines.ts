import { isRecord } from '../src/base/json.ts';
import { json, text } from '../src/contract/fields.ts';
import { defineResource } from '../src/contract/resource.ts';
import { firstText } from './unknown-shapes.ts';

export const engines = defineResource({
  name: 'engines',
  about: 'AI answer engines that the service watches.',
  scope: 'workspace',
  path: '/engines',
  paging: 'single',
  change: { kind: 'set' },
  query: {},
  envelopeUnknown: true,
  tables: [
    {
      name: 'engines',
      about: 'AI answer engines that the service watches.',
      at: { list: 'data' },
      key: ['slug'],
      fields: {
        slug: text('Engine slug, as it stands in filters and in answers.'),
        name: text('Name to show, where upstream gives one.'),
        record: json('The engine exactly as upstream sent it.'),
      },
      whole: 'record',
      normalize: (item) => ({
        slug: typeof item === 'string' ? item : slugOf(item),
        name: isRecord(item) ? firstText(item, ['name', 'label', 'title', 'displayName']) : null,
        record: item,
      }),
    },
  ],
  tool: 'list_engines',
});

// Only a record without the field may carry its slug elsewhere: a slug of null is none.
function slugOf(item: unknown): string | null {
  return isRecord(item) && 'slug' in item ? firstText(item, ['slug']) : firstText(item, ['engine', 'id', 'key']);
}
