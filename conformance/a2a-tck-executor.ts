// The agent for the official A2A compatibility kit: what it does in each scenario.
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { StreamResponse } from '@a2a-js/sdk';
import {
  AgentEvent,
  type AgentExecutionEvent,
  type AgentExecutor,
  type ExecutionEventBus,
  type RequestContext,
} from '@a2a-js/sdk/server';

type Json = Record<string, unknown>;

const FILE = { raw: Buffer.from('tck').toString('base64'), mediaType: 'text/plain', filename: 'output.txt' };
const FILE_URL = { url: 'https://example.com/output.txt', mediaType: 'text/plain', filename: 'output.txt' };

/** What the agent can do in a turn. The task exists when the turn starts. */
interface Turn {
  work(): void;
  artifact(part: Json, chunk?: { append: boolean; lastChunk: boolean }): void;
  end(state: 'COMPLETED' | 'REJECTED' | 'INPUT_REQUIRED', words?: string): void;
  wait(times: number): Promise<void>;
}

function streamed(text: string) {
  return (turn: Turn) => {
    turn.work();
    turn.artifact({ text });
    turn.end('COMPLETED');
  };
}

function finished(part: Json) {
  return ({ artifact, end }: Turn) => {
    artifact(part);
    end('COMPLETED');
  };
}

function delayed(times: number, words?: string) {
  return async ({ work, wait, end }: Turn) => {
    work();
    await wait(times);
    end('COMPLETED', words);
  };
}

/** By prefix of the message id. The longest matching prefix is used. */
const scenarios: Record<string, (turn: Turn) => void | Promise<void>> = {
  'tck-complete-task': ({ end }) => end('COMPLETED', 'Hello from TCK'),
  'tck-delayed-complete': delayed(1, 'Done after delay'),
  'tck-artifact-text': finished({ text: 'Generated text content' }),
  'tck-artifact-file': finished(FILE),
  'tck-artifact-file-url': finished(FILE_URL),
  'tck-artifact-data': finished({ data: { key: 'value', count: 42 }, mediaType: 'application/json' }),
  'tck-input-required': ({ end }) => end('INPUT_REQUIRED'),
  'tck-reject-task': ({ end }) => end('REJECTED', 'rejected'),
  'tck-stream-001': streamed('Stream hello from TCK'),
  'tck-stream-002': ({ end }) => end('COMPLETED'),
  'tck-stream-003': streamed('Stream task lifecycle'),
  'tck-stream-ordering-001': streamed('Ordered output'),
  'tck-stream-artifact-text': streamed('Streamed text content'),
  'tck-stream-artifact-file': (turn) => {
    turn.work();
    finished(FILE)(turn);
  },
  'tck-stream-artifact-chunked': ({ work, artifact, end }) => {
    work();
    artifact({ text: 'chunk-1 ' }, { append: false, lastChunk: false });
    artifact({ text: 'chunk-2' }, { append: true, lastChunk: true });
    end('COMPLETED');
  },
  'test-resubscribe-message-id': delayed(2),
};

export const scenarioPrefixes: readonly string[] = [...Object.keys(scenarios), 'tck-message-response'];

export function tckExecutor(waitMs: number): AgentExecutor {
  const canceled = new Set<string>();
  return {
    async execute(context, bus) {
      const { userMessage, taskId, contextId, task } = context;
      const { messageId } = userMessage;
      if (messageId.startsWith('tck-message-response')) {
        publish(bus, { message: messageOf('Direct message response', context) });
        return bus.finished();
      }
      if (!task) publish(bus, { task: { id: taskId, contextId, status: { state: 'TASK_STATE_SUBMITTED' } } });
      const turn: Turn = {
        work: () => publish(bus, statusOf('WORKING', context)),
        artifact: (part, chunk = { append: false, lastChunk: true }) =>
          publish(bus, {
            artifactUpdate: { taskId, contextId, artifact: { artifactId: 'artifact', parts: [part] }, ...chunk },
          }),
        end: (state, words) => {
          if (!canceled.delete(taskId)) publish(bus, statusOf(state, context, words));
        },
        wait: (times) => delay(times * waitMs),
      };
      const matching = Object.keys(scenarios).filter((prefix) => messageId.startsWith(prefix));
      const longest = matching.sort((one, other) => other.length - one.length)[0] ?? '';
      const scenario = scenarios[longest] ?? (({ end }) => end('COMPLETED', `There is no scenario for ${messageId}`));
      await scenario(turn);
      bus.finished();
    },
    async cancelTask(taskId, bus) {
      canceled.add(taskId);
      publish(bus, { statusUpdate: { taskId, contextId: '', status: { state: 'TASK_STATE_CANCELED' } } });
    },
  };
}

function statusOf(state: string, context: RequestContext, words?: string): Json {
  const { taskId, contextId } = context;
  const status = {
    state: `TASK_STATE_${state}`,
    timestamp: new Date().toISOString(),
    ...(words ? { message: messageOf(words, context) } : {}),
  };
  return { statusUpdate: { taskId, contextId, status } };
}

function messageOf(text: string, { taskId, contextId }: RequestContext): Json {
  return { messageId: randomUUID(), role: 'ROLE_AGENT', parts: [{ text }], taskId, contextId };
}

function publish(bus: ExecutionEventBus, update: Json): void {
  bus.publish(eventOf(update));
}

function eventOf(update: Json): AgentExecutionEvent {
  const { payload } = StreamResponse.fromJSON(update);
  switch (payload?.$case) {
    case 'task':
      return AgentEvent.task(payload.value);
    case 'message':
      return AgentEvent.message(payload.value);
    case 'statusUpdate':
      return AgentEvent.statusUpdate(payload.value);
    case 'artifactUpdate':
      return AgentEvent.artifactUpdate(payload.value);
    default:
      throw new Error('An update must be a task, a message, a status or an artifact.');
  }
}
