// A worker with durable runs, and a studio that is attached to its database.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openRuns, type Runs } from '@pocket-agent/runs';
import { PocketAgent, tool } from 'pocket-agent';
import { ScriptedModel } from 'pocket-agent/testing';
import { onTestFinished } from 'vitest';
import { type Client, makeShop, startStudio } from './world.ts';

export interface World {
  client: Client;
  /** Of the worker. */
  runs: Runs;
  refunds: unknown[];
}

export async function attached(): Promise<World> {
  const folder = await mkdtemp(join(tmpdir(), 'studio-'));
  const url = `sqlite:${join(folder, 'runs.db')}`;
  const refunds: unknown[] = [];
  const refund = tool({ name: 'refund', description: 'Refunds', run: (args) => `refund ${refunds.push(args)}` });
  const script = [{ toolCalls: [{ name: 'refund', arguments: { id: 17 } }] }, 'Order 17 is refunded.'];
  const support = () =>
    new PocketAgent({ llmModel: new ScriptedModel(script), tools: [refund], access: { confirm: 'write' } });
  const runs = await openRuns({ url, agents: { support } });
  const seen = await openRuns({ url });
  const client = await startStudio({ shop: makeShop([]).agent }, { runs: seen });
  onTestFinished(async () => {
    await client.close();
    await seen.close();
    await runs.close();
    await rm(folder, { recursive: true, force: true });
  });
  return { client, runs, refunds };
}
