import { isRecord } from '../src/base/json.ts';
import { json, number } from '../src/contract/fields.ts';
import { defineResource } from '../src/contract/resource.ts';
import { firstNumber } from './shared/unknown-shapes.ts';

const names = ['credits', 'balance', 'remaining', 'creditsLeft', 'creditsRemaining', 'left', 'available', 'total'];

export const credits = defineResource({
  name: 'credits',
  position: 20,
  about: 'Remaining AI writing credits of the workspace.',
  scope: 'workspace',
  path: '/credits',
  paging: 'single',
  change: { kind: 'value' },
  query: {},
  tables: [
    {
      name: 'credits',
      about: 'Remaining AI writing credits of the workspace; a new row whenever the balance changes.',
      at: 'body',
      key: [],
      fields: {
        balance: number('Remaining credits; null if the record has no field with a known name.'),
        record: json('The balance exactly as upstream sent it.'),
      },
      whole: 'record',
      normalize: (item) => ({
        balance: typeof item === 'number' ? item : (firstNumber(item, names) ?? nested(item)),
        record: item,
      }),
    },
  ],
  tool: 'get_credit_balance',
});

function nested(item: unknown): number | null {
  if (!isRecord(item)) return null;
  for (const value of Object.values(item)) {
    const found = firstNumber(value, names);
    if (found !== null) return found;
  }
  return null;
}
