import { isRecord } from '../src/base/json.ts';
import { json, number } from '../src/contract/fields.ts';
import { defineResource } from '../src/contract/resource.ts';
import { firstNumber } from './unknown-shapes.ts';

const names = ['credits', 'balance', 'remaining', 'creditsLeft', 'creditsRemaining', 'left', 'available', 'total'];

export const credits = defineResource({
  name: 'credits',
  about: "The workspace's AI writing credits left.",
  scope: 'workspace',
  path: '/credits',
  paging: 'single',
  change: { kind: 'value' },
  query: {},
  tables: [
    {
      name: 'credits',
      about: "The workspace's AI writing credits left; a row whenever the balance differs from the one before.",
      at: 'body',
      key: [],
      fields: {
        balance: number('Credits left, where upstream sends them under a name that says so.'),
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
