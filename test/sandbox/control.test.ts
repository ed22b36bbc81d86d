import { expect, test } from 'vitest';
import { type Body, open } from './helpers.ts';

async function post(
  baseUrl: string,
  what: string,
  body: unknown,
  headers = {},
): Promise<{ status: number; body: Body }> {
  const init = { method: 'POST', body: typeof body === 'string' ? body : JSON.stringify(body), headers };
  const response = await fetch(`${baseUrl.replace('/v1', '')}/_sandbox/${what}`, init);
  return { status: response.status, body: await response.json() };
}

test('control requests advance the world and set faults', async () => {
  const { sandbox, get } = await open();
  const { status, body } = await post(sandbox.baseUrl, 'advance', { editedResponses: 2 });
  expect(status).toBe(200);
  expect(body.changes.flatMap(({ ids }: Body) => ids)).toHaveLength(2);
  expect((await post(sandbox.baseUrl, 'faults', { faults: '500=1x' })).body.faults).toEqual([
    { kind: '500', times: 1 },
  ]);
  expect((await get('/brands')).status).toBe(500);
  expect((await get('/brands')).status).toBe(200);
});

test('invalid control requests are rejected with the allowed values and are not in the journal', async () => {
  const { sandbox } = await open();
  const errors = [
    await post(sandbox.baseUrl, 'advance', { weeks: 1 }),
    await post(sandbox.baseUrl, 'advance', { days: -1 }),
    await post(sandbox.baseUrl, 'advance', { deletedResponses: 1.5 }),
    await post(sandbox.baseUrl, 'advance', 'no json'),
    await post(sandbox.baseUrl, 'advance', [1]),
    await post(sandbox.baseUrl, 'faults', { faults: 'fire' }),
    await post(sandbox.baseUrl, 'faults', {}),
  ];
  expect(errors.map(({ status }) => status)).toEqual(errors.map(() => 400));
  expect(errors[0]?.body.error.message).toContain('weeks is no change; known are days');
  expect((await post(sandbox.baseUrl, 'else', {})).status).toBe(404);
  expect((await post(sandbox.baseUrl, 'advance', {}, { origin: 'https://page.example' })).status).toBe(403);
  expect((await fetch(`${sandbox.baseUrl.replace('/v1', '')}/_sandbox/advance`)).status).toBe(405);
  expect(sandbox.requests).toEqual([]);
});
