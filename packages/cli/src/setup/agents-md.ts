// AGENTS.md of the working folder: instructions for agents. The chat asks before it follows them.
import { lstat } from 'node:fs/promises';
import { errorText, PocketError } from '@pocket-agent/kit';
import { decodeText, readConfined } from '@pocket-agent/kit/confined-files';
import type { AgentRequest } from './agent-request.ts';
import type { OfferOptions } from './found-configs.ts';
import { askOnce } from './remembered-answers.ts';

const FILE = 'AGENTS.md';
const MAX_BYTES = 100_000;

/** Asks once for each content of the file, unless an option decides. An agent file has instructions of its own. */
export async function offerAgentsMd(request: AgentRequest, { ask, tell }: OfferOptions): Promise<AgentRequest> {
  if (request.agentsMd !== 'ask' || request.file !== undefined || !(await isThere())) return request;
  const content = await readAgentsMd().catch((error) => tell(`${errorText(error)} It is not used.`));
  if (content === undefined || content.trim() === '') return request;
  const lines = content.trimEnd().split('\n').length;
  const question = `${FILE} of this folder has instructions for agents (${lines} lines). Follow them?`;
  const { answer, isNew } = await askOnce({ file: FILE, content, ask: () => ask(question) });
  if (answer === false && isNew) tell(`Not used; you are asked again if ${FILE} changes. To use it: --agents-md`);
  if (!answer) return request;
  tell(`instructions from ${FILE}`);
  return { ...request, instructions: content };
}

/** Follows the file without a question if --agents-md was given. */
export async function requiredAgentsMd(request: AgentRequest): Promise<AgentRequest> {
  return request.agentsMd === 'use' ? { ...request, instructions: await readAgentsMd() } : request;
}

async function isThere(): Promise<boolean> {
  return lstat(FILE).then(
    () => true,
    () => false,
  );
}

/** A link that leads out of the working folder is refused, because its author would choose which file is read. */
async function readAgentsMd(): Promise<string> {
  try {
    const file = { root: process.cwd(), path: FILE, maxBytes: MAX_BYTES, rootName: 'the working folder' };
    return decodeText(FILE, await readConfined(file));
  } catch (error) {
    throw new PocketError('CONFIG_INVALID', `${FILE} cannot be used: ${errorText(error)}`, { cause: error });
  }
}
