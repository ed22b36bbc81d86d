/** A sample of something that can be added to sightline, in the files that docs/CONTRIBUTING.md lists for it. */
export interface Sample {
  /** First cell of its row in the table of docs/CONTRIBUTING.md. */
  readonly adds: string;
  /** New files by path. */
  readonly files?: Readonly<Record<string, string>>;
  /** Changed files by path: each text is replaced by the other one and must occur once. */
  readonly edits?: Readonly<Record<string, readonly (readonly [text: string, by: string])[]>>;
}

const BRAND = 'b1a7c0de-0000-4000-8000-000000000001';
const WEBINAR = '3eb10a50-0000-4000-8000-000000000001';

const webinarPage = {
  request: { fixed: { brand_id: BRAND }, query: { limit: '100' }, member: null },
  page: {
    data: [
      {
        id: WEBINAR,
        title: 'Beans',
        heldAt: '2026-11-20T16:00:00Z',
        speakers: [{ name: null }, { name: 'Ada' }],
        seats: 9,
      },
    ],
    nextCursor: null,
  },
  next: null,
  rows: {
    webinars: [
      { brand_id: BRAND, id: WEBINAR, title: 'Beans', held_at: '2026-11-20 16:00:00.000000', _extra: { seats: 9 } },
    ],
    webinar_speakers: [
      { brand_id: BRAND, webinar_id: WEBINAR, ordinal: 0, name: null, _extra: null },
      { brand_id: BRAND, webinar_id: WEBINAR, ordinal: 1, name: 'Ada', _extra: null },
    ],
  },
};

