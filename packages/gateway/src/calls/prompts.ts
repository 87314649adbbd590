// Prompts and completions of all servers of a caller, under the same rules as its tools.
import type { CompleteRequest, CompleteResult, GetPromptResult, Prompt } from '@modelcontextprotocol/client';
import { ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/server';
import { gatedRead } from 'pocket-agent/internal/gate';
import type { CallerSpace } from '../callers/caller-space.ts';
import type { ListedPrompt, Relay } from '../callers/server.ts';
import type { GatewayRequest } from './request.ts';

/** A prompt and its server. */
interface FoundPrompt extends ListedPrompt {
  server: Relay;
}

export async function listPrompts({ space, run }: GatewayRequest): Promise<Prompt[]> {
  const lists = await Promise.all(relays(space).map((relay) => relay.prompts()));
  return lists.flat().flatMap(({ prompt, judged }) => (run.policy.refusal(judged) === undefined ? prompt : []));
}

export async function getPrompt(
  { space, run }: GatewayRequest,
  { name, args }: { name: string; args: Record<string, string> },
): Promise<GetPromptResult> {
  const found = await findPrompt(space, name);
  const result =
    found &&
    (await gatedRead({
      policy: run.policy,
      agentId: run.agent.agentId,
      name: 'prompts/get',
      arguments: { name, ...args },
      judged: found.judged,
      source: { hasOwnSchemas: true },
      signal: run.signal,
      read: () => found.server.getPrompt(found.ownName, args),
    }));
  if (result) return result;
  throw new ProtocolError(ProtocolErrorCode.InvalidParams, `Prompt "${name}" not found`);
}

/** Completes an argument of a prompt or template that the caller may see. */
export async function complete(request: GatewayRequest, params: CompleteRequest['params']): Promise<CompleteResult> {
  const { space, run } = request;
  const { ref } = params;
  if (ref.type === 'ref/prompt') {
    const found = await findPrompt(space, ref.name);
    if (found && run.policy.refusal(found.judged) === undefined)
      return found.server.complete({ ...params, ref: { ...ref, name: found.ownName } });
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, `Prompt "${ref.name}" not found`);
  }
  for (const relay of relays(space)) {
    const isVisible = (await relay.templates()).some(
      ({ template, judged }) => template.uriTemplate === ref.uri && run.policy.refusal(judged) === undefined,
    );
    if (isVisible) return relay.complete(params);
  }
  throw new ProtocolError(ProtocolErrorCode.InvalidParams, `Resource template "${ref.uri}" not found`);
}

async function findPrompt(space: CallerSpace, name: string): Promise<FoundPrompt | undefined> {
  for (const server of relays(space)) {
    const listed = (await server.prompts()).find(({ prompt }) => prompt.name === name);
    if (listed) return { ...listed, server };
  }
  return undefined;
}

function relays({ servers }: CallerSpace): Relay[] {
  return servers.flatMap(({ relay }) => relay ?? []);
}
