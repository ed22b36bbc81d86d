import { day, integer, label, number, text, uuid } from '../src/contract/fields.ts';
import { choiceParameter } from '../src/contract/parameters.ts';
import { defineResource } from '../src/contract/resource.ts';
import { commonFilters } from './filters.ts';

export const metricsDaily = defineResource({
  name: 'metrics_daily',
  about: 'Visibility by day, per engine and over all engines.',
  scope: 'brand',
  path: '/brands/{brandId}/metrics/daily',
  paging: 'single',
  change: { kind: 'report', span: 'history' },
  computes: 'by-day',
  echoes: ['from', 'to'],
  query: {
    ...commonFilters,
    breakdown: choiceParameter('One row per day, engine and entity, or per day and entity.', ['engine', 'none'], {
      default: 'engine',
      nameUnknown: true,
    }),
  },
  // A year of 13 engines and 60 entities.
  itemsMax: 300_000,
  each: {
    parameter: 'breakdown',
    column: 'row_mode',
    about: '`engine`: a row per day, engine and entity; `none`: a row per day and entity, all engines combined.',
    unique: { none: ['date', 'entityType', 'competitorId'] },
  },
  tables: [
    {
      name: 'metrics_daily',
      about: 'Visibility by day, per engine and over all engines, as upstream reported it.',
      at: { list: 'data' },
      extent: { kind: 'time', field: 'date' },
      key: ['date', 'engine', 'entityType', 'competitorId'],
      nullableKey: ['engine', 'competitorId'],
      fields: {
        date: day('The day, UTC.'),
        engine: label('Engine slug; what upstream sends where engines are combined.'),
        entityType: label('`brand` for the brand itself, another value for a competitor.'),
        competitorId: uuid('The competitor; null for the brand.'),
        name: text('Name of the brand or competitor.'),
        responses: integer('Answers of the day.'),
        mentions: integer('Answers that mention the entity.'),
        visibility: number('Share of answers that mention the entity.'),
        shareOfVoice: number("The entity's share of all mentions."),
        avgPosition: number('Mean position where mentioned; null when never.'),
        sentiment: number('Mean sentiment where mentioned; null when never.'),
      },
    },
  ],
  tool: 'get_daily_metrics',
});