/** One sample of each kind. */
export const samples: readonly Sample[] = [
  {
    adds: 'an endpoint',
    files: {
      'schemas/webinars.ts': `import { children, text, timestamp, uuid } from '../src/contract/fields.ts';
import { cursorParameter, limitParameter } from '../src/contract/parameters.ts';
import { defineResource } from '../src/contract/resource.ts';

export const webinars = defineResource({
  name: 'webinars',
  about: 'Webinars of the brand.',
  scope: 'brand',
  path: '/brands/{brandId}/webinars',
  paging: 'cursor',
  change: { kind: 'walk' },
  query: { limit: limitParameter(100, 25), cursor: cursorParameter() },
  order: ['-heldAt'],
  tables: [
    {
      name: 'webinars',
      about: 'Webinars.',
      at: { list: 'data' },
      key: ['id'],
      fields: {
        id: uuid('Webinar id.'),
        title: text('Title.'),
        heldAt: timestamp('When it was held.'),
        speakers: children('Speakers of webinars.', {
          table: 'webinar_speakers',
          repeat: [],
          fields: { name: text('Name.') },
        }),
      },
    },
  ],
  tool: 'list_webinars',
});
`,
      'schemas/fixtures/webinars.ts': `import { type Fixture, pagedFrom } from '../../src/sandbox/fixture.ts';
import type { Workspace } from './world/model.ts';
import { brandOf, toTimestamp } from './world/world.ts';

/** Twelve webinars of each brand, one each hour. */
export const webinars: Fixture<Workspace> = {
  rows: (question, after) => {
    const { createdAtMs } = brandOf(question);
    const rows = Array.from({ length: 12 }, (_, index) => {
      const atMs = createdAtMs + index * 3_600_000;
      const id = \`3eb10a50-0000-4000-8000-\${index.toString().padStart(12, '0')}\`;
      const heldAt = toTimestamp(question.world.choices, atMs);
      return { atMs, id, item: () => ({ id, title: \`Webinar \${index}\`, heldAt, speakers: [{ name: 'Ada' }, { name: 'Grace' }] }) };
    });
    return pagedFrom(rows, after);
  },
};
`,
      'test/fixtures/webinars.json': JSON.stringify(webinarPage, null, 2),
    },
  },
  {
    adds: 'a mart',
    files: {
      'src/metrics/marts/alert_days.sql': `-- Alerts by day and type: one row per brand, day and type with alerts.
-- column brand_id UUID: The brand.
-- column day DATE: The day (UTC).
-- column type VARCHAR: Alert type.
-- column alerts BIGINT: Alerts of the day.
SELECT brand_id, day, type, count(*) AS alerts FROM mart.fct_alert GROUP BY ALL
`,
    },
    edits: {
      'test/support/oracle/mart-lists.ts': [
        [
          '    fct_action: await actions(held),\n',
          `    fct_action: await actions(held),
    alert_days: [
      ...groupBy(await held.rows('alerts'), ({ brand_id, detected_at, type }) =>
        JSON.stringify({ brand_id, day: detected_at.slice(0, 10), type }),
      ),
    ].map(([key, rows]) => ({ ...JSON.parse(key), alerts: rows.length })),
`,
        ],
      ],
    },
  },
  {
    adds: 'a job',
    files: {
      'jobs/noon.ts': `import { defineJob } from '../src/jobs/job.ts';

/** Verifies the data at noon. */
export const noon = defineJob({
  name: 'noon',
  about: 'Verifies the data at noon.',
  cron: '0 12 * * *',
  steps: [{ do: 'verify' }],
});
`,
    },
  },
  {
    adds: 'a job step',
    files: {
      'src/operations/greeting.ts': `/** Returns a greeting for a workspace. */
export function greetingOf(workspace: string, isLoud: boolean): string {
  return \`hello, \${isLoud ? workspace.toUpperCase() : workspace}\`;
}
`,
    },
    edits: {
      'src/jobs/job.ts': [
        [
          "  retention: z.object({ do: z.literal('retention'), ...common }),\n",
          `  greet: z.object({ do: z.literal('greet'), ...common, loud: flag }),
  retention: z.object({ do: z.literal('retention'), ...common }),
`,
        ],
      ],
      'src/operations/jobs/run-step.ts': [
        [
          "  | { readonly of: 'retention';",
          "  | { readonly of: 'greet'; readonly greeting: string }\n  | { readonly of: 'retention';",
        ],
        [
          "    case 'retention': {\n",
          `    case 'greet': {
      const { greetingOf } = await import('../greeting.ts');
      await onResult({ of: 'greet', greeting: greetingOf(job, step.loud === true) });
      return DONE;
    }
    case 'retention': {
`,
        ],
      ],
      'src/cli/job-steps.ts': [
        [
          "    case 'retention': {\n",
          `    case 'greet':
      say(result.greeting);
      return { greeting: result.greeting };
    case 'retention': {
`,
        ],
      ],
      'src/cli/json/operation-json.ts': [
        [
          "  z.object({ deleted: z.array(z.string()) }).describe('IDs of snapshots",
          "  z.object({ greeting: z.string() }),\n  z.object({ deleted: z.array(z.string()) }).describe('IDs of snapshots",
        ],
      ],
    },
  },
  {
    adds: 'a CLI option',
    edits: {
      'src/cli/commands/use/describe-command.ts': [
        [
          "markdown: flag('print the result as Markdown') },\n",
          "markdown: flag('print the result as Markdown'), names: flag('print only the names') },\n",
        ],
        ['  run: async ({ name, markdown, ...unread }', '  run: async ({ name, markdown, names, ...unread }'],
        [
          '    if (json) {\n',
          "    if (names) printData(chosen.map((table) => table.name).join('\\n'));\n    else if (json) {\n",
        ],
      ],
    },
  },
  {
    adds: 'a setting',
    edits: {
      'src/base/config/config-file.ts': [
        [
          '  rawDays: z.int()',
          `  napMinutes: z
    .int()
    .max(60)
    .optional()
    .meta({ about: 'minutes to rest', variable: 'SIGHTLINE_NAP_MINUTES', preset: 5 }),
  rawDays: z.int()`,
        ],
      ],
    },
  },
  {
    adds: 'an error code',
    edits: {
      'src/base/errors.ts': [
        [
          '  usage: {\n',
          `  too_early: {
    exit: EXIT.failed,
    status: 425,
    about: 'The request came too early.',
    hint: 'Send it again later.',
  },
  usage: {
`,
        ],
      ],
    },
  },
];
