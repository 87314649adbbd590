// Agent3: search in a large registry, and calls through the bridge to an agent in another process. The floors are a scan of
// all texts, and the A2A SDK's client with the same `fetch` as the bridge.
import { randomUUID } from 'node:crypto';
import { mkdtempDisposable } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { AgentCard, SendMessageRequest } from '@a2a-js/sdk';
import { ClientFactory, JsonRpcTransportFactory } from '@a2a-js/sdk/client';
import { makeFetch } from '@pocket-agent/http/fetch';
import type { CardJson } from '../../packages/agent3/src/base/agents.ts';
import { openAgent3 } from '../../packages/agent3/src/hub/local.ts';
import { openRegistry } from '../../packages/agent3/src/registry/registry.ts';
import { manyCards, wordAt } from '../../packages/agent3/test/fixtures/registry-cards.ts';
import type { Effort, Figures } from '../contenders/contender.ts';
import { us } from '../contenders/contenders.ts';
import { startHelper } from '../measuring/helper-process.ts';
import { timed } from '../measuring/timing.ts';

const me = { id: 'bench' };
const silent = { debug() {}, info() {}, warn() {}, error() {} };

/** Milliseconds for a common word, a sentence, and misspelt words. */
export async function search(contender: string, effort: Effort): Promise<Figures> {
  return contender === us ? inRegistry(effort) : searchFigures(textScan(effort.registered), effort);
}

async function inRegistry(effort: Effort): Promise<Figures> {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'bench-registry-'));
  const fetch = makeFetch();
  const registry = await openRegistry({ file: join(folder.path, 'registry.db'), fetch, healthChecks: false });
  try {
    for (const batch of manyCards(effort.registered)) await registry.importCards(batch, me);
    return await searchFigures((query) => registry.search({ query }), effort);
  } finally {
    await registry.close();
    fetch.close();
  }
}

/** The floor: scans every text, and ranks agents by the number of matching words. */
function textScan(registered: number): (query: string) => Promise<unknown> {
  const texts = [...manyCards(registered)].flat().map((card) => JSON.stringify(card).toLowerCase());
  return async (query) => {
    const words = query.toLowerCase().split(' ');
    const counted = texts.map((text, index) => ({ index, hits: words.filter((word) => text.includes(word)).length }));
    const found = counted.filter(({ hits }) => hits > 0).sort((one, other) => other.hits - one.hits);
    return found.slice(0, 10);
  };
}

async function searchFigures(find: (query: string) => Promise<unknown>, effort: Effort): Promise<Figures> {
  const milliseconds = async (query: string) => (await timed(() => find(query), effort)).cpu / 1_000;
  return {
    searchCommon: await milliseconds(wordAt(0)),
    searchSentence: await milliseconds(`please find an agent that can ${[3, 40, 700, 2_000].map(wordAt).join(' ')}`),
    searchMisspelt: await milliseconds(`${wordAt(50)}q ${wordAt(800)}x`),
  };
}

export async function bridge(contender: string, effort: Effort): Promise<Figures> {
  const { ready: agent } = await startHelper<{ card: CardJson }>('a2a-agent.ts');
  await using folder = await mkdtempDisposable(join(tmpdir(), 'bench-bridge-'));
  const call = await (contender === us ? bridged(agent.card, join(folder.path, 'agent3.db')) : bare(agent.card));
  const answered = async () => {
    const answer = await call();
    if (answer !== 'you said: hello') throw new Error(`The agent answered "${answer}".`);
  };
  const { cpu } = await timed(() => Promise.all(Array.from({ length: 16 }, answered)), effort);
  return { agentCall: cpu / 16 };
}

/** With a registry on disk, which records every call. */
async function bridged(card: CardJson, file: string): Promise<() => Promise<string>> {
  const agent3 = await openAgent3({
    file,
    logger: silent,
    allowHosts: ['127.0.0.1'],
    healthChecks: false,
    callerRateLimit: false,
  });
  const { id: agentId } = await agent3.register({ card }, me);
  return async () => {
    const { result, error = '' } = await agent3.call({ agentId, message: 'hello' }, me);
    return result?.text ?? error;
  };
}

async function bare(card: CardJson): Promise<() => Promise<string>> {
  const transports = [new JsonRpcTransportFactory({ fetchImpl: makeFetch({ guard: 'none' }) })];
  const client = await new ClientFactory({ transports }).createFromAgentCard(AgentCard.fromJSON(card));
  return async () => {
    const message = { messageId: randomUUID(), role: 'ROLE_USER', parts: [{ text: 'hello' }] };
    let text = '';
    for await (const { payload } of client.sendMessageStream(SendMessageRequest.fromJSON({ message })))
      if (payload?.$case === 'message')
        for (const { content } of payload.value.parts) if (content?.$case === 'text') text += content.value;
    return text;
  };
}
