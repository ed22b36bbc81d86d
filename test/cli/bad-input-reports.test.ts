import { testBadInput } from './bad-input.ts';

testBadInput([
  {
    name: 'an empty --brand',
    args: ['explain', 'visibility', '--brand', ''],
    code: 'usage',
    says: ['--brand is empty; allowed: a value, or leave the option out'],
  },
  {
    name: 'an empty name in a list of engines',
    args: ['explain', 'visibility', '--engine', ' '],
    code: 'usage',
    says: ['--engine is empty; allowed: a value'],
  },
  {
    name: 'one end of the earlier period',
    args: ['explain', 'visibility', '--before-from', '2026-01-01'],
    code: 'usage',
    says: ['--before-from requires --before-to'],
  },
  {
    name: 'an earlier period beside --compare-to',
    args: ['explain', 'visibility', '--before-from', '2026-01-01', '--before-to', '2026-01-02', '--compare-to', 'year'],
    code: 'usage',
    says: ['--compare-to cannot be combined with --before-from and --before-to'],
  },
  {
    name: 'a report that begins in the future',
    args: ['report', '--from', '2999-01-01'],
    code: 'usage',
    says: ['--from is "2999-01-01"; allowed: today (', 'or an earlier day, without --to'],
  },
  {
    name: 'a link that is no address',
    args: ['report', '--link', 'http:// x'],
    code: 'usage',
    says: ['--link is "http:// x"; allowed: an address with http or https'],
  },
]);
