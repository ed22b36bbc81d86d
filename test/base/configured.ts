import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'vitest';
import type { ConfigSources } from '../../src/base/config/config-file.ts';
import { loadConfig } from '../../src/base/config/config.ts';
import { SightlineError } from '../../src/base/errors.ts';
import { temporaryFolder } from '../support/folders.ts';

/** A valid API key. */
export const KEY = 'gsk_0123456789';
/** A valid base URL. */
export const BASE_URL = 'https://api.example.com/v1';

/** The sources of the settings; `file` is the content of `sightline.config.json`. */
export interface Given extends Partial<Omit<ConfigSources, 'folder' | 'file'>> {
  readonly file?: unknown;
}

/** Loads the settings in a new folder. */
export async function load({ flags = {}, environment = {}, file }: Given) {
  const folder = await temporaryFolder();
  if (file !== undefined) await writeFile(join(folder, 'sightline.config.json'), JSON.stringify(file));
  return { folder, config: loadConfig({ flags, environment, folder }) };
}

/** Returns the message with which settings are rejected. */
export async function refusal(given: Given, upstream = false, code = 'config_invalid'): Promise<string> {
  try {
    const { config } = await load(given);
    if (upstream) config.upstream();
  } catch (thrown) {
    expect(thrown).toBeInstanceOf(SightlineError);
    expect(thrown).toMatchObject({ code, exit: 2 });
    return (thrown as SightlineError).message;
  }
  throw new Error('it was accepted');
}
