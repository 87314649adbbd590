// Large results: kept whole in memory or in private files, read again with `read_result`, judged as the tool they came from.
import { mkdtemp, readdir, readFile, stat, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type FunctionTool, PocketAgent, type PocketAgentOptions, tool } from 'pocket-agent';
import { ScriptedModel } from 'pocket-agent/testing';
import { beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { expectValidHistory, resultText, silent } from '../helpers.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'pocket-agent-'));
});

/** A million bytes on one line, with a needle in the middle. */
const haystack = `${'0123456789'.repeat(50_000)} the Nädel is here ${'abcdefghij'.repeat(50_000)}`;

const dump = (capability: 'read' | 'delete' = 'read', text = haystack): FunctionTool =>
  tool({ name: 'dump', description: 'Dumps all', capability, run: () => text });

type Options = Partial<PocketAgentOptions>;

function scripted(script: ConstructorParameters<typeof ScriptedModel>[0], options: Options = {}) {
  const model = new ScriptedModel(script);
  const agent = new PocketAgent({
    llmModel: model,
    tools: [dump()],
    maxToolResultBytes: 10_000,
    keepResults: { folder },
    logger: silent,
    ...options,
  });
  return { agent, model };
}

/** Answers that read the kept result: the id is known only when the prompt has it. */
function reads(args: Record<string, unknown>) {
  return ({ prompt }: { prompt: unknown }) => ({
    toolCalls: [{ name: 'read_result', arguments: { id: idIn(prompt), ...args } }],
  });
}

function idIn(value: unknown): string {
  return /result-[0-9a-f]{20}/.exec(JSON.stringify(value))?.[0] ?? 'none';
}

/** The model reads the beginning and the end that the history has. */
const partly = 'The whole result is no longer kept';
const callDump = { toolCalls: [{ name: 'dump' }] };

function toolNames(model: ScriptedModel, call: number): string[] {
  return (model.calls[call]?.tools ?? []).map(({ name }) => name);
}

test.each([
  ['in memory', () => true],
  ['in files', () => ({ folder })],
])('a result that is cut can be read page by page and searched: %s', async (_where, keepResults) => {
  const script = [
    callDump,
    reads({ from: 500_000, bytes: 40 }),
    reads({ search: 'NÄDEL' }),
    reads({ from: 2_000_000 }),
    reads({ search: 'not there' }),
    'Read.',
  ];
  const { agent, model } = scripted(script, { keepResults: keepResults() });
  expect(await agent.run('Dump it')).toBe('Read.');
  expect(toolNames(model, 0)).toEqual(['dump']);
  expect(toolNames(model, 1)).toEqual(['dump', 'read_result']);
  expect(resultText(agent, 0)).toMatch(/bytes left out here.*\[The whole result of 1000020 bytes is kept/s);
  expect(resultText(agent, 1)).toBe(
    '[Bytes 500000 to 500040 of 1000020; continue at 500040]\n the Nädel is here abcdefghijabcdefghij',
  );
  expect(resultText(agent, 2)).toMatch(/^at 500005: .*the Nädel is here abc/);
  expect(resultText(agent, 3)).toContain('there is nothing at 2000000');
  expect(resultText(agent, 4)).toContain('Not found');
  expectValidHistory(agent);
});

test('a search of a large result in memory leaves turns of the event loop to others', async () => {
  let turns = 0;
  let next: NodeJS.Immediate | undefined;
  const countTurns = () => {
    turns++;
    next = setImmediate(countTurns);
  };
  const { agent } = scripted([callDump, reads({ search: 'not there' }), 'Read.'], {
    tools: [dump('read', haystack.repeat(10))],
    keepResults: true,
    hooks: {
      preToolCall: (_context, { name }) => {
        if (name === 'read_result') countTurns();
      },
      postToolCall: () => clearImmediate(next),
    },
  });
  await agent.run('Dump it');
  expect(resultText(agent, 1)).toBe('[Not found in 10000200 bytes.]');
  expect(turns).toBeGreaterThan(50);
});

test('pages that follow each other contain every character once', async () => {
  const text = 'aé漢😀'.repeat(3_000);
  const pages: string[] = [];
  let from = 0;
  const next = ({ prompt }: { prompt: unknown }) => {
    const [, to, page] = /Bytes \d+ to (\d+) of \d+; [^\]]*\]\n(.*)$/s.exec(lastText(prompt)) ?? [];
    if (page !== undefined) pages.push(page);
    from = Number(to ?? 0);
    return from < Buffer.byteLength(text) ? reads({ from, bytes: 997 })({ prompt }) : 'All of it.';
  };
  const { agent } = scripted([callDump, ...Array.from({ length: 40 }, () => next)], { tools: [dump('read', text)] });
  await agent.run('Dump it');
  expect(pages.join('')).toBe(text);
});

