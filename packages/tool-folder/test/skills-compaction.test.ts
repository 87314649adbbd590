// Skills in long conversations: what compaction keeps of the instructions that load_skill returned.
import type { LanguageModelV4Content } from '@ai-sdk/provider';
import { loadToolFolder, skills } from '@pocket-agent/tool-folder';
import { type FunctionTool, PocketAgent, type PocketAgentOptions, tool } from 'pocket-agent';
import { expect, test } from 'vitest';
import { StrictModel } from '../../pocket-agent/test/fixtures/strict-model.ts';
import { expectValidHistory, silent } from '../../pocket-agent/test/helpers.ts';
import { writeFiles } from './files.ts';

const RULE = 'Begin every line with a verb.';
const body = `${'Follow the steps in order. '.repeat(60)}${RULE}`;
const folder = () => writeFiles({ 'notes/SKILL.md': `---\nname: notes\ndescription: Writes notes\n---\n${body}\n` });

const readPage: FunctionTool = tool({
  name: 'read_page',
  description: 'Reads a page',
  run: () => 'page '.repeat(1_200),
});

let calls = 0;
const call = (toolName: string, input: object): LanguageModelV4Content[] => [
  { type: 'tool-call', toolCallId: `call-${++calls}`, toolName, input: JSON.stringify(input) },
];

/** Loads the skill, then reads a page in each step until it has read `pages`. */
function agentWith(pages: number, options: Partial<PocketAgentOptions>) {
  let steps = 0;
  const model = new StrictModel({
    answer: () => {
      steps++;
      if (steps === 1) return call('load_skill', { skill: 'notes' });
      return steps <= pages + 1 ? call('read_page', {}) : 'Done.';
    },
  });
  const agent = new PocketAgent({
    llmModel: model,
    logger: silent,
    ...options,
    tools: [readPage, ...(options.tools ?? [])],
  });
  const last = () => JSON.stringify(model.prompts.at(-1));
  return { agent, model, last };
}

const sources: [string, () => Partial<PocketAgentOptions>][] = [
  ['the option skills', () => ({ skills: [folder()] })],
  ['skills()', () => ({ tools: [skills(folder(), { logger: silent })] })],
  ['a tool folder', () => ({ tools: [loadToolFolder(folder(), { logger: silent })] })],
  ['several sources', () => ({ tools: [loadToolFolder(folder(), { logger: silent })], skills: [folder()] })],
  ['an agent that keeps no results', () => ({ skills: [folder()], keepResults: false })],
];

test.each(sources)(
  'instructions of a skill stay in the prompt when old results are left out: %s',
  async (_what, options) => {
    const { agent, model, last } = agentWith(8, { ...options(), compaction: { at: 9_000, keep: 3_500 } });
    await agent.run('Write notes on these pages.');
    expect(model.summaryPrompts).toEqual([]);
    expect(last()).toMatch(/Result of 6000 bytes left out/);
    expect(last()).toContain(RULE);
    expectValidHistory(agent);
    await agent.close();
  },
);

test('an agent that continues with a saved compaction keeps the instructions, too', async () => {
  const { agent } = agentWith(8, { skills: [folder()], compaction: { at: 9_000, keep: 3_500 } });
  await agent.run('Write notes on these pages.');
  const { messages, compacted } = JSON.parse(JSON.stringify({ messages: agent.messages, compacted: agent.compacted }));
  expect(compacted.instructions).toHaveLength(1);
  const model = new StrictModel({ answer: () => 'Done.' });
  const later = new PocketAgent({ llmModel: model, messages, compacted, logger: silent, compaction: { at: 9_000 } });
  await later.run('Go on.');
  const prompt = JSON.stringify(model.prompts[0]);
  expect(prompt).toMatch(/Result of 6000 bytes left out/);
  expect(prompt).toContain(RULE);
});

test('after a summary the model is told how to load the skill again, and does', async () => {
  let isLoadedAgain = false;
  let steps = 0;
  const model = new StrictModel({
    summary: () => 'Eight pages were read.',
    answer: (prompt) => {
      steps++;
      if (steps === 1) return call('load_skill', { skill: 'notes' });
      const again = /call again: load_skill with \{"skill":"notes"\}/.test(JSON.stringify(prompt).replaceAll('\\', ''));
      if (again && !isLoadedAgain) {
        isLoadedAgain = true;
        return call('load_skill', { skill: 'notes' });
      }
      return isLoadedAgain ? 'Done.' : call('read_page', {});
    },
  });
  const agent = new PocketAgent({
    llmModel: model,
    tools: [readPage],
    skills: [folder()],
    logger: silent,
    limits: { maxSteps: 30 },
    compaction: { at: 4_000, keep: 1_000 },
  });
  expect(await agent.run('Write notes on these pages.')).toBe('Done.');
  expect(model.summaryPrompts).not.toEqual([]);
  expect(JSON.stringify(model.prompts.at(-1))).toContain(RULE);
  expectValidHistory(agent);
  await agent.close();
});
