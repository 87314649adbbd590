// Conversations in the form of OpenAI and LiteLLM: converted into a history and back without loss.
import { fromOpenAiMessages, type Message, type OpenAiMessage, toOpenAiMessages } from 'pocket-agent';
import { expect, test } from 'vitest';
import { add, expectValidHistory, scriptedAgent } from '../helpers.ts';

const PNG = 'data:image/png;base64,iVBORw0KGgo=';
const call = (id: string, args: string) => ({ id, type: 'function', function: { name: 'add', arguments: args } });
const text = (value: string) => ({ type: 'text', text: value });

const conversations: Record<string, OpenAiMessage[]> = {
  'strings and lists of parts': [
    { role: 'user', content: 'Hello' },
    { role: 'assistant', content: 'Hi' },
    { role: 'user', content: [text('one'), text('two')] },
    { role: 'assistant', content: [text('a'), text('b')] },
    { role: 'user', content: '' },
    { role: 'assistant', content: '' },
  ],
  'images between texts, by URL and with detail': [
    {
      role: 'user',
      content: [
        { type: 'image_url', image_url: { url: PNG } },
        text('before'),
        { type: 'image_url', image_url: { url: 'https://example.com/a.png', detail: 'low' } },
        text('after'),
      ],
    },
  ],
  'files and audio': [
    {
      role: 'user',
      content: [
        { type: 'file', file: { file_data: 'data:application/pdf;base64,JVBERg==', filename: 'a.pdf' } },
        { type: 'file', file: { file_id: 'file-1' } },
        { type: 'input_audio', input_audio: { data: 'SUQz', format: 'mp3' } },
        { type: 'input_audio', input_audio: { data: 'UklG', format: 'wav' } },
      ],
    },
  ],
  'tool calls with text, several at once, and arguments that are not JSON': [
    { role: 'user', content: 'Add' },
    { role: 'assistant', content: 'Adding.', tool_calls: [call('c1', '{"a":1,"b":2}'), call('c2', '{"a": oops')] },
    { role: 'tool', tool_call_id: 'c1', content: '3' },
    { role: 'tool', tool_call_id: 'c2', content: 'The arguments are not JSON' },
    { role: 'assistant', content: null, tool_calls: [call('c3', '{}')] },
    { role: 'tool', tool_call_id: 'c3', content: [text('a picture'), { type: 'image_url', image_url: { url: PNG } }] },
    { role: 'assistant', content: 'Done.' },
  ],
  'names and refusals': [
    { role: 'user', name: 'ann', content: 'Who am I?' },
    { role: 'assistant', name: 'helper', content: 'Ann.' },
    { role: 'user', content: 'Tell me a secret' },
    { role: 'assistant', content: null, refusal: 'I cannot do that.' },
  ],
  'reasoning of LiteLLM': [
    { role: 'assistant', content: 'a', reasoning_content: 'thinking' },
    {
      role: 'assistant',
      content: 'b',
      reasoning_content: 'one\n',
      thinking_blocks: [
        { type: 'thinking', thinking: 'one', signature: 'sig' },
        { type: 'redacted_thinking', data: 'sealed' },
      ],
    },
  ],
};

test.each(Object.entries(conversations))('%s come back as they were', (_name, conversation) => {
  const messages = fromOpenAiMessages(conversation);
  expect(toOpenAiMessages(messages)).toEqual(conversation);
  expect(fromOpenAiMessages(toOpenAiMessages(messages))).toEqual(messages);
  expect(JSON.parse(JSON.stringify(messages))).toEqual(messages);
});

test('an agent continues each of these conversations', async () => {
  for (const conversation of Object.values(conversations)) {
    const messages = fromOpenAiMessages(conversation);
    const { agent } = scriptedAgent(['ok'], { agentConfig: { messages, allowImages: true }, tools: [add] });
    expect(agent.messages).toEqual(messages);
    await agent.run('Go on');
    expectValidHistory(agent);
  }
});

test('a conversation of an agent becomes one that OpenAI accepts', async () => {
  const calls = [
    { name: 'add', arguments: { a: 1, b: 2 }, id: 'c1' },
    { name: 'add', arguments: { a: 'x' }, id: 'c2' },
  ];
  const { agent } = scriptedAgent([{ toolCalls: calls }, 'It is 3.'], { tools: [add] });
  await agent.run('1 + 2?');
  const converted = toOpenAiMessages(agent.messages, { systemPrompt: 'Be brief.' });
  expect(converted).toMatchObject([
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: '1 + 2?' },
    { role: 'assistant', content: null, tool_calls: [call('c1', '{"a":1,"b":2}'), call('c2', '{"a":"x"}')] },
    { role: 'tool', tool_call_id: 'c1', content: '3' },
    { role: 'tool', tool_call_id: 'c2', content: expect.stringContaining('a') },
    { role: 'assistant', content: 'It is 3.' },
  ]);
});

test('results in other forms become text, and calls that a provider ran are left out', () => {
  const result = (output: object) => ({ type: 'tool-result', toolCallId: 'c', toolName: 't', output });
  const messages = [
    {
      role: 'assistant',
      content: [
        { type: 'tool-call', toolCallId: 's', toolName: 'web_search', input: {}, providerExecuted: true },
        { ...result({ type: 'json', value: [] }), toolCallId: 's' },
        { type: 'text', text: 'Found.' },
      ],
    },
    {
      role: 'tool',
      content: [
        result({ type: 'json', value: { sum: 3 } }),
        result({ type: 'error-text', value: 'failed' }),
        result({ type: 'execution-denied' }),
      ],
    },
  ] as unknown as Message[];
  expect(toOpenAiMessages(messages)).toEqual([
    { role: 'assistant', content: 'Found.' },
    { role: 'tool', tool_call_id: 'c', content: '{"sum":3}' },
    { role: 'tool', tool_call_id: 'c', content: 'failed' },
    { role: 'tool', tool_call_id: 'c', content: 'The call was denied.' },
  ]);
});

const assistant = (fields: object) => [{ role: 'assistant', ...fields }];
test.each<[unknown, string]>([
  ['x', 'A conversation must be a list of messages.'],
  [[null], 'Message 1 needs a role'],
  [[{ role: 'user', content: [null] }], 'a part of type undefined cannot be converted'],
  [assistant({ tool_calls: 'x' }), 'Message 1: tool_calls must be a list.'],
  [assistant({ tool_calls: [null] }), 'Message 1: a tool call needs id, function.name and function.arguments.'],
  [assistant({ tool_calls: [{ id: 'a', function: 'x' }] }), 'Message 1: a tool call needs id'],
  [assistant({ function_call: { name: 'x', arguments: '{}' } }), 'has a function_call, the form before tool_calls'],
])('what is no conversation of OpenAI is refused: %j', (messages, text) => {
  const convert = () => fromOpenAiMessages(messages as OpenAiMessage[]);
  expect(convert).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID', message: expect.stringContaining(text) }));
});

test.each<[unknown, string]>([
  [null, 'A conversation must be a list of messages.'],
  [[null], 'A history message needs a role'],
  [[{ role: 'user' }], 'a list of whole content parts'],
  [[{ role: 'user', content: [null] }], 'a list of whole content parts'],
])('what is no history is refused: %j', (messages, text) => {
  const convert = () => toOpenAiMessages(messages as Message[]);
  expect(convert).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID', message: expect.stringContaining(text) }));
});
