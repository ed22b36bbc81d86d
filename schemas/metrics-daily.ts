import { day, integer, label, number, text, uuid } from '../src/contract/fields.ts';
import { choiceParameter } from '../src/contract/parameters.ts';
import { defineResource } from '../src/contract/resource.ts';
import { commonFilters } from './shared/filters.ts';

export const metricsDaily = defineResource({
  name: 'metrics_daily',
  position: 90,
  about: 'Visibility by day, per engine and over all engines.',
  scope: 'brand',
  path: '/brands/{brandId}/metrics/daily',
  paging: 'single',
  change: { kind: 'report', span: 'history' },
  computes: 'by-day',
  echoes: ['from', 'to'],
  query: {
    ...commonFilters,
    breakdown: choiceParameter(
      '`engine`: one row per day, engine and entity; `none`: one row per day and entity.',
      ['engine', 'none'],
      {
        default: 'engine',
        nameUnknown: true,
      },
    ),
  },
  // One year of 13 engines and 60 entities.
  itemsMax: 300_000,
  each: {
    parameter: 'breakdown',
    column: 'row_mode',
    about: '`engine`: one row per day, engine and entity; `none`: one row per day and entity, over all engines.',
    unique: { none: ['date', 'entityType', 'competitorId'] },
  },
  tables: [
    {
      name: 'metrics_daily',
      about: 'Visibility by day, per engine and over all engines, as reported by upstream.',
      at: { list: 'data' },
      extent: { kind: 'time', field: 'date' },
      key: ['date', 'engine', 'entityType', 'competitorId'],
      nullableKey: ['engine', 'competitorId'],
      fields: {
        date: day('Day (UTC).'),
        engine: label('Engine slug; for rows over all engines, the value that upstream sends.'),
        entityType: label('`brand` for the brand itself; any other value for a competitor.'),
        competitorId: uuid('The competitor; null for the brand.'),
        name: text('Name of the brand or competitor.'),
        responses: integer('Responses of the day.', { neverNull: true }),
        mentions: integer('Responses that mention the entity.', { neverNull: true }),
        visibility: number('Share of responses that mention the entity.'),
        shareOfVoice: number("The entity's share of all mentions."),
        avgPosition: number('Mean position in the responses that mention the entity; null without any.'),
        sentiment: number('Mean sentiment in the responses that mention the entity; null without any.'),
      },
    },
  ],
  tool: 'get_daily_metrics',
  use: 'Use it for a trend over days or a comparison of engines; `get_metrics` is much shorter if one figure per entity is enough.',
});