function lastText(prompt: unknown): string {
  const [last] = (prompt as { content: { output?: { value?: string } }[] }[]).slice(-1);
  return last?.content[0]?.output?.value ?? '';
}

test('by default nothing is written to disk', async () => {
  vi.stubEnv('XDG_DATA_HOME', folder);
  onTestFinished(() => void vi.unstubAllEnvs());
  const model = new ScriptedModel([callDump, reads({ from: 500_000, bytes: 40 }), 'Read.']);
  const agent = new PocketAgent({ llmModel: model, tools: [dump()], maxToolResultBytes: 10_000, logger: silent });
  await agent.run('Dump it');
  expect(resultText(agent, 1)).toContain('the Nädel is here');
  expect(await readdir(folder)).toEqual([]);
});

test('results in memory: the oldest make room, and those of a closed agent are gone', async () => {
  const options = { tools: [dump('read', 'x'.repeat(100_000))], keepResults: { maxTotalBytes: 450_000 } };
  const { agent } = scripted(Array.from({ length: 5 }, () => [callDump, 'Dumped.']).flat(), options);
  for (let turn = 0; turn < 5; turn++) await agent.run('Dump it');
  const { messages } = agent;
  const ids = JSON.stringify(messages).match(/result-[0-9a-f]{20}/g) ?? [];
  const readBy = async (id: string | undefined) => {
    const call = { toolCalls: [{ name: 'read_result', arguments: { id, bytes: 10 } }] };
    const { agent: reader } = scripted([call, 'Read.'], { ...options, messages });
    await reader.run('Read it');
    return resultText(reader, 5);
  };
  expect(await readBy(ids[0])).toContain(partly);
  expect(await readBy(ids[4])).toContain('xxxxxxxxxx');
  await agent.close();
  expect(await readBy(ids[4])).toContain(partly);
});

test('results in memory do not make room for those of another agent with a lower limit', async () => {
  const tools = [dump('read', 'x'.repeat(100_000))];
  const { agent } = scripted([callDump, 'Dumped.', reads({ bytes: 10 }), 'Read.'], { tools, keepResults: true });
  await agent.run('Dump it');
  for (const limits of [{ maxTotalBytes: 450_000 }, { expiresAfterMs: 1e-9 }]) {
    const { agent: other } = scripted(Array.from({ length: 5 }, () => [callDump, 'Dumped.']).flat(), {
      tools,
      keepResults: limits,
    });
    for (let turn = 0; turn < 5; turn++) await other.run('Dump it');
  }
  await agent.run('Read it');
  expect(resultText(agent, 1)).toContain('xxxxxxxxxx');
});

test('results in memory expire', async () => {
  const { agent } = scripted([callDump, reads({ bytes: 10 }), 'Read.'], { keepResults: { expiresAfterMs: 1e-9 } });
  await agent.run('Dump it');
  expect(resultText(agent, 1)).toContain(partly);
});

test('the file is private', async () => {
  const { agent } = scripted([callDump, 'Dumped.']);
  await agent.run('Dump it');
  const [file = ''] = await readdir(folder);
  expect((await stat(join(folder, file))).mode & 0o077).toBe(0);
  expect(await readFile(join(folder, file), 'utf8')).toContain(haystack);
});

test('small results are not kept, and add no tool', async () => {
  const { agent, model } = scripted([callDump, 'Dumped.'], { tools: [dump('read', 'short')] });
  await agent.run('Dump it');
  expect(await readdir(folder)).toEqual([]);
  expect(toolNames(model, 1)).toEqual(['dump']);
});

test('keepResults: false cuts results as before', async () => {
  const { agent, model } = scripted([callDump, 'Dumped.'], { keepResults: false });
  await agent.run('Dump it');
  expect(resultText(agent)).not.toContain('read_result');
  expect(toolNames(model, 1)).toEqual(['dump']);
});

test('a run with a narrower profile cannot read the result of a tool that it may not call', async () => {
  const { agent, model } = scripted([callDump, 'Dumped.', reads({}), 'Not allowed.'], { tools: [dump('delete')] });
  await agent.run('Dump it');
  await agent.run('Read it', { profile: 'reader' });
  expect(toolNames(model, 2)).toEqual([]);
  expect(resultText(agent, 1)).toMatch(/may not be called here for "[a-z_]+": it can delete/);
});

test('a profile that allows the tool by name allows its results', async () => {
  const { agent, model } = scripted([callDump, reads({ bytes: 10 }), 'Read.'], {
    tools: [dump('delete')],
    access: { profile: { capabilities: [], allow: ['dump'] } },
  });
  await agent.run('Dump it');
  expect(toolNames(model, 1)).toEqual(['dump', 'read_result']);
  expect(resultText(agent, 1)).toContain('0123456789');
});

