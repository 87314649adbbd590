// Files and data as artifacts: from the tools and models of a served agent, in chunks, and to and from remote agents.
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { TaskState } from '@a2a-js/sdk';
import { remoteAgent, type SentArtifact, sendArtifact } from '@pocket-agent/a2a';
import type { Artifact, Part } from '@pocket-agent/a2a/client';
import { openRuns } from '@pocket-agent/runs';
import { type NestedAgentOptions, PocketAgent, tool } from 'pocket-agent';
import { ScriptedModel } from 'pocket-agent/testing';
import { afterEach, expect, test } from 'vitest';
import { silent } from '../../../pocket-agent/test/helpers.ts';
import { newFile } from '../../../runs/test/agents.ts';
import { ForeignAgent } from '../fixtures/foreign-agent.ts';
import { type Binding, bindings, clientOf, collect, message, rpc, send, World } from '../fixtures/world.ts';

const world = new World();
afterEach(() => world.close());

const modern = { 'a2a-version': '1.0' };
const PDF = Buffer.from('%PDF-1.7 …');
const PNG = Buffer.from('iVBORw0KGgoAAAANSUhEUg==', 'base64');

/** An agent whose only tool sends these artifacts. */
function sender(artifacts: readonly SentArtifact[], sent: boolean[] = []) {
  const report = tool({
    name: 'report',
    description: 'Reports',
    capability: 'read',
    run: () => {
      for (const artifact of artifacts) sent.push(sendArtifact(artifact));
    },
  });
  return world.agent([{ toolCalls: [{ name: 'report' }] }, 'It is attached.'], { tools: [report] });
}

async function artifactsOf(url: string, id: string): Promise<Artifact[]> {
  const { result } = await rpc(url, 'GetTask', { id }, modern);
  return result?.artifacts as Artifact[];
}

const bytesOf = ({ raw = '' }: Part = {}) => Buffer.from(raw, 'base64');

test.each<Binding>(bindings)('tools send files and data beside the answer (%s)', async (binding) => {
  const sent: boolean[] = [];
  const agent = sender(
    [
      { name: 'report.pdf', bytes: PDF, mediaType: 'application/pdf', description: 'The report' },
      { name: 'figures', data: { rows: 3 } },
    ],
    sent,
  );
  const { url } = await world.serve(agent);
  const task = await send(await clientOf(url, { binding }), message('go'));
  const [answer, report, figures] = await artifactsOf(url, task.id);
  expect(answer).toMatchObject({ artifactId: 'answer', parts: [{ text: 'It is attached.' }] });
  expect(report).toMatchObject({ name: 'report.pdf', description: 'The report' });
  expect(report?.parts).toEqual([
    { raw: PDF.toString('base64'), mediaType: 'application/pdf', filename: 'report.pdf' },
  ]);
  expect(figures?.parts).toEqual([{ data: { rows: 3 }, mediaType: 'application/json', filename: 'figures' }]);
  expect(sent).toEqual([true, true]);
});

test('chunks arrive one by one in the stream, and as one file in the task', async () => {
  const agent = sender([
    { name: 'a.csv', text: 'one\n', lastChunk: false },
    { name: 'b.bin', bytes: Buffer.from([1, 2]), lastChunk: false },
    { name: 'a.csv', text: 'two\n', append: true, lastChunk: true },
    { name: 'b.bin', bytes: Buffer.from([3, 4, 5]), append: true },
  ]);
  const { url } = await world.serve(agent);
  const client = await clientOf(url);
  const seen = await collect(client.sendMessageStream(message('go')));
  const chunks = seen.flatMap(({ artifactUpdate }) => (artifactUpdate ? [artifactUpdate] : []));
  const inTask = (await artifactsOf(url, seen[0]?.task?.id ?? '')).slice(1);
  expect(chunks.slice(0, 4).map(({ append = false, lastChunk = false }) => [append, lastChunk])).toEqual([
    [false, false],
    [false, false],
    [true, true],
    [true, true],
  ]);
  expect(inTask.map(({ parts }) => parts.length)).toEqual([1, 1]);
  expect(inTask[0]?.parts[0]?.text).toBe('one\ntwo\n');
  expect([...bytesOf(inTask[1]?.parts[0])]).toEqual([1, 2, 3, 4, 5]);
});

test('an artifact that is sent again without append is replaced', async () => {
  const agent = sender([
    { name: 'draft', text: 'old' },
    { name: 'draft', text: 'new' },
  ]);
  const { url } = await world.serve(agent);
  const { id } = await send(await clientOf(url), message('go'));
  expect((await artifactsOf(url, id)).map(({ parts }) => parts[0]?.text)).toEqual(['It is attached.', 'new']);
});

