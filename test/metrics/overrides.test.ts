import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { loadConfig } from '../../src/base/config/config.ts';
import { defaultConventions } from '../../src/metrics/calibration/conventions.ts';
import { mergeConventions, toOverrides } from '../../src/metrics/calibration/overrides.ts';
import { temporaryFolder } from '../support/folders.ts';

describe('the conventions setting', () => {
  test('overrides conventions or parts of them and keeps the others', () => {
    const merged = mergeConventions(
      defaultConventions,
      toOverrides({
        visibility: { decimals: 3 },
        visibilityChange: { as: 'relative' },
        labels: { mixed: 25, neutral: null },
        ungrouped: { groupId: 'none', name: null },
        brandedGroups: { true: { groupId: 'b', name: 'B' } },
        emptyShare: null,
        topCompetitors: 5,
        combinedEngine: 'all',
      }),
    );
    expect(merged).toEqual({
      ...defaultConventions,
      visibility: { ...defaultConventions.visibility, decimals: 3 },
      visibilityChange: { ...defaultConventions.visibilityChange, as: 'relative' },
      labels: { positive: 100, negative: 0, mixed: 25 },
      ungrouped: { groupId: 'none', name: null },
      brandedGroups: { ...defaultConventions.brandedGroups, true: { groupId: 'b', name: 'B' } },
      emptyShare: null,
      topCompetitors: 5,
      combinedEngine: 'all',
    });
    expect(mergeConventions(defaultConventions, {})).toEqual(defaultConventions);
    expect(mergeConventions(merged, { ungrouped: null }).ungrouped).toBeNull();
  });

  test.for<[unknown, RegExp]>([
    [
      { visibilty: {} },
      /^sightline\.config\.json: conventions has an unknown setting "visibilty"; allowed: visibility, /,
    ],
    [{ visibility: { whole: 10 } }, /: conventions\.visibility\.whole is 10; allowed: 1 or 100$/],
    [
      { visibility: 'percent' },
      /conventions\.visibility is "percent"; allowed: an object with the members decimals, mode and whole$/,
    ],
    [
      { sentiment: { decimals: 1.5 } },
      /conventions\.sentiment\.decimals is 1\.5; allowed: a whole number from 0 to 15, or null/,
    ],
    [
      { domainShare: { of: 'pages' } },
      /conventions\.domainShare\.of is "pages"; allowed: citations, responses or citing$/,
    ],
    [
      { labels: { good: 'yes' } },
      /conventions\.labels\.good is "yes"; allowed: a number, or null to exclude the label$/,
    ],
    [{ emptyShare: 1 }, /conventions\.emptyShare is 1; allowed: 0 or null$/],
    [{ topCompetitors: -1 }, /conventions\.topCompetitors is -1; allowed: a whole number, 0 or more$/],
    [{ ungrouped: { groupId: 'x' } }, /conventions\.ungrouped\.name is not set; allowed: a string/],
    [
      { brandedGroups: { maybe: {} } },
      /conventions\.brandedGroups has an unknown setting "maybe"; allowed: true, false$/,
    ],
    [[], /^sightline\.config\.json: conventions is \[\]; allowed: an object with the members visibility, /],
  ])('rejects %j', ([given, message]) => {
    expect(() => toOverrides(given)).toThrow(message);
    expect(() => toOverrides(given)).toThrow(expect.objectContaining({ code: 'config_invalid', exit: 2 }));
  });

  test('of a workspace overrides the one for all workspaces', async () => {
    const folder = await temporaryFolder();
    const workspace = { baseUrl: 'https://api.example.com/v1', apiKeyVariable: 'KEY' };
    const conventions = { emptyShare: null, visibility: { decimals: 2 } };
    const workspaces = { a: { ...workspace, conventions: { visibility: { whole: 1 } } }, b: workspace };
    await mkdir(folder, { recursive: true });
    await writeFile(join(folder, 'sightline.config.json'), JSON.stringify({ conventions, workspaces }));
    const of = (name: string) => loadConfig({ flags: { workspace: name }, environment: {}, folder }).conventions;
    expect(of('b')).toEqual(conventions);
    expect(of('a')).toEqual({ emptyShare: null, visibility: { whole: 1 } });
    await writeFile(join(folder, 'sightline.config.json'), JSON.stringify({ conventions: 7 }));
    const load = () => loadConfig({ flags: {}, environment: {}, folder });
    expect(load).toThrow(/conventions is 7; allowed: an object with the value of each point/);
  });
});