test.each(['dump', 'read_result'])('a profile that denies %s denies reading', async (denied) => {
  const { agent } = scripted([callDump, 'Dumped.', reads({}), 'Not allowed.']);
  await agent.run('Dump it');
  await agent.run('Read it', { profile: { capabilities: ['read'], deny: [denied] } });
  expect(resultText(agent, 1)).toContain('it is on the deny list');
});

test('reading needs an approval where the tool does, and is recorded with its capability', async () => {
  const approve = vi.fn(() => 'allow' as const);
  const { agent } = scripted([callDump, reads({ bytes: 10 }), 'Read.'], {
    tools: [dump('delete')],
    access: { confirm: 'destructive' },
    approve,
  });
  const capabilities: unknown[] = [];
  await agent.run('Dump it', {
    onEvent: (event) => void (event.type === 'audit' && capabilities.push(event.data.capability)),
  });
  expect(approve).toHaveBeenCalledTimes(2);
  expect(approve).toHaveBeenLastCalledWith(
    expect.objectContaining({ tool: 'dump', capability: 'delete', arguments: expect.objectContaining({ bytes: 10 }) }),
  );
  expect(capabilities).toEqual(['delete', 'delete']);
});

test('hooks see reading as a tool call', async () => {
  const { agent } = scripted([callDump, reads({}), 'Denied.'], {
    hooks: { preToolCall: (_context, { name }) => (name === 'read_result' ? { deny: 'no reading' } : undefined) },
  });
  await agent.run('Dump it');
  expect(resultText(agent, 1)).toContain('no reading');
});

test('what a hook removed from a result cannot be read', async () => {
  const { agent } = scripted([callDump, reads({}), 'Nothing.'], {
    hooks: {
      postToolCall: (_context, { name }, result) =>
        name === 'dump'
          ? {
              ...result,
              toolResultContent: [{ type: 'text', text: `secret removed ${idIn(result.toolResultContent)}` }],
            }
          : undefined,
    },
  });
  await agent.run('Dump it');
  expect(resultText(agent, 1)).toMatch(/is no longer kept.*\n.*\nsecret removed/);
  await expect.poll(() => readdir(folder)).toEqual([]);
});

test('a conversation that is continued can read results of the one before', async () => {
  const first = scripted([callDump, 'Dumped.']);
  await first.agent.run('Dump it');
  const messages = JSON.parse(JSON.stringify(first.agent.messages));
  const { agent, model } = scripted([reads({ bytes: 10 }), 'Read.'], { messages });
  await agent.run('Read it');
  expect(toolNames(model, 0)).toEqual(['dump', 'read_result']);
  expect(resultText(agent, 1)).toContain('0123456789');
});

test('the result of another conversation cannot be read, even with its id', async () => {
  const first = scripted([callDump, 'Dumped.']);
  await first.agent.run('Dump it');
  const id = idIn(first.agent.messages);
  const { agent } = scripted([
    { toolCalls: [{ name: 'dump', id: 'other-call' }] },
    { toolCalls: [{ name: 'read_result', arguments: { id } }] },
    { toolCalls: [{ name: 'read_result', arguments: { id: '../../etc/passwd' } }] },
    'Nothing.',
  ]);
  await agent.run(`Read ${id}`);
  expect(resultText(agent, 1)).toMatch(/is not available/);
  expect(resultText(agent, 2)).toMatch(/is not available/);
});

test('an id that a tool planted in its own result does not open the result of another conversation', async () => {
  const first = scripted([callDump, 'Dumped.']);
  await first.agent.run('Dump it');
  const id = idIn(first.agent.messages);
  const planted = tool({
    name: 'dump',
    description: 'Plants',
    capability: 'read',
    run: () => `see ${id} ${'x'.repeat(20_000)}`,
  });
  const { agent } = scripted(
    [
      { toolCalls: [{ name: 'dump', id: 'other-call' }] },
      { toolCalls: [{ name: 'read_result', arguments: { id } }] },
      'No.',
    ],
    { tools: [planted], messages: [] },
  );
  await agent.run('Read it');
  expect(resultText(agent, 1)).toContain(`see ${id}`);
  expect(resultText(agent, 1)).not.toContain('0123456789');
});

test('results expire', async () => {
  const { agent } = scripted([callDump, 'Dumped.', reads({}), 'Gone.', callDump, 'Dumped.']);
  await agent.run('Dump it');
  const [file = ''] = await readdir(folder);
  const old = new Date(Date.now() - 25 * 3_600_000);
  await utimes(join(folder, file), old, old);
  await agent.run('Read it');
  expect(resultText(agent, 1)).toContain(partly);
});

