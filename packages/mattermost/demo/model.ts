// The model of the demo: a few rules in place of an LLM.
import { type ScriptedAnswer, ScriptedModel } from 'pocket-agent/testing';

const MAX_ANSWERS = 50;

type Prompt = ScriptedModel['calls'][number]['prompt'];

export function ruleModel(): ScriptedModel {
  return new ScriptedModel(
    Array.from(
      { length: MAX_ANSWERS },
      () =>
        ({ prompt }) =>
          reply(prompt),
    ),
  );
}

function reply(prompt: Prompt): ScriptedAnswer {
  const last = prompt.at(-1);
  const content = last?.role === 'system' ? [] : (last?.content ?? []);
  for (const part of content) {
    if (part.type !== 'tool-result') continue;
    const result = part.output.type === 'json' ? JSON.stringify(part.output.value) : JSON.stringify(part.output);
    return replyToTool(part.toolName, result.replaceAll('\\"', '"'));
  }
  const asked = content.map((part) => (part.type === 'text' ? part.text : '')).join('\n');
  if (asked.includes('miss')) return call('get_digest', { since: yesterday(), max_channels: 5 });
  if (asked.includes('announce')) return call('resolve', { reference: '~announcements' });
  if (asked.includes('ERROR')) {
    return countErrors(asked.split('\n').filter((line) => line.includes('ERROR')));
  }
  return { text: 'The tests of 2.4 passed at 9:12. Ask me to announce it.' };
}

function replyToTool(tool: string, result: string): ScriptedAnswer {
  if (tool === 'resolve') {
    const [, channel_id] = /"channel_id":"(\w{26})"/.exec(result) ?? [];
    return call('post_message', {
      channel_id,
      message: 'Version 2.4 is out. Thanks, everyone!',
      priority: 'important',
    });
  }
  if (tool === 'post_message') return { text: 'I posted it in ~announcements.' };
  const [, blocker = ''] = /"message":"([^"]*blocks[^"]*)"/.exec(result) ?? [];
  return { text: `One thing needs you: "${blocker}" The other channels can wait.` };
}

function call(name: string, args: Record<string, unknown>): ScriptedAnswer {
  return { toolCalls: [{ name, arguments: args }] };
}

/** Answers with a file, as models that generate files do. */
function countErrors(lines: readonly string[]): ScriptedAnswer {
  const message = lines[0]?.replace(/^.*ERROR /, '') ?? '';
  const rows = lines.map((line) => line.replace(/^(\S+) ERROR (.*)$/, '$1,"$2"'));
  const data = Buffer.from(`time,error\n${rows.join('\n')}\n`).toString('base64');
  return {
    content: [
      { type: 'text', text: `${lines.length} errors, all of them "${message}". Here is a table.` },
      { type: 'file', mediaType: 'text/csv', data: { type: 'data', data } },
    ],
  };
}

export function yesterday(): string {
  return new Date(Date.now() - 86_400_000).toISOString();
}
