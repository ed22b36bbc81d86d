import { expect, test } from 'vitest';
import { isRecord } from '../../src/base/json.ts';
import { openMirror } from './mirror.ts';

test('every endpoint with days accepts ranges at both ends of the calendar', async () => {
  const { catalogue, mirror, upstream } = await openMirror({ world: 'tiny' });
  const { body } = await upstream('/brands');
  const [brand] = (isRecord(body) ? body['data'] : body) as { id: string }[];
  const paths = catalogue.resources
    .filter(({ query }) => Object.values(query).some(({ kind }) => kind === 'day'))
    .map(({ path }) => path.replace('{brandId}', String(brand?.id)));
  expect(paths).not.toEqual([]);
  for (const path of paths) {
    for (const range of ['to=9999-12-31', 'from=9999-12-31&to=9999-12-31', 'from=0001-01-01&to=0002-01-01']) {
      expect({ path, range, ...(await mirror(`${path}?${range}`)) }).toMatchObject({ status: 200 });
    }
  }
});