test('artifacts of more than 100 MB are refused, and the task continues', async () => {
  const sent: boolean[] = [];
  const large = { name: 'two', text: 'x'.repeat(104_857_600) };
  const { url } = await world.serve(sender([{ name: 'one', text: 'x' }, large], sent));
  const { id, status } = await send(await clientOf(url), message('go'));
  expect([sent, status?.state]).toEqual([[true], TaskState.TASK_STATE_COMPLETED]);
  expect((await artifactsOf(url, id)).map(({ name }) => name)).toEqual(['answer', 'one']);
});

test('without an A2A client nothing is sent, and the name "answer" is refused', async () => {
  const sent: boolean[] = [];
  await sender([{ name: 'x', text: 'y' }], sent).run('go');
  expect(sent).toEqual([false]);
  expect(() => sendArtifact({ name: 'answer', text: 'x' })).toThrow('needs a name other than "answer"');
  expect(() => sendArtifact({ name: 'x' })).toThrow('one of text, bytes and data');
});

const picture: ConstructorParameters<typeof ScriptedModel>[0] = [
  {
    content: [
      { type: 'file', mediaType: 'image/png', data: { type: 'data', data: PNG.toString('base64') } },
      { type: 'text', text: 'A cat.' },
    ],
  },
];

test('files that the model generates are artifacts', async () => {
  const { url } = await world.serve(world.agent(picture));
  const { id } = await send(await clientOf(url), message('Paint a cat'));
  const [answer, file] = await artifactsOf(url, id);
  expect(answer?.parts[0]?.text).toBe('A cat.');
  expect(file).toMatchObject({ name: 'file-1', parts: [{ raw: PNG.toString('base64'), mediaType: 'image/png' }] });
});

test('files that the model generates are artifacts of a durable task, too', async () => {
  const make = () => new PocketAgent({ llmModel: new ScriptedModel(picture), name: 'Painter', logger: silent });
  const runs = world.keep(await openRuns({ url: `sqlite:${newFile()}`, agents: { painter: make }, logger: silent }));
  const { url } = await world.serve(world.keep(make()), { durable: { runs, agent: 'painter' } });
  const { id } = await send(await clientOf(url), message('Paint a cat'));
  const names = (await artifactsOf(url, id)).map(({ name }) => name);
  expect(names).toEqual(['answer', 'file-1']);
});

test('a tool result that is the answer keeps its files, links and their names', async () => {
  const agent = world.agent([]);
  const result = {
    content: [
      { type: 'resource', resource: { uri: 'file:///reports/q3.pdf', mimeType: 'application/pdf', blob: 'AAAA' } },
      { type: 'resource_link', uri: 'https://files.example/q3.csv', name: 'q3.csv', mimeType: 'text/csv' },
    ],
  };
  agent.run = (async () => result) as never; // as a class may override it
  const { url } = await world.serve(agent, { createAgent: () => agent });
  const { id } = await send(await clientOf(url), message('go'));
  expect((await artifactsOf(url, id))[0]?.parts).toEqual([
    { raw: 'AAAA', mediaType: 'application/pdf', filename: 'q3.pdf' },
    { url: 'https://files.example/q3.csv', mediaType: 'text/csv', filename: 'q3.csv' },
  ]);
});

test('the model reads the names of text files that callers send', async () => {
  const agent = world.agent(['thanks']);
  const forks: PocketAgent[] = [];
  const createAgent = () => {
    const fork = agent.fork();
    forks.push(fork);
    return fork;
  };
  const { url } = await world.serve(agent, { createAgent });
  const raw = Buffer.from('name,age\nann,7').toString('base64');
  await send(
    await clientOf(url),
    message([{ raw, mediaType: 'text/csv', filename: 'people.csv' }, { data: { a: 1 } }]),
  );
  const prompt = JSON.stringify(forks[0]?.messages[0]);
  for (const text of ['people.csv', 'ann,7', String.raw`{\"a\":1}`]) expect(prompt).toContain(text);
});

interface Delegation {
  arguments: Record<string, unknown>;
  folder?: string;
}

/** Calls the agent at `url` once; returns the result that the model reads. */
async function delegate(url: string, { arguments: args, folder }: Delegation): Promise<string> {
  const options: Partial<NestedAgentOptions> = {
    tools: [remoteAgent({ url, name: 'Other', ...(folder ? { folder } : {}), logger: silent })],
  };
  const agent = world.agent([{ toolCalls: [{ name: 'Other-message', arguments: args }] }, 'done'], options);
  await agent.run('go');
  return JSON.stringify(agent.messages.find(({ role }) => role === 'tool'));
}

