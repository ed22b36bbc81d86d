import { execFileSync } from 'node:child_process';
import { mkdir, readdir, readFile, readlink, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { EXIT, errorTable, hideKeys, SightlineError, toSightlineError } from '../../src/base/errors.ts';
import { ensureWritableFolder, publishByRename, swapSymlink } from '../../src/base/files.ts';
import { toCanonicalJson } from '../../src/base/json.ts';
import { count, duration, plural, size } from '../../src/cli/output/output.ts';
import { temporaryFolder } from '../support/folders.ts';

describe('files', () => {
  test('are never renamed over a device or pipe', async () => {
    const folder = await temporaryFolder();
    const [file, pipe, link] = ['file', 'pipe', 'link'].map((name) => join(folder, name)) as [string, string, string];
    await writeFile(file, 'rows');
    execFileSync('mkfifo', [pipe]);
    await symlink(pipe, link);
    for (const path of [pipe, link]) {
      const message = `${path} is a device, pipe or socket; allowed: a file`;
      await expect(publishByRename(file, path)).rejects.toMatchObject({ code: 'usage', message });
    }
    expect(await readFile(file, 'utf8')).toBe('rows');
  });

  test('ensureWritableFolder creates a folder with its parents and accepts an existing folder', async () => {
    const folder = join(await temporaryFolder(), 'a', 'b', 'c');
    await ensureWritableFolder(folder);
    await ensureWritableFolder(folder);
    expect((await stat(folder)).isDirectory()).toBe(true);
  });

  test('ensureWritableFolder follows symlinks', async () => {
    const folder = await temporaryFolder();
    await mkdir(join(folder, 'real'));
    await symlink('real', join(folder, 'link'));
    await ensureWritableFolder(join(folder, 'link', 'x'));
    expect(await readdir(join(folder, 'real'))).toEqual(['x']);
  });

  test.each(['file', 'file/x', 'file/x/y', 'dangling', 'dangling/x'])(
    'ensureWritableFolder rejects %s and creates nothing',
    async (path) => {
      const folder = await temporaryFolder();
      await writeFile(join(folder, 'file'), '');
      await symlink('nowhere', join(folder, 'dangling'));
      const at = join(folder, path);
      await expect(ensureWritableFolder(at)).rejects.toMatchObject({
        code: 'folder_unwritable',
        message: expect.stringContaining(at),
      });
      expect((await readdir(folder)).sort()).toEqual(['dangling', 'file']);
    },
  );

  test('ensureWritableFolder rejects a folder in /proc', async () => {
    await expect(ensureWritableFolder('/proc/a/b')).rejects.toMatchObject({ code: 'folder_unwritable' });
  });

  test('swapSymlink replaces a link atomically: a concurrent reader always finds it', async () => {
    const folder = await temporaryFolder();
    const link = join(folder, 'latest');
    for (const name of ['one', 'two']) await mkdir(join(folder, name));
    await swapSymlink('one', link);
    let swapping = true;
    const seen = new Set<string>();
    const look = async (): Promise<void> => {
      while (swapping) seen.add(await readlink(link));
    };
    const looking = look();
    for (let times = 0; times < 100; times++) await swapSymlink(times % 2 === 0 ? 'two' : 'one', link);
    swapping = false;
    await looking;
    expect([...seen].sort()).toEqual(['one', 'two']);
    expect((await readdir(folder)).sort()).toEqual(['latest', 'one', 'two']);
  });

  test('swapSymlink leaves no temporary file if it fails', async () => {
    const folder = await temporaryFolder();
    const link = join(folder, 'latest');
    await mkdir(link);
    await expect(swapSymlink('one', link)).rejects.toMatchObject({ code: 'EISDIR' });
    expect(await readdir(folder)).toEqual(['latest']);
    await rm(link, { recursive: true });
    await swapSymlink('one', link);
    expect(await readlink(link)).toBe('one');
  });

  test('publishByRename replaces an existing file', async () => {
    const folder = await temporaryFolder();
    await writeFile(join(folder, 'old'), 'old');
    await writeFile(join(folder, 'new'), 'new');
    await publishByRename(join(folder, 'new'), join(folder, 'old'));
    expect(await readdir(folder)).toEqual(['old']);
    expect(await readFile(join(folder, 'old'), 'utf8')).toBe('new');
  });
});

describe('toSightlineError', () => {
  const system = (code: string, message = `${code}: something`): Error => Object.assign(new Error(message), { code });

  test.each([
    [system('ENOSPC'), 'disk_full'],
    [system('EDQUOT'), 'disk_full'],
    [new Error('IO Error: Could not write file "x": No space left on device'), 'disk_full'],
    [new Error('IO Error: Could not write file "x": Disk quota exceeded'), 'disk_full'],
    [system('EACCES'), 'folder_unwritable'],
    [system('EROFS'), 'folder_unwritable'],
    [system('EPERM'), 'folder_unwritable'],
    [system('ENOENT'), 'internal'],
    [new TypeError('x is not a function'), 'internal'],
    ['a text', 'internal'],
    [undefined, 'internal'],
  ] as const)('maps %s to %s', (thrown, code) => {
    const error = toSightlineError(thrown);
    expect(error).toMatchObject({ code, exit: errorTable[code].exit, hint: errorTable[code].hint, cause: thrown });
    const said = thrown instanceof Error ? thrown.message : String(thrown);
    if (code !== 'disk_full') expect(error.message).toBe(said);
    else
      expect(error.message).toMatch(
        /^cannot write because the disk is full(: the disk of [^ ]+ has [\d,.]+ MB free)?$/,
      );
  });

  test('names the folder and its free space if the error names a file', () => {
    const folder = tmpdir();
    const path = join(folder, 'warehouse.duckdb');
    const expected = new RegExp(`^cannot write because the disk is full: the disk of ${folder} has [\\d,.]+ MB free$`);
    const quoted = new Error(`FATAL Error: Original error: "Could not write file "${path}": No space left on device"`);
    expect(toSightlineError(Object.assign(new Error('ENOSPC: write'), { code: 'ENOSPC', path })).message).toMatch(
      expected,
    );
    expect(toSightlineError(quoted).message).toMatch(expected);
  });

  test.each([system('EMFILE'), system('ENFILE'), new Error('IO Error: Cannot open file "x": Too many open files')])(
    'names the limit of open files for %s',
    (thrown) => {
      const { code, message, hint } = toSightlineError(thrown);
      expect({ code, message }).toEqual({
        code: 'too_many_files',
        message: expect.stringMatching(/^too many open files; `ulimit -n` allows (\d+|unlimited)$/),
      });
      expect(hint).toContain('`ulimit -n 1024`');
    },
  );

  test.each([
    [{ code: 'ENOENT', path: '/x/y' }, 'cannot use /x/y: it does not exist, or the folder above it does not'],
    [{ code: 'ENOTDIR', path: '/x/y' }, 'cannot use /x/y: a part of the path is not a folder'],
    [{ code: 'EISDIR', path: '/x/y' }, 'cannot use /x/y: it is a folder'],
    [{ code: 'ENOENT', syscall: 'uv_cwd' }, 'the current folder does not exist any more; change to another one'],
  ])('says what is wrong with a path: %o', (system, message) => {
    const error = toSightlineError(Object.assign(new Error(`${system.code}: of Node`), system));
    expect(error).toMatchObject({ code: 'file_unusable', message });
  });

  test('says what is wrong with a file that DuckDB cannot open', () => {
    const error = toSightlineError(new Error('IO Error: Cannot open file "/proc/b": No such file or directory'));
    expect(error).toMatchObject({ code: 'file_unusable', message: 'cannot use /proc/b: No such file or directory' });
  });

  test.each(['IO Error', 'INTERNAL Error', 'Invalid Input Error', 'TransactionContext Error'])(
    'shows only the type of an unexpected DuckDB error: %s',
    (kind) => {
      const error = toSightlineError(new Error(`${kind}: Could not read "/home/someone/data": its prose`));
      expect(error).toMatchObject({ code: 'internal', message: `DuckDB failed unexpectedly (${kind})` });
    },
  );

  test('returns a SightlineError unchanged', () => {
    const error = new SightlineError('no_data', 'nothing here');
    expect(toSightlineError(error)).toBe(error);
  });

  test('every error of the table has a known exit code and complete sentences', () => {
    const codes: number[] = Object.values(EXIT);
    for (const { exit, about, hint } of Object.values(errorTable)) {
      expect(codes).toContain(exit);
      expect(exit).not.toBe(EXIT.done);
      for (const sentence of [about, hint]) expect(sentence).toMatch(/^[A-Z`].*\.$/);
    }
  });

  test('messages never contain an API key', () => {
    expect(new SightlineError('usage', 'the key gsk_ab-CD.12+/= is wrong').message).toBe('the key gsk_… is wrong');
    expect(hideKeys('begins with gsk_; or gsk_ alone')).toBe('begins with gsk_; or gsk_ alone');
    expect(hideKeys('"gsk_12345678",gsk_abcdefgh')).toBe('"gsk_…",gsk_…');
  });
});

test('canonical JSON sorts keys at every depth and keeps the order of arrays', () => {
  expect(toCanonicalJson({ b: [{ d: 1, c: 2 }, 3, null], a: 'x' })).toBe('{"a":"x","b":[{"c":2,"d":1},3,null]}');
});

describe('formatted numbers', () => {
  test.each([
    [0, '0 s'],
    [59_400, '59 s'],
    [59_600, '1 min 0 s'],
    [185_000, '3 min 5 s'],
    [3_599_600, '1 h 0 min'],
    [7_800_000, '2 h 10 min'],
    [-5, '0 s'],
  ])('%d ms are shown as %s', (ms, text) => expect(duration(ms)).toBe(text));

  test.each([
    [0, '0 B'],
    [999, '999 B'],
    [1000, '1.0 kB'],
    [812_345, '812 kB'],
    [999_999, '1.0 MB'],
    [1_234_567, '1.2 MB'],
    [3_000_000_000_000_000, '3000 TB'],
  ])('%d bytes are shown as %s', (bytes, text) => expect(size(bytes)).toBe(text));

  test('counts have thousands separators, and 1 is followed by the singular', () => {
    expect(count(1234567)).toBe('1,234,567');
    expect([plural(0, 'file'), plural(1, 'file'), plural(1200, 'file')]).toEqual(['0 files', '1 file', '1,200 files']);
  });
});
