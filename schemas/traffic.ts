import { boolean, day, group, integer, label, number, text } from '../src/contract/fields.ts';
import { choiceParameter, dayParameter } from '../src/contract/parameters.ts';
import { defineResource } from '../src/contract/resource.ts';

export const traffic = defineResource({
  name: 'traffic',
  position: 120,
  about: 'Visits that AI assistants referred, from the connected analytics property.',
  scope: 'brand',
  path: '/brands/{brandId}/traffic',
  paging: 'single',
  change: {
    kind: 'report',
    span: 'history',
    eachDay: { table: 'traffic_totals', adds: ['site_sessions'] },
  },
  computes: 'visits',
  echoes: ['from', 'to'],
  zone: 'echoed',
  query: {
    from: dayParameter("First day, in the analytics property's time zone; default: 29 days before `to`."),
    to: dayParameter("Last day, in the analytics property's time zone; default: today there."),
    source: choiceParameter('Only visits from this assistant.', [
      'assistant-a',
      'assistant-b',
      'assistant-c',
      'assistant-d',
      'assistant-e',
      'other-ai',
    ]),
  },
  tables: [
    {
      name: 'traffic_daily',
      about: "Visits referred by AI assistants, by source and by day in the analytics property's time zone.",
      at: { list: 'data' },
      extent: { kind: 'time', field: 'date' },
      key: ['date', 'source'],
      fields: {
        date: day("Day in the analytics property's time zone."),
        source: label('The assistant that referred the visit.'),
        sessions: integer('Sessions.'),
        engagedSessions: integer('Engaged sessions.'),
        newUsers: integer('New users.'),
        keyEvents: integer('Key events.'),
        revenue: number("Revenue, in the property's currency."),
      },
    },
    {
      name: 'traffic_totals',
      about:
        'Totals of AI-referred visits and of all visits, by requested range; a single day has range_from = range_to.',
      at: 'body',
      extent: { kind: 'range' },
      key: [],
      fields: {
        connected: boolean('True if an analytics property is connected.', { neverNull: true }),
        property: text("The connected analytics property's name."),
        currency: label('Currency of revenue.'),
        totals: group('Totals of the range.', {
          aiSessions: number('Sessions referred by AI assistants.', {
            column: 'ai_sessions',
          }),
          keyEvents: number('Key events of those sessions.', {
            column: 'key_events',
          }),
          revenue: number('Revenue of those sessions.', { column: 'revenue' }),
          siteSessions: number('All sessions of the site.', {
            column: 'site_sessions',
          }),
          shareOfSite: number('Share of all sessions that AI assistants referred.', {
            column: 'share_of_site',
          }),
        }),
      },
    },
  ],
  tool: 'get_ai_traffic',
});
