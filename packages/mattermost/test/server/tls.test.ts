// Mattermost with a certificate of a private authority.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { connect } from '../connect.ts';
import { selfSigned } from '../fake/self-signed.ts';

test.each([
  ['is not trusted by itself, and the way out is named', () => ({}), /certificate.*MATTERMOST_EXTRA_CA_CERTS/],
  ['is trusted when it is given', (path: string) => ({ MATTERMOST_EXTRA_CA_CERTS: path }), /alice/],
  ['is not verified if verification is disabled', () => ({ MATTERMOST_VERIFY_SSL: 'false' }), /alice/],
])('a certificate %s', async (_, environmentFor, expected) => {
  const folder = await mkdtemp(join(tmpdir(), 'mattermost-tls-'));
  const path = join(folder, 'ca.pem');
  const tls = selfSigned();
  await writeFile(path, tls.cert);
  const connection = await connect({ fake: { tls }, environment: environmentFor(path) });
  try {
    expect((await connection.call('get_me')).text).toMatch(expected);
  } finally {
    await connection.close();
    await rm(folder, { recursive: true });
  }
});
