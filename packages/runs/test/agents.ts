// Agents for tests and for the programs that they start. The model answers by the history, so that it goes on with a script in any process.
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PocketAgent, type PocketAgentOptions, tool } from 'pocket-agent';
import { type ScriptedAnswer, ScriptedModel } from 'pocket-agent/testing';
import type { RunEvent, Runs } from '../src/index.ts';

export const silent = { debug() {}, info() {}, warn() {}, error() {} };
export const newFile = () => join(mkdtempSync(join(tmpdir(), 'runs-')), 'runs.db');

type Script = readonly (string | ScriptedAnswer)[];

export function modelOf(script: Script): ScriptedModel {
  const next = ({ prompt }: { prompt: readonly { role: string }[] }) => {
    const answer = script[prompt.filter(({ role }) => role === 'assistant').length];
    if (answer === undefined) throw new Error('The script has no more answers.');
    return answer;
  };
  return new ScriptedModel(Array.from({ length: 5_000 }, () => next));
}

export function agentOf(script: Script, options: Partial<PocketAgentOptions> = {}): PocketAgent {
  return new PocketAgent({ llmModel: modelOf(script), logger: silent, ...options });
}

/** Its first answer calls `refund`, which asks for approval; its second one is the end. */
export function refunds(options: Partial<PocketAgentOptions> = {}, effects: unknown[] = []): PocketAgent {
  const refund = tool({
    name: 'refund',
    description: 'Refunds an order',
    run: (args: object) => {
      effects.push(args);
      return 'refunded';
    },
  });
  const script = [{ toolCalls: [{ name: 'refund', arguments: { order: 17 } }] }, 'Order 17 is refunded.'];
  return agentOf(script, { tools: [refund], access: { confirm: 'write' }, ...options });
}

export async function eventsOf(runs: Runs, id: string, after = 0): Promise<RunEvent[]> {
  const events: RunEvent[] = [];
  for await (const event of runs.events(id, { after })) events.push(event);
  return events;
}
