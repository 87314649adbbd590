// Reads the file of a gateway: servers, tool folders, remote agents, profiles and access. Paths are relative to the file.
import { dirname, resolve } from 'node:path';
import type { RemoteAgentOptions } from '@pocket-agent/a2a';
import type { GatewayOptions } from '@pocket-agent/gateway';
import {
  checkValue,
  errorText,
  isRecord,
  type Logger,
  listOf,
  nullable,
  type OptionRule,
  OptionSet,
  PocketError,
  readJsonFile,
  secretStringMap,
  stringList,
  stringRule,
  withoutUndefined,
} from '@pocket-agent/kit';
import type { ToolFolder } from '@pocket-agent/tool-folder';
import type { AccessOptions, McpServerEntry, ToolSource } from 'pocket-agent';
import { accessFrom, entryFrom, expandVariables, pathFrom, readServers } from 'pocket-agent/internal';
import { folderOf } from '../setup/agent-file.ts';
import { closeFolders, loadFolders } from '../setup/tool-sources.ts';

interface FileContent {
  $schema?: string;
  name?: string;
  mcpServers?: Record<string, unknown>;
  tools?: readonly string[];
  agents?: Record<string, Omit<RemoteAgentOptions, 'logger'>>;
  profiles?: GatewayOptions['profiles'];
  access?: Omit<AccessOptions, 'redact'> & { redact?: readonly string[] };
  names?: GatewayOptions['names'];
  oauth?: GatewayOptions['oauth'];
  approvals?: GatewayOptions['approvals'];
  prices?: GatewayOptions['prices'];
}

const fileOptions = new OptionSet<FileContent>('A gateway file', {
  $schema: stringRule,
  name: stringRule,
  mcpServers: { expected: 'an object', accepts: isRecord },
  tools: stringList,
  agents: nullable('an object of remote agents by name', isRecord),
  profiles: nullable('an object of profiles by name', isRecord),
  access: nullable('an object', isRecord),
  names: true,
  oauth: nullable('an object with issuer, audience and scopes', isRecord),
  approvals: nullable('an object with endpoint, mattermost or discord', isRecord),
  prices: nullable('an object of US dollars by tool', isRecord),
});

const agentRule: OptionRule = { expected: 'an object such as { "url": "https://…" }', accepts: isRecord };
const tokenRule: OptionRule = { ...stringRule, isSecret: true };
const redactRule = listOf('a list of regular expressions as strings', (value) => typeof value === 'string');

interface FileOptions {
  logger: Logger;
  signal: AbortSignal;
  /** Problems of tool folders, one line each. */
  tell(line: string): void;
}

/** A gateway file that may be read again. Folders and agents that are still in it are the same objects. */
export class GatewayFile {
  readonly #file: string;
  readonly #options: FileOptions;
  readonly #folders = new Map<string, ToolFolder>();
  readonly #agents = new Map<string, ToolSource>();

  constructor(file: string, options: FileOptions) {
    this.#file = file;
    this.#options = options;
  }

  async read(): Promise<GatewayOptions> {
    const file = this.#file;
    const content = await readJsonFile(file, 'give a file with "mcpServers"');
    if (!isRecord(content)) throw new PocketError('CONFIG_INVALID', `${file} must contain a JSON object.`);
    // files of other programs have more keys beside mcpServers
    fileOptions.checkSpelling(content, `The gateway file ${file}`);
    const {
      name,
      mcpServers,
      tools = [],
      agents = {},
      profiles,
      access,
      names,
      oauth,
      approvals,
      prices,
    } = content as FileContent;
    const folder = dirname(resolve(file));
    const servers = mcpServers === undefined ? new Map<string, McpServerEntry>() : readServers(file, { mcpServers });
    const paths = tools.map((entry) => folderOf(entry, pathFrom(folder, entry)));
    const folders = await this.#loadFolders(paths);
    const remote = await this.#remoteAgents(agents);
    return {
      ...withoutUndefined({ name, names, profiles, oauth, prices }),
      ...(approvals ? { approvals: withTokens(approvals) } : {}),
      mcpServers: Object.fromEntries([...servers].map(([key, entry]) => [key, entryFrom(folder, entry)])),
      sources: { ...Object.fromEntries(folders.map((each) => [each.name, each])), ...remote },
      access: readAccess(file, accessFrom(folder, access ?? {})),
    };
  }

  /** Closes the folders and agents of all readings. */
  async close(): Promise<void> {
    await closeFolders([...this.#folders.values()]);
    await Promise.all([...this.#agents.values()].map((agent) => agent.close?.()));
  }

  async #loadFolders(paths: readonly string[]): Promise<ToolFolder[]> {
    const { logger, signal, tell } = this.#options;
    for (const path of paths) {
      if (this.#folders.has(path)) continue;
      const { folders, problems } = await loadFolders([path], { logger, signal });
      for (const folder of folders) this.#folders.set(path, folder);
      for (const line of problems) tell(line);
    }
    return paths.flatMap((path) => this.#folders.get(path) ?? []);
  }

  async #remoteAgents(agents: NonNullable<FileContent['agents']>): Promise<Record<string, ToolSource>> {
    if (Object.keys(agents).length === 0) return {};
    const { remoteAgent } = await import('@pocket-agent/a2a');
    const sources = Object.entries(agents).map(([name, options]) => {
      checkValue(`agents.${name}`, options, agentRule);
      checkValue(`agents.${name}.headers`, options.headers ?? {}, secretStringMap);
      checkValue(`agents.${name}.token`, options.token ?? '', tokenRule);
      const key = JSON.stringify([name, options]);
      const headers = Object.entries(options.headers ?? {}).map(([header, text]) => [
        header,
        expandVariables(`agents.${name}.headers.${header}`, text),
      ]);
      const token =
        options.token === undefined ? {} : { token: expandVariables(`agents.${name}.token`, options.token) };
      const agentOptions = {
        name,
        ...options,
        ...token,
        headers: Object.fromEntries(headers),
        logger: this.#options.logger,
      };
      const agent = this.#agents.get(key) ?? remoteAgent(agentOptions);
      this.#agents.set(key, agent);
      return [name, agent];
    });
    return Object.fromEntries(sources);
  }
}

/** Replaces `${NAME}` in the tokens of Mattermost and Discord. */
function withTokens({ mattermost, discord, ...others }: NonNullable<FileContent['approvals']>): typeof others {
  const filled = <Chat extends { token: string }>(name: string, chat: Chat | undefined) => {
    if (!isRecord(chat) || typeof chat.token !== 'string') return { [name]: chat };
    return { [name]: { ...chat, token: expandVariables(`approvals.${name}.token`, chat.token) } };
  };
  return withoutUndefined({ ...others, ...filled('mattermost', mattermost), ...filled('discord', discord) });
}

function readAccess(file: string, { redact, ...access }: NonNullable<FileContent['access']>): GatewayOptions['access'] {
  if (redact === undefined) return access;
  checkValue('access.redact', redact, redactRule);
  try {
    return { ...access, redact: redact.map((pattern) => new RegExp(pattern, 'i')) };
  } catch (error) {
    throw new PocketError('CONFIG_INVALID', `${file}: access.redact: ${errorText(error)}`, { cause: error });
  }
}
