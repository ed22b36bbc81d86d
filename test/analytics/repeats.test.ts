import { expect, test } from 'vitest';
import { learnChanged, learnFrom } from './workspace.ts';

test('responses that list a competitor twice do not affect calibration', async () => {
  const { workspace, stored } = await learnFrom({ world: 'small' });
  const twice = await learnChanged(
    workspace,
    `INSERT INTO response_competitors
     SELECT * REPLACE (ordinal + 100 AS ordinal, 40 AS position, 'negative' AS sentiment)
     FROM response_competitors WHERE hash(response_id) % 4 = 0`,
  );
  expect(twice.unexplained).toEqual([]);
  for (const name of ['avgPosition', 'sentiment', 'labels'] as const) {
    const { value, source } = stored[name];
    expect(source).toBe('learned');
    expect({ name, ...twice.stored[name] }).toMatchObject({ name, value, source });
  }
});