function folder(): string {
  return mkdtempSync(join(tmpdir(), 'files-'));
}

test('remoteAgent sends JSON, and files of its folder', async () => {
  const at = folder();
  writeFileSync(join(at, 'q3.pdf'), PDF);
  const other = world.keep(
    await new ForeignAgent({ SendStreamingMessage: (_params, reply) => reply.result(done) }).start(),
  );
  await delegate(other.url, { arguments: { message: 'Read', data: { year: 2026 }, files: ['q3.pdf'] }, folder: at });
  expect(Object(other.calls[0]?.params.message).parts).toEqual([
    { text: 'Read' },
    { data: { year: 2026 }, mediaType: 'application/json' },
    { raw: PDF.toString('base64'), mediaType: 'application/pdf', filename: 'q3.pdf' },
  ]);
});

const done = { message: { messageId: 'a', role: 'ROLE_AGENT', parts: [{ text: 'ok' }] } };

test.each([
  ['a file outside', '../secret.txt', 'is outside the folder for files'],
  ['a link that leads outside', 'link.txt', 'is outside the folder for files'],
  ['a file with secrets', '.env', 'its name suggests secrets'],
  ['a file of more than 10 MB', 'large.bin', 'too large'],
])('remoteAgent does not send %s', async (_what, path, reason) => {
  const parent = folder();
  const at = join(parent, 'files');
  mkdirSync(at);
  writeFileSync(join(parent, 'secret.txt'), 'planted');
  symlinkSync(join(parent, 'secret.txt'), join(at, 'link.txt'));
  writeFileSync(join(at, '.env'), 'planted');
  if (path === 'large.bin') writeFileSync(join(at, path), Buffer.alloc(10_000_001));
  const other = world.keep(await new ForeignAgent({}).start());
  expect(await delegate(other.url, { arguments: { message: 'x', files: [path] }, folder: at })).toContain(reason);
  expect(other.calls).toEqual([]);
});

test('remoteAgent saves files of an answer, in chunks or whole, without replacing or leaving anything', async () => {
  const parent = folder();
  const at = join(parent, 'files');
  mkdirSync(at);
  writeFileSync(join(at, 'report.pdf'), 'mine');
  const artifact = (artifactId: string, part: object, how: object = {}) => ({
    artifactUpdate: { taskId: 't', contextId: 'c', artifact: { artifactId, parts: [part] }, ...how },
  });
  const named = (text: string, filename: string) => ({
    raw: Buffer.from(text).toString('base64'),
    filename,
    mediaType: 'application/x-test',
  });
  const other = world.keep(
    await new ForeignAgent({
      SendStreamingMessage: (_params, reply) => {
        reply.event({ task: { id: 't', contextId: 'c', status: { state: 'TASK_STATE_WORKING' } } });
        reply.event(artifact('1', named('first ', 'report.pdf'), { append: false }));
        reply.event(artifact('1', named('second', 'report.pdf'), { append: true, lastChunk: true }));
        reply.event(artifact('2', named('evil', '../../evil.sh')));
        reply.event(artifact('3', named('evil', '.bashrc')));
        reply.event(artifact('4', named('evil', 'C:\\keys\\id_rsa')));
        reply.event(artifact('5', { raw: PNG.toString('base64'), mediaType: 'image/png', filename: 'cat.png' }));
        reply.event({ statusUpdate: { taskId: 't', contextId: 'c', status: { state: 'TASK_STATE_COMPLETED' } } });
        reply.end();
      },
    }).start(),
  );
  const result = await delegate(other.url, { arguments: { message: 'x' }, folder: at });
  expect(readdirSync(at).sort()).toEqual(['bashrc', 'cat.png', 'evil.sh', 'file', 'report-2.pdf', 'report.pdf']);
  expect(readFileSync(join(at, 'report-2.pdf'), 'utf8')).toBe('first second');
  expect(readFileSync(join(at, 'report.pdf'), 'utf8')).toBe('mine');
  expect(readdirSync(parent)).toEqual(['files']);
  expect(result).toContain('saved as report-2.pdf');
});

test('a file that a served agent sends arrives in the folder of the agent that called it', async () => {
  const at = folder();
  const text = { name: 'notes.txt', text: 'as discussed' };
  const { url } = await world.serve(sender([{ name: 'q3.pdf', bytes: PDF, mediaType: 'application/pdf' }, text]));
  const result = await delegate(url, { arguments: { message: 'The report, please' }, folder: at });
  expect(readFileSync(join(at, 'q3.pdf'))).toEqual(PDF);
  expect(readFileSync(join(at, 'notes.txt'), 'utf8')).toBe('as discussed');
  expect(result).toContain('It is attached.');
});
