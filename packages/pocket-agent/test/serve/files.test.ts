// Files in messages to an agent that is served over MCP.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import type { AgentServerOptions, PocketAgentOptions } from 'pocket-agent';
import { ScriptedModel } from 'pocket-agent/testing';
import { describe, expect, onTestFinished, test } from 'vitest';
import { PIXEL } from '../fixtures/providers/fake-providers.ts';
import { scriptedAgent } from '../helpers.ts';
import { type Answer, textOf } from './clients.ts';

const base64 = (text: string) => Buffer.from(text).toString('base64');
const PDF = base64('%PDF-1.7 a report');

interface Served extends AgentServerOptions {
  agent?: Partial<PocketAgentOptions> & { agentConfig?: object };
  isModern?: boolean;
}

/** An agent that answers every message, and a client of it. */
async function serve({ agent: options, isModern = false, ...serverOptions }: Served) {
  const { agent, model } = scriptedAgent(['Read.', 'Read.'], options);
  onTestFinished(() => agent.close());
  const { url } = await agent.asMcpServer(serverOptions).listen();
  const negotiation = isModern ? { versionNegotiation: { mode: { pin: '2026-07-28' } } } : {};
  const client = new Client({ name: 'tests', version: '1' }, negotiation as object);
  await client.connect(new StreamableHTTPClientTransport(new URL(url)));
  onTestFinished(() => client.close());
  const call = (files: unknown) =>
    client.callTool({ name: 'Tester-message', arguments: { message: 'Read this.', files } }) as Promise<Answer>;
  const send = async (...files: object[]) => {
    const answer = await call(files);
    return { ...answer, text: textOf(answer), prompt: model.calls.at(-1)?.prompt.at(-1)?.content };
  };
  const argument = async () => (await client.listTools()).tools[0]?.inputSchema.properties?.files;
  return { agent, model, send, argument };
}

describe.each([
  ['2025', false],
  ['2026', true],
])('a client of %s', (_era, isModern) => {
  test('sends a PDF and a text file, which the model reads with the message', async () => {
    const { send, model } = await serve({ isModern, files: ['application/pdf'] });
    const { text, prompt } = await send(
      { data: PDF, mimeType: 'application/pdf', name: 'report.pdf' },
      { data: base64('a,b\n1,2'), name: 'table.csv' },
    );
    expect(text).toBe('Read.');
    expect(prompt).toEqual([
      { type: 'text', text: 'Read this.' },
      { type: 'file', mediaType: 'application/pdf', filename: 'report.pdf', data: { type: 'data', data: PDF } },
      { type: 'text', text: '\n[file table.csv]\na,b\n1,2' },
    ]);
    expect(model.calls).toHaveLength(1);
  });
});

test('the tool has no argument for files unless the agent takes them', async () => {
  expect(await (await serve({})).argument()).toBeUndefined();
  expect(await (await serve({ files: ['audio/*'] })).argument()).toMatchObject({
    type: 'array',
    description: 'Files for the agent: text, audio/*. Each has either data or url.',
  });
});

test('an agent with allowImages takes no images if `files` does not name them', async () => {
  const agent = { agentConfig: { allowImages: true } };
  expect(await (await serve({ agent, files: [] })).argument()).toBeUndefined();
});

test('an agent with allowImages takes images', async () => {
  const { send, argument } = await serve({ agent: { agentConfig: { allowImages: true } } });
  expect(await argument()).toMatchObject({ description: expect.stringContaining('text, image/*.') });
  const { prompt } = await send({ data: PIXEL });
  expect(prompt).toContainEqual({ type: 'file', mediaType: 'image/png', data: { type: 'data', data: PIXEL } });
});

