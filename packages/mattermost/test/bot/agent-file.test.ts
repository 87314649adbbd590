// The agent file of the bot is that of the command pocket-agent.
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { readAgentOptions } from '../../src/bot/agent-file.ts';

async function read(content: string | object, model?: string) {
  const folder = await mkdtemp(join(tmpdir(), 'bot-agent-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const file = join(folder, 'agent.json');
  await writeFile(file, typeof content === 'string' ? content : JSON.stringify(content));
  await mkdir(join(folder, 'own'));
  return { folder, file, options: readAgentOptions({ file, model, defaultCapability: undefined }) };
}

test('every part of the file becomes an option of the agent; paths are relative to the file', async () => {
  const content = {
    llmModel: 'demo',
    agentConfig: { systemPrompt: 'You greet.' },
    mcpServers: { one: { command: './server' } },
    tools: ['./own', 'notes'],
    skills: ['./skills'],
    exposure: 'deferred',
    traceContent: true,
    memory: false,
    limits: { maxSteps: 3 },
    access: { profile: 'reader', auditFile: 'audit.jsonl' },
  };
  const { folder, options } = await read(content);
  expect(await options).toMatchObject({
    agentConfig: { llmModel: 'demo', name: 'Mattermost bot', systemPrompt: 'You greet.' },
    mcpConfig: { mcpServers: { one: { command: join(folder, 'server'), cwd: folder } } },
    tools: { length: 2 },
    skills: [join(folder, 'skills')],
    exposure: 'deferred',
    traceContent: true,
    memory: false,
    limits: { maxSteps: 3 },
    access: { profile: 'reader', auditFile: join(folder, 'audit.jsonl') },
  });
});

test('comments are allowed, and --model wins', async () => {
  const { options } = await read('{ "llmModel": "openai/gpt-5", // ours\n }', 'demo');
  expect((await options).agentConfig.llmModel).toBe('demo');
});

test.each([
  [{ llmModel: 'demo', limts: {} }, 'has no option "limts". Did you mean "limits"?'],
  [{ llmModel: 'demo', limits: { maxStep: 3 } }, 'agent.json: limits has no option "maxStep"'],
  ['{ "llmModel": "demo"\n "name": "x" }', 'agent.json:2:2: invalid JSON: found a string; expected "," or "}"'],
  [{}, 'No model is set: use --model, or llmModel in the file of --agent.'],
])('a mistake is reported: %j', async (content, message) => {
  const { options } = await read(content);
  await expect(options).rejects.toMatchObject({ code: 'CONFIG_INVALID', message: expect.stringContaining(message) });
});