test('expired results of earlier programs are deleted, other files stay', async () => {
  const old = new Date(Date.now() - 25 * 3_600_000);
  for (const name of ['result-00000000000000000000.txt', 'notes.txt']) {
    await writeFile(join(folder, name), 'old');
    await utimes(join(folder, name), old, old);
  }
  const { agent } = scripted([callDump, 'Dumped.']);
  await agent.run('Dump it');
  const files = await readdir(folder);
  expect(files).toHaveLength(2);
  expect(files).toContain('notes.txt');
  expect(files).not.toContain('result-00000000000000000000.txt');
});

test('the oldest results make room for new ones', async () => {
  const text = 'x'.repeat(100_000);
  const keepResults = { folder, maxTotalBytes: 450_000 };
  const script = Array.from({ length: 8 }, () => [callDump, 'Dumped.']).flat();
  const { agent } = scripted(script, { tools: [dump('read', text)], keepResults });
  for (let turn = 0; turn < 8; turn++) await agent.run('Dump it');
  const sizes = await Promise.all((await readdir(folder)).map(async (name) => (await stat(join(folder, name))).size));
  expect(sizes).toHaveLength(4);
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThanOrEqual(450_000);
});

test('a result larger than a quarter of the limit is cut as before', async () => {
  const { agent } = scripted([callDump, 'Dumped.'], { keepResults: { folder, maxTotalBytes: 1_000_000 } });
  await agent.run('Dump it');
  expect(resultText(agent)).not.toContain('read_result');
});

test('a folder that cannot be written is reported once, and results are cut as before', async () => {
  const file = join(folder, 'file');
  await writeFile(file, '');
  const warn = vi.fn();
  const { agent } = scripted([callDump, callDump, 'Dumped.'], {
    keepResults: { folder: join(file, 'below') },
    logger: { ...silent, warn },
  });
  expect(await agent.run('Dump it')).toBe('Dumped.');
  expect(resultText(agent)).toContain('bytes left out here');
  expect(warn.mock.calls.filter(([text]) => String(text).includes('cannot be kept'))).toHaveLength(1);
});

test('a conversation that cannot keep results is reported once, and can be reset and closed', async () => {
  const lines: string[] = [];
  const logger = { ...silent, warn: (line: string) => void lines.push(line) };
  const { agent } = scripted([callDump, 'Dumped.', callDump, 'Again.'], { keepResults: true, logger });
  await agent.continueConversation({
    read: async () => ({ messages: [], replaces: true }),
    begin: async () => ({ messages: [], replaces: false }),
    append: async () => {},
    end: async () => {},
    results: () => {
      throw new Error('there is no table for them');
    },
  });
  await agent.run('Dump it');
  await agent.run('Again');
  agent.resetMessages();
  await agent.close();
  expect(lines).toEqual(['Large tool results cannot be kept, and are cut: there is no table for them']);
});

test('a tool of the program with the same name keeps it, and results are cut as before', async () => {
  const own = tool({ name: 'read_result', description: 'Own', run: () => 'own' });
  const { agent, model } = scripted([callDump, 'Dumped.'], { tools: [dump(), own] });
  await agent.run('Dump it');
  expect(toolNames(model, 1)).toEqual(['dump', 'read_result']);
  expect(resultText(agent)).not.toContain('read_result');
});

test('error results are kept too, without secrets', async () => {
  const failing = tool({
    name: 'dump',
    description: 'Fails',
    run: () => ({
      isError: true,
      content: [{ type: 'text', text: `password=hunter2hunter2 ${'x'.repeat(20_000)} the end` }],
    }),
  });
  const { agent } = scripted([callDump, reads({ bytes: 100 }), 'Read.'], { tools: [failing] });
  await agent.run('Dump it');
  expect(resultText(agent, 1)).toContain('xxx');
  expect(resultText(agent, 1)).not.toContain('hunter2hunter2');
});

test('results that compaction left out can be read again', async () => {
  const text = 'page '.repeat(1_500);
  const { agent, model } = scripted(
    [
      ...Array.from({ length: 6 }, (_, turn) => [
        { toolCalls: [{ name: 'dump', id: `dump-${turn}` }] },
        'Dumped.',
      ]).flat(),
      { toolCalls: [{ name: 'read_result', arguments: { id: 'dump-0', bytes: 20 } }] },
      'Read.',
    ],
    { tools: [dump('read', text)], compaction: { at: 6_000, keep: 3_000 } },
  );
  for (let turn = 0; turn < 7; turn++) await agent.run(`Turn ${turn}`);
  expect(JSON.stringify(model.calls.at(-1)?.prompt)).toContain('read_result with the id \\"dump-1\\" shows it');
  expect(resultText(agent, 6)).toBe('[Bytes 0 to 20 of 7500; continue at 20]\npage page page page ');
});
