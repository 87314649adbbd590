// A server whose agent has durable runs in a database: it may be stopped, and started again with the same database.
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openRuns, type Runs } from '@pocket-agent/runs';
import type { WebHandler } from '@pocket-agent/web';
import { PocketAgent, type PocketAgentOptions, tool } from 'pocket-agent';
import { type ScriptedAnswer, ScriptedModel } from 'pocket-agent/testing';
import { onTestFinished } from 'vitest';
import { silent } from '../../pocket-agent/test/helpers.ts';
import type { DurableChatOptions, WebRuns } from '../src/durable/durable-options.ts';

export type Prompt = { prompt: readonly { role: string }[] };
export type Script = readonly (string | ScriptedAnswer | ((asked: Prompt) => string))[];

/** A model whose answers depend on the number of answers in the history, so that any process can continue. */
export function modelOf(script: Script): ScriptedModel {
  const next = (asked: Prompt) => {
    const answer = script[asked.prompt.filter(({ role }) => role === 'assistant').length] ?? 'no more answers';
    return typeof answer === 'function' ? answer(asked) : answer;
  };
  return new ScriptedModel(Array.from({ length: 100 }, () => next));
}

export const newUrl = () => `sqlite:${join(mkdtempSync(join(tmpdir(), 'web-runs-')), 'runs.db')}`;

export interface Server {
  handler: WebHandler;
  runs: Runs;
  stop(): Promise<void>;
}

/** A process of a server; `serve` makes its handler. */
export async function startServer(
  url: string,
  script: Script,
  options: Partial<PocketAgentOptions>,
  serve: (agent: PocketAgent, durable: DurableChatOptions) => WebHandler,
): Promise<Server> {
  const make = () => new PocketAgent({ name: 'Helper', llmModel: modelOf(script), logger: silent, ...options });
  const runs = await openRuns({ url, agents: { helper: make }, logger: silent });
  const agent = make();
  let stopped: Promise<void> | undefined;
  const stop = () => {
    stopped ??= agent.close().then(() => runs.close({ graceMs: 0 }));
    return stopped;
  };
  onTestFinished(stop);
  return { handler: serve(agent, { runs, agent: 'helper' }), runs, stop };
}

/** The same runs with other methods. */
export function runsWith(runs: WebRuns, own: Partial<WebRuns>): WebRuns {
  return {
    start: (...args) => runs.start(...args),
    get: (...args) => runs.get(...args),
    list: (...args) => runs.list(...args),
    events: (...args) => runs.events(...args),
    questions: (...args) => runs.questions(...args),
    answer: (...args) => runs.answer(...args),
    cancel: (...args) => runs.cancel(...args),
    ...own,
  };
}

export function eraser() {
  const erased: unknown[] = [];
  const erase = tool({ name: 'erase', description: 'Erases', run: ({ id }) => `erased ${erased.push(id)}` });
  const script: Script = [{ toolCalls: [{ name: 'erase', arguments: { id: 7 } }] }, 'It is gone.'];
  return { erased, script, options: { tools: [erase], access: { confirm: 'destructive' as const } } };
}
