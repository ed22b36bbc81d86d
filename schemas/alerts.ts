import { label, number, text, timestamp, uuid } from '../src/contract/fields.ts';
import { choiceParameter, cursorParameter, limitParameter } from '../src/contract/parameters.ts';
import { defineResource } from '../src/contract/resource.ts';

export const alerts = defineResource({
  name: 'alerts',
  position: 160,
  about: 'Alerts that the service raised.',
  scope: 'brand',
  path: '/brands/{brandId}/alerts',
  paging: 'cursor',
  change: { kind: 'walk', settled: true },
  query: {
    type: choiceParameter('Only alerts of this type.', ['visibility_drop', 'competitor_overtake', 'new_rival_source']),
    limit: limitParameter(100, 25),
    cursor: cursorParameter(),
  },
  order: ['-detectedAt'],
  tables: [
    {
      name: 'alerts',
      about: 'Alerts that the service raised.',
      at: { list: 'data' },
      key: ['id'],
      fields: {
        id: uuid('Alert id.'),
        type: label('Alert type.'),
        headline: text('Headline.'),
        detail: text('Detail.'),
        competitor: text('The competitor that the alert concerns, if any.'),
        domain: text('The domain that the alert concerns, if any.'),
        previous: number('Value before the change.'),
        current: number('Value after the change.'),
        detectedAt: timestamp('When the change was detected.'),
      },
    },
  ],
  tool: 'list_alerts',
});
