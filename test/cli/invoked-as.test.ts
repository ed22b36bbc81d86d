import { describe, expect, it } from 'vitest';
import { invokedAs } from '../../src/cli/output/invoked-as.ts';
import { withTerminal } from '../../src/cli/output/terminal.ts';

describe('the command in the next steps of init and demo', () => {
  it.each([
    ['an installed command', '/usr/local/bin/sightline', 'sightline'],
    ['a project', '/srv/acme/node_modules/.bin/sightline', 'node_modules/.bin/sightline'],
    ['a checkout', '/srv/acme/dist/src/cli/main.js', 'node dist/src/cli/main.js'],
    ['a checkout elsewhere', '/srv/my code/dist/src/cli/main.js', 'node "../my code/dist/src/cli/main.js"'],
  ])('starts %s', async (_, script, command) => {
    expect(await withTerminal({ folder: '/srv/acme' }, async () => invokedAs(script))).toBe(command);
  });
});
