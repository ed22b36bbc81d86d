import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { isPrivateWay } from '../../src/base/config/notify-settings.ts';
import { isLinkLocal, lookUpPublic } from '../../src/base/link-local.ts';

const REFUSED = [
  'https://169.254.169.254/latest/meta-data',
  'https://169.254.0.1',
  'https://2852039166',
  'https://0xa9fea9fe',
  'https://0251.0376.0251.0376',
  'https://169.254.43518',
  'https://[fe80::1]',
  'https://[febf:ffff::1]',
  'https://[::ffff:169.254.169.254]',
  'https://[::ffff:a9fe:a9fe]',
  'https://[::169.254.169.254]',
  'https://[::ffff:0:169.254.169.254]',
  'https://[64:ff9b::169.254.169.254]',
  'https://[64:ff9b:1::a9fe:a9fe]',
  'https://[2002:a9fe:a9fe::1]',
  'https://[fd00:ec2::254]',
  'https://100.100.100.200',
  'https://169.254.169.254.',
  'https://%31%36%39.254.169.254',
];
const ALLOWED = [
  'https://169.253.255.255',
  'https://169.255.0.1',
  'https://[fec0::1]',
  'https://[64:ff9b::10.0.0.1]',
  'https://100.100.100.201',
  'https://hooks.example.com',
];

it.each(REFUSED)('%s is link-local, so nothing is sent to it', (text) => {
  expect(isLinkLocal(new URL(text))).toBe(true);
  for (const url of [text, text.replace('https', 'http')]) expect(isPrivateWay(new URL(url), true), url).toBe(false);
});

it.each(ALLOWED)('%s is not link-local', (text) => {
  expect(isLinkLocal(new URL(text))).toBe(false);
  expect(isPrivateWay(new URL(text), false)).toBe(true);
});

it('a name with a link-local address is not connected to', async () => {
  const lookUp = promisify(lookUpPublic) as (name: string, options: object) => Promise<unknown>;
  for (const all of [true, false])
    await expect(lookUp('169.254.169.254', { all })).rejects.toMatchObject({ code: 'ELINKLOCAL' });
  expect(await lookUp('127.0.0.1', { all: true })).toEqual([{ address: '127.0.0.1', family: 4 }]);
  expect(await lookUp('127.0.0.1', {})).toBe('127.0.0.1');
});
