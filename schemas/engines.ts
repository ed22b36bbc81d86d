import { isRecord } from '../src/base/json.ts';
import { json, text } from '../src/contract/fields.ts';
import { defineResource } from '../src/contract/resource.ts';
import { firstText } from './shared/unknown-shapes.ts';

export const engines = defineResource({
  name: 'engines',
  position: 10,
  about: 'AI engines that the service monitors.',
  scope: 'workspace',
  path: '/engines',
  paging: 'single',
  change: { kind: 'set' },
  query: {},
  envelopeUnknown: true,
  tables: [
    {
      name: 'engines',
      about: 'AI engines that the service monitors.',
      at: { list: 'data' },
      key: ['slug'],
      fields: {
        slug: text('Engine slug, as used in filters and responses.'),
        name: text('Display name; null if upstream sends none.'),
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

// If the record has a field `slug`, only that field counts, even if it is null.
function slugOf(item: unknown): string | null {
  return isRecord(item) && 'slug' in item ? firstText(item, ['slug']) : firstText(item, ['engine', 'id', 'key']);
}
