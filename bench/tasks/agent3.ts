// Agent3: search in a large registry, and calls through the bridge; the floor is the client of the A2A SDK.
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { AgentCard, SendMessageRequest } from '@a2a-js/sdk';
import { ClientFactory } from '@a2a-js/sdk/client';
import { makeFetch } from '@pocket-agent/http/fetch';
import { createBridge } from '../../packages/agent3/src/bridge/bridge.ts';
import { openRegistry } from '../../packages/agent3/src/registry/registry.ts';
import { closeServers } from '../../packages/agent3/test/fixtures/local-server.ts';
import { MemoryDirectory } from '../../packages/agent3/test/fixtures/memory-directory.ts';
import { startSdkAgent } from '../../packages/agent3/test/fixtures/sdk-agent.ts';
import { manyCards, wordAt } from '../../packages/agent3/test/registry-cards.ts';
import type { Effort, Figures } from '../contender.ts';
import { us } from '../contenders.ts';
import { timed } from '../timing.ts';

const silent = { debug() {}, info() {}, warn() {}, error() {} };

/** Milliseconds for words that many agents have, few have, and nobody spelt like that. */
export async function search(_contender: string, effort: Effort): Promise<Figures> {
  const folder = await mkdtemp(join(tmpdir(), 'bench-registry-'));
  const fetch = makeFetch();
  const registry = await openRegistry({ file: join(folder, 'registry.db'), fetch, healthChecks: false });
  try {
    for (const batch of manyCards(effort.registered)) await registry.importCards(batch, { id: 'bench' });
    const ask = async (query: string) => (await timed(() => registry.search({ query }), effort)).cpu / 1_000;
    const sentence = `please find an agent that can ${[3, 40, 700, 2_000].map(wordAt).join(' ')}`;
    return {
      searchCommon: await ask(wordAt(0)),
      searchSentence: await ask(sentence),
      searchMisspelt: await ask(`${wordAt(50)}q ${wordAt(800)}x`),
    };
  } finally {
    await registry.close();
    fetch.close();
    await rm(folder, { recursive: true });
  }
}

export async function bridge(contender: string, effort: Effort): Promise<Figures> {
  const agent = await startSdkAgent();
  const directory = new MemoryDirectory();
  directory.add('echo', agent);
  const between = createBridge({ directory, logger: silent, network: { allowHosts: ['127.0.0.1'] } });
  const client = await new ClientFactory().createFromAgentCard(AgentCard.fromJSON(agent.card));
  const bare = async () => {
    const message = { messageId: randomUUID(), role: 'ROLE_USER', parts: [{ text: 'hello' }] };
    for await (const _update of client.sendMessageStream(SendMessageRequest.fromJSON({ message })));
  };
  const bridged = async () => {
    const { success } = await between.call({ agentId: 'echo', message: 'hello' }, { id: 'me' });
    if (!success) throw new Error('A call through the bridge failed.');
  };
  const call = contender === us ? bridged : bare;
  const { cpu } = await timed(() => Promise.all(Array.from({ length: 16 }, call)), effort);
  between.close();
  await closeServers();
  return { agentCall: cpu / 16 };
}
