// Tool folders as an MCP server: what `asMcpServer()` returns.
import type { Server } from '@modelcontextprotocol/server';
import type { HttpServer, HttpServerOptions, Profile, ProfileName } from 'pocket-agent';
import { readProfile } from 'pocket-agent/internal';
import type { FolderService, ServedTools } from './serve.ts';

/** How a tool folder is served over MCP. */
export interface ToolFolderServerOptions {
  /** What clients may call; the profile of a token can only narrow it. */
  profile?: ProfileName | Profile;
  /** The name and version that clients see. Default: the name of the folder. */
  serverInfo?: { name: string; version: string };
}

export class ToolFolderServer {
  readonly #tools: ServedTools;
  readonly #options: { profile: Profile | undefined; serverInfo: ToolFolderServerOptions['serverInfo'] };
  #service: Promise<FolderService> | undefined;

  constructor(tools: ServedTools, { profile, serverInfo }: ToolFolderServerOptions) {
    this.#tools = tools;
    this.#options = { profile: profile === undefined ? undefined : readProfile(profile), serverInfo };
  }

  /** A server of the MCP SDK for one connection. Agents of the same process use it with `mcpConfig: server`. */
  async createServer(): Promise<Server> {
    return (await this.#load()).createServer();
  }

  /** Serves MCP on stdin and stdout until the client disconnects or the process is stopped; then closes the folders. */
  async serveStdio(): Promise<void> {
    await (await this.#load()).serveStdio();
  }

  /** Serves HTTP until the returned server is closed; the folders stay open. */
  async listen(options: HttpServerOptions = {}): Promise<HttpServer> {
    return (await this.#load()).listen(options);
  }

  /** Loads the MCP SDK on first use. */
  #load(): Promise<FolderService> {
    this.#service ??= import('./serve.ts').then(({ FolderService }) => new FolderService(this.#tools, this.#options));
    return this.#service;
  }
}
