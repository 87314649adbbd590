import { join } from 'node:path';
import { expect, test } from 'vitest';
import { cardOf } from '../fixtures/local-server.ts';
import { alice, altered, ask, keptLog, open, startHub, temporaryFolder, tokens } from '../fixtures/mcp-setup.ts';
import { seed } from '../fixtures/page-seed.ts';

// The web pages without a browser; page.services.test.ts uses one.

test('pages have a content security policy without foreign sources', async () => {
  const hub = await startHub({ agent3: await open() });
  for (const path of ['/', '/agents/unknown', '/nowhere']) {
    const { headers, text } = await ask(hub, path);
    const policy = headers.get('content-security-policy');
    expect(policy).toContain("default-src 'none'");
    expect(policy).not.toMatch(/unsafe|\*|data:/);
    expect(headers.get('content-type')).toMatch(/^text\/html/);
    expect(text).not.toMatch(/ style=| on\w+=|<style|https?:\/\/(?!127)/);
  }
  for (const [name, type] of [
    ['style.css', 'text/css'],
    ['live.js', 'text/javascript'],
    ['forms.js', 'text/javascript'],
    ['call.js', 'text/javascript'],
    ['icon.svg', 'image/svg+xml'],
  ]) {
    const { status, headers } = await ask(hub, `/assets/${name}`);
    expect([status, headers.get('content-type')]).toEqual([200, `${type}; charset=utf-8`]);
  }
});

test('unknown paths and invalid queries give an error page with the right status', async () => {
  const hub = await startHub({ agent3: await open() });
  const cases: [string, number, string][] = [
    ['/agents/unknown', 404, 'There is no agent'],
    ['/nowhere', 404, 'Page not found'],
    ['/assets/secret', 404, 'Page not found'],
    ['/?minReputation=9', 400, 'minReputation'],
  ];
  for (const [path, status, words] of cases) {
    const answer = await ask(hub, path);
    expect([path, answer.status]).toEqual([path, status]);
    expect(answer.text).toContain(words);
  }
});

test('third-party text is escaped on every page', async () => {
  const file = join(await temporaryFolder(), 'agent3.db');
  const { hostile } = await seed(file);
  const hub = await startHub({ agent3: await open({ file }) });
  for (const path of ['/', `/agents/${hostile}`, '/?query=%22%3E%3Cscript%3E', '/?tags=%22%3E%3Cscript%3E']) {
    const { text } = await ask(hub, path);
    expect(text.match(/<script/g)).toHaveLength(2);
    expect(text).not.toContain('<img');
    expect(text).not.toContain('href="javascript');
  }
});

test('an agent with one call is described in the singular', async () => {
  const file = join(await temporaryFolder(), 'agent3.db');
  await seed(file);
  const hub = await startHub({ agent3: await open({ file }) });
  const { text } = await ask(hub, '/');
  expect(text).toContain('1 call, which succeeded');
  expect(text).toMatch(/\d % of \d+ calls succeeded/);
  expect(text).not.toContain('of 1 calls');
});

test('the API reference page links the OpenAPI description', async () => {
  const hub = await startHub({ agent3: await open() });
  const { text } = await ask(hub, '/');
  const link = /<a href="([^"]+)">API</.exec(text)?.[1] ?? '';
  const described = await ask(hub, link);
  expect([described.status, described.headers.get('content-type')]).toEqual([
    200,
    expect.stringMatching(/^text\/html/),
  ]);
  for (const words of ['GET /api/agents', 'POST /api/calls', 'Call an agent', 'href="/openapi.json"'])
    expect(described.text).toContain(words);
});

test('a browser reads the call log with an owner token', async () => {
  const agent3 = await open();
  const { id: agentId } = await agent3.register({ card: cardOf('http://127.0.0.1:1') }, alice);
  for (const message of ['one', 'two'])
    await agent3.call({ agentId, message, metadata: { userAgentId: '<b>bot</b>', retries: 0 } }, { id: 'bob' });
  const hub = await startHub({ agent3 });
  const stranger = await fetch(new URL('calls?limit=1', hub.url), { redirect: 'manual' });
  expect([stranger.status, stranger.headers.get('location')]).toEqual([303, '/sign-in?next=%2Fcalls%3Flimit%3D1']);
  const password = Buffer.from(`x:${tokens.issue('bob')}`).toString('base64');
  const read = (path: string) => ask(hub, path, { headers: { authorization: `Basic ${password}` } });
  const { text, headers } = await read('/calls?limit=1');
  expect(headers.get('cache-control')).toBe('no-store');
  expect(text).toContain('UNREACHABLE');
  expect(text).toContain('bob (&lt;b&gt;bot&lt;/b&gt;)');
  expect(text).not.toContain('Caller <input');
  const next = /href="([^"]+)" rel="next"/.exec(text)?.[1]?.replaceAll('&amp;', '&') ?? '';
  expect((await read(next)).text).toContain('UNREACHABLE');
  const other = Buffer.from(`x:${tokens.issue('carol')}`).toString('base64');
  expect((await ask(hub, '/calls', { headers: { authorization: `Basic ${other}` } })).text).toContain('No calls.');
});

test('a page of agents links the next page', async () => {
  const agent3 = await open();
  for (let number = 0; number < 12; number++)
    await agent3.register({ card: cardOf(`http://127.0.0.1:${number + 1}`, { name: `Echo ${number}` }) }, alice);
  const hub = await startHub({ agent3 });
  const { text } = await ask(hub, '/?query=echo');
  expect(text.match(/<h3>/g)).toHaveLength(10);
  const next = /href="([^"]+)" rel="next"/.exec(text)?.[1]?.replaceAll('&amp;', '&') ?? '';
  expect((await ask(hub, next)).text.match(/<h3>/g)).toHaveLength(2);
});

test('an agent whose card is slow or unavailable is shown without it', async () => {
  const agent3 = await open();
  const { id } = await agent3.register({ card: cardOf('http://127.0.0.1:1') }, alice);
  const hub = await startHub({ agent3: altered(agent3, { invoke: () => new Promise(() => {}) }) });
  expect((await ask(hub, `/agents/${id}`)).text).toContain('The card is being fetched');
});

test('a page that fails shows no details', async () => {
  const { lines, logger } = keptLog();
  const broken = altered(await open(), { health: () => Promise.reject(new Error('row 7')) });
  const hub = await startHub({ agent3: broken, logger });
  const { status, text } = await ask(hub, '/');
  expect([status, text.includes('row 7')]).toEqual([500, false]);
  expect(lines.join()).toContain('row 7');
});
