// Mattermost with a certificate of a private authority.
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { connectForTest } from '../connect.ts';
import { selfSigned } from '../fake/self-signed.ts';
import { folderForTest } from '../resources.ts';

test.each([
  ['is not trusted by default, and the error names the setting', () => ({}), /certificate.*MATTERMOST_EXTRA_CA_CERTS/],
  ['is trusted if it is configured', (path: string) => ({ MATTERMOST_EXTRA_CA_CERTS: path }), /alice/],
  ['is not verified if verification is disabled', () => ({ MATTERMOST_VERIFY_SSL: 'false' }), /alice/],
])('a certificate %s', async (_, environmentFor, expected) => {
  const path = join(await folderForTest(), 'ca.pem');
  const tls = selfSigned();
  await writeFile(path, tls.cert);
  const connection = await connectForTest({ fake: { tls }, environment: environmentFor(path) });
  expect((await connection.call('get_me')).text).toMatch(expected);
});
