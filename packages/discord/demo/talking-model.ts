// A model for the demo that answers by a few rules, word by word.
import type { LanguageModelV4CallOptions, LanguageModelV4StreamPart } from '@ai-sdk/provider';
import type { LanguageModel } from 'pocket-agent';

interface Said {
  text: string;
  call?: { name: string; args: object };
}

export function talkingModel(wordMs: number): LanguageModel {
  let calls = 0;
  return {
    specificationVersion: 'v4',
    provider: 'demo',
    modelId: 'talking',
    supportedUrls: {},
    async doGenerate(options) {
      const { text } = reply(options);
      return { content: [{ type: 'text', text }], finishReason: { unified: 'stop', raw: 'stop' }, usage, warnings: [] };
    },
    async doStream(options) {
      const { text, call } = reply(options);
      const tool = call && { toolCallId: `call-${++calls}`, toolName: call.name, input: JSON.stringify(call.args) };
      return { stream: ReadableStream.from(spoken(text, tool, wordMs)) as ReadableStream<LanguageModelV4StreamPart> };
    },
  };
}

const usage = {
  inputTokens: { total: 200, noCache: 200, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 60, text: 60, reasoning: 0 },
};

async function* spoken(
  text: string,
  tool: { toolCallId: string; toolName: string; input: string } | undefined,
  wordMs: number,
): AsyncGenerator<LanguageModelV4StreamPart> {
  yield { type: 'stream-start', warnings: [] };
  yield { type: 'text-start', id: '1' };
  for (const delta of text.match(/\S+\s*/g) ?? []) {
    await new Promise((resolve) => setTimeout(resolve, wordMs));
    yield { type: 'text-delta', id: '1', delta };
  }
  yield { type: 'text-end', id: '1' };
  if (tool) yield { type: 'tool-call', ...tool };
  yield { type: 'finish', finishReason: { unified: tool ? 'tool-calls' : 'stop', raw: 'stop' }, usage };
}

function reply({ prompt, tools = [] }: LanguageModelV4CallOptions): Said {
  const last = JSON.stringify(prompt.at(-1)?.content ?? '');
  const has = (name: string) => tools.some((tool) => tool.name === name);
  if (prompt.at(-1)?.role === 'tool') {
    const time = /\\"time\\":\\"([\d:]+)/.exec(last)?.[1];
    if (time) return { text: `In Tokyo it is ${time}.` };
    return { text: last.includes('Sent to') ? 'You have mail.' : 'Then I will not.' };
  }
  if (last.includes('time') && has('fetch_date_time')) {
    return { text: 'Let me look.', call: { name: 'fetch_date_time', args: { timezone: 'Asia/Tokyo' } } };
  }
  if (last.includes('time')) return { text: 'Without tools I cannot know the time.' };
  if (last.includes('remind')) {
    return { text: '', call: { name: 'send_user_dm_message', args: { message: 'Tea at five!' } } };
  }
  if (last.includes('code')) {
    return { text: 'Here it is:\n```ts\nconst answer = 6 * 7;\nconsole.log(answer);\n```\nThat prints 42.' };
  }
  if (last.includes('Explain') || last.includes('kind=\\"message\\"'))
    return { text: 'It says that the meeting is at noon.' };
  return { text: 'Hello! I am the bot of this demo. I answer word by word, so that you can watch my message grow.' };
}
