import type { Lie } from '../attack.ts';

/** Lies that the engine has always survived; they show that the harness works. */
export const sampleLies: readonly Lie[] = [
  {
    title: 'sends rows without an id',
    tell: (exchange) => {
      if (exchange.path.endsWith('/prompts')) exchange.edit((body) => void delete body.data[0].id);
    },
    exits: [0, 3],
    says: /id/,
  },
];