test.each([
  [{ data: base64('\0zip'), mimeType: 'application/zip', name: 'a.zip' }, 'not "a.zip" (application/zip).'],
  [{ data: PIXEL }, 'This agent takes text, application/pdf, audio/*, not a file of type image/png.'],
  [{ data: 'not base64!' }, 'The data of a file must be bytes, base64 text or a data: URL.'],
  [{ data: PDF, url: 'https://example.com/a.pdf' }, 'A file has one of path, url and data; this one has 2.'],
  [{ url: 'file:///etc/passwd', mimeType: 'application/pdf' }, 'must begin with http:// or https://'],
  [{ url: 'https://example.com/page.html' }, 'not a file of type text/html.'],
])('%j is refused before the model is called, and the conversation goes on', async (file, message) => {
  const { send, model } = await serve({ files: ['application/pdf', 'audio/*'] });
  const { isError, text } = await send(file);
  expect(isError).toBe(true);
  expect(text).toContain(message);
  expect(model.calls).toHaveLength(0);
  expect((await send({ data: PDF })).text).toBe('Read.');
  expect(model.calls[0]?.prompt.filter(({ role }) => role === 'user')).toHaveLength(1);
});

describe('a file that the model of the agent does not take: the client reads which one, and what to send', () => {
  const film = { data: base64('\0\0\0\x18ftypmp42'), mimeType: 'video/mp4', name: 'film.mp4' };
  const files = ['video/*'];

  test('by what is known of the provider', async () => {
    const llmModel = new ScriptedModel([], { provider: 'anthropic.messages', modelId: 'claude-secret' });
    const { send } = await serve({ files, agent: { agentConfig: { llmModel } } });
    const { isError, text } = await send(film);
    expect(isError).toBe(true);
    expect(text).toMatch(/^The model of this agent does not take "film.mp4" \(video\/mp4\)\. It takes text, .*pdf/);
  });

  test('by an answer of the provider, which the client does not see', async () => {
    const llmModel = new ScriptedModel(['Hello.']);
    llmModel.doGenerate = () =>
      Promise.reject(Object.assign(new Error('Host 10.1.2.3: video not supported'), { statusCode: 400 }));
    const { send } = await serve({ files, agent: { agentConfig: { llmModel } } });
    const { isError, text } = await send(film, { data: PDF, mimeType: 'video/x' });
    expect(isError).toBe(true);
    expect(text).toMatch(
      /^The model of this agent rejected a file, one of: "film.mp4" \(video\/mp4\), a file of type video\/x\. Send/,
    );
    expect(text).not.toContain('10.1.2.3');
  });
});

test.each([
  ['a path', { path: '/etc/passwd' }],
  ['too many files', Array.from({ length: 21 }, () => ({ data: PDF }))],
])('arguments outside of the schema are refused: %s', async (_what, files) => {
  const { send, model } = await serve({ files: ['application/pdf'] });
  const answer = await send(...[files].flat()).catch((error: Error) => ({ isError: true, text: error.message }));
  expect(answer).toMatchObject({ isError: true });
  expect(model.calls).toHaveLength(0);
});

test('a URL that leads to this machine is not fetched; the model reads why', async () => {
  let requests = 0;
  const inside = createServer((_request, response) => {
    requests++;
    response.end('%PDF-secret');
  });
  await new Promise<void>((resolve) => inside.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void inside.close());
  const { send, model } = await serve({ files: ['application/pdf'] });
  Object.assign(model, { supportedUrls: {} }); // its provider fetches nothing
  const { port } = inside.address() as AddressInfo;
  const { prompt } = await send({ url: `http://127.0.0.1:${port}/secret.pdf` });
  expect(requests).toBe(0);
  expect(JSON.stringify(prompt)).toMatch(/secret\.pdf.*private/);
});

test('a message without files is passed on as a string', async () => {
  const { agent, send } = await serve({ files: ['application/pdf'] });
  const inputs: unknown[] = [];
  agent.fork = () => Object.assign(scriptedAgent([]).agent, { run: async (input: unknown) => void inputs.push(input) });
  await send();
  expect(inputs).toEqual(['Read this.']);
});
