// Answers and files of several megabytes, which no single event of a stream may have.
import { PocketAgent, tool } from 'pocket-agent';
import { ScriptedModel } from 'pocket-agent/testing';
import { afterEach, describe, expect, test } from 'vitest';
import { silent } from '../../pocket-agent/test/helpers.ts';
import { bindings, clientOf, collect, message, send, World } from './fixtures/world.ts';

const world = new World();
afterEach(() => world.close());

describe('an answer of 5 MB reaches clients that accept lines of at most 4 MiB', () => {
  const answer = '😀äx'.repeat(1_250_000);
  const model = () => world.agent([answer], { limits: { timeoutMs: 600_000 } });

  test.each(bindings)('when it arrives while they watch (%s)', async (binding) => {
    const client = await clientOf((await world.serve(model())).url, { binding });
    const seen = await collect(client.sendMessageStream(message('go')));
    expect(seen.at(-1)?.statusUpdate?.status.state).toBe('TASK_STATE_COMPLETED');
    const texts = seen.flatMap(({ artifactUpdate: update }) => (update ? [update] : []));
    const whole = texts.reduce(
      (text, { artifact, append }) => (append ? text : '') + (artifact.parts[0]?.text ?? ''),
      '',
    );
    expect(whole === answer).toBe(true);
  });

  test('when it was there before they watch', async () => {
    const started = Promise.withResolvers<void>();
    const finished = Promise.withResolvers<string>();
    const run = () => {
      started.resolve();
      return finished.promise;
    };
    const slow = tool({ name: 'slow', description: 'Lasts', annotations: { readOnlyHint: true }, run });
    const agent = world.agent([{ text: answer, toolCalls: [{ name: 'slow' }] }, 'done'], { tools: [slow] });
    const client = await clientOf((await world.serve(agent)).url);
    const { id } = await send(client, message('go', {}, { returnImmediately: true }));
    await started.promise;
    const watching = client.resubscribeTask({ id, tenant: '' });
    const first = await watching.next();
    expect(first.value?.payload?.$case).toBe('task');
    finished.resolve('ok');
    const texts = (await collect(watching)).map(({ artifactUpdate }) => artifactUpdate?.artifact.parts[0]?.text ?? '');
    expect(texts.join('')).toBe(`${answer}done`);
  });
});

describe('a file that is too large for an event', () => {
  class Painter extends PocketAgent<object> {
    override async run() {
      const image = { type: 'image' as const, mimeType: 'image/png', data: 'A'.repeat(6_000_000) };
      return { content: [image], structuredContent: { rows: ['x'.repeat(5_000_000)] } };
    }
  }

  const painter = () =>
    world.keep(new Painter({ agentConfig: { llmModel: new ScriptedModel([]), name: 'Painter' }, logger: silent }));

  test.each(bindings)('is named in the stream and can be read with the task (%s)', async (binding) => {
    const client = await clientOf((await world.serve(painter())).url, { binding });
    const seen = await collect(client.sendMessageStream(message('go')));
    const texts = seen.flatMap(({ artifactUpdate }) => artifactUpdate?.artifact.parts.map(({ text }) => text) ?? []);
    expect(texts).toEqual([
      '(image/png, 6000000 bytes: too large for a stream; get the task to read it)',
      expect.stringContaining('application/json, 50000'),
    ]);
    expect(seen.at(-1)?.statusUpdate?.status.state).toBe('TASK_STATE_COMPLETED');
    const id = seen.at(-1)?.statusUpdate?.taskId ?? '';
    const task = await client.getTask({ id, tenant: '' });
    expect(task.artifacts[0]?.parts.map(({ content }) => content?.$case)).toEqual(['raw', 'data']);
  });

  test.each(bindings)('is left out of the history in a stream (%s)', async (binding) => {
    const { url } = await world.serve(world.agent(['ok']), { maxBodyBytes: 8_000_000 });
    const client = await clientOf(url, { binding });
    const data = { rows: 'x'.repeat(5_000_000) };
    const seen = await collect(client.sendMessageStream(message([{ data, mediaType: 'application/json' }])));
    expect(seen.at(-1)?.statusUpdate?.status.state).toBe('TASK_STATE_COMPLETED');
  });
});
