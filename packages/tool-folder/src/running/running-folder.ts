// A running tool folder: an instance of its class, its MCP servers and its calls in progress.
import { AsyncLocalStorage } from 'node:async_hooks';
import type { CallToolResult, Tool } from '@modelcontextprotocol/client';
import { abortable, CallClock, errorText, type Logger, PocketError, startDeadline } from '@pocket-agent/kit';
import {
  type Exposure,
  type Judgement,
  judge,
  type ListWait,
  PocketAgentClient,
  type ToolCallContext,
} from 'pocket-agent';
import { constructorParameters } from '../reading/method-parameters.ts';
import type { ParsedFolder } from '../reading/read-folder.ts';
import type { ToolsClass } from '../reading/tools-module.ts';
import { liveValue, missingValueError, valueNamed } from './live-value.ts';
import { toResult } from './result.ts';
import { type HostContext, loggerLevel, logText, type ToolContext, type ToolLogLevel } from './tool-context.ts';

export interface RunningOptions {
  logger: Logger;
  context: HostContext;
  timeoutMs: number;
  maxTimeoutMs: number;
  maxResultBytes: number;
}

/** The context of a call, with the log of its caller. */
export interface FolderCallContext extends ToolCallContext {
  log?(level: ToolLogLevel, data: unknown): void;
}

/** A folder that does not close must not block its host. */
const CLOSE_TIMEOUT_MS = 5_000;

interface Closeable {
  [Symbol.asyncDispose]?(): PromiseLike<unknown>;
  close?(): unknown;
}

export class RunningFolder {
  readonly folder: ParsedFolder;
  readonly client: PocketAgentClient | undefined;
  readonly #options: RunningOptions;
  readonly #unloaded = new AbortController();
  readonly #calls = new AsyncLocalStorage<ToolContext>();
  readonly #instance: object | undefined;
  readonly #runningCalls = new Set<Promise<unknown>>();

  /** Throws what the constructor of `Tools` throws. */
  constructor(folder: ParsedFolder, options: RunningOptions) {
    this.folder = folder;
    this.#options = options;
    if (folder.Tools) this.#instance = new folder.Tools(...this.#constructorArguments(folder.Tools));
    if (Object.keys(folder.mcpServers).length > 0) {
      const { logger, timeoutMs, maxTimeoutMs } = options;
      this.client = new PocketAgentClient({
        mcpConfig: { mcpServers: folder.mcpServers },
        toolPrefix: 'never',
        toolTimeoutMs: timeoutMs,
        maxToolTimeoutMs: maxTimeoutMs,
        logger,
      });
    }
  }

  async listTools(signal?: AbortSignal, wait?: ListWait): Promise<Tool[]> {
    const own = [...this.folder.tools.values()].map(({ definition }) => definition);
    const served = (await this.client?.listTools(signal, wait)) ?? [];
    return [...own, ...served.filter(({ name }) => !this.folder.tools.has(name))];
  }

  judge(tool: Tool): Judgement {
    return this.client && !this.folder.tools.has(tool.name) ? this.client.judge(tool) : judge(tool);
  }

  exposure(tool: Tool): Exposure | undefined {
    return this.folder.exposure ?? this.client?.exposure(tool);
  }

  callTool(name: string, args: Record<string, unknown>, context: FolderCallContext): Promise<CallToolResult> {
    const calling = this.#call(name, args, context);
    this.#runningCalls.add(calling);
    const done = () => void this.#runningCalls.delete(calling);
    calling.then(done, done);
    return calling;
  }

  /** Waits for the running calls, then closes. */
  async retire(): Promise<void> {
    await Promise.allSettled(this.#runningCalls);
    await this.close();
  }

  /** Aborts the running calls and closes. Errors are logged. */
  async close(): Promise<void> {
    if (this.#unloaded.signal.aborted) return;
    this.#unloaded.abort(new PocketError('ABORTED', `Tool folder "${this.folder.name}" was unloaded.`));
    const closing = await Promise.allSettled([
      abortable(this.#dispose(), AbortSignal.timeout(CLOSE_TIMEOUT_MS)),
      this.client?.close(),
    ]);
    for (const outcome of closing) {
      if (outcome.status === 'fulfilled') continue;
      this.#options.logger.warn(`Tool folder "${this.folder.name}" did not close: ${errorText(outcome.reason)}`);
    }
  }

  async #dispose(): Promise<void> {
    const instance: Closeable = this.#instance ?? {};
    if (instance[Symbol.asyncDispose]) await instance[Symbol.asyncDispose]?.();
    else if (!this.folder.tools.has('close')) await instance.close?.();
  }

  async #call(name: string, args: Record<string, unknown>, context: FolderCallContext): Promise<CallToolResult> {
    const tool = this.folder.tools.get(name);
    if (!tool && this.client) return this.client.callTool(name, args, context);
    if (!tool) throw new PocketError('TOOL_UNKNOWN', `Tool folder "${this.folder.name}" has no tool "${name}".`);
    const checked = tool.check(args);
    if ('problem' in checked) {
      throw new PocketError('TOOL_ARGUMENTS_INVALID', `Bad arguments for "${name}": ${checked.problem}`);
    }
    const { signal, release } = startDeadline({
      what: `Tool "${name}"`,
      signals: [context.signal, this.#unloaded.signal],
    });
    const { timeoutMs, maxTimeoutMs, maxResultBytes } = this.#options;
    const clock = new CallClock({ tool: name, server: this.folder.name, signal, timeoutMs, maxTimeoutMs });
    try {
      signal.throwIfAborted();
      const call = this.#callContext(name, context, clock);
      const running = this.#calls.run(call, async () => tool.method.call(this.#instance, checked.value, call));
      return toResult(name, await abortable(running, clock.signal), maxResultBytes);
    } finally {
      clock.stop();
      release();
    }
  }

  #callContext(toolName: string, call: FolderCallContext, clock: CallClock): ToolContext {
    const { context } = this.#options;
    const { toolCallId, meta, caller, metadata = {} } = call;
    const { signal } = clock;
    return {
      caller,
      metadata,
      ...(typeof context === 'function' ? context({ toolName, toolCallId, meta, caller, metadata }) : context),
      ...this.#folderContext(),
      toolCallId,
      meta,
      signal,
      progress: (update) => {
        if (signal.aborted || clock.isStopped) return;
        clock.extend();
        call.progress(update);
      },
      log: (level, ...data) =>
        call.log ? call.log(level, data.length === 1 ? data[0] : logText(data)) : this.#log(level, data),
    };
  }

  #folderContext(): Pick<ToolContext, 'folder' | 'env'> {
    const { name, humanName, path, env } = this.folder;
    return { folder: { name, humanName, path }, env };
  }

  /** One context object; or, for several parameters, the values of the context that have their names. */
  #constructorArguments(Tools: ToolsClass): object[] {
    const context = this.#liveContext();
    const names = constructorParameters(Tools);
    if (names.length < 2) return [context];
    const { context: host } = this.#options;
    const fixed = typeof host === 'function' ? undefined : host;
    return names.map((name, index) =>
      liveValue(() => {
        const call = this.#calls.getStore();
        const found = valueNamed(call ?? fixed, name) ?? (index === 0 ? context : undefined);
        if (!found) throw missingValueError(name, call !== undefined);
        return found;
      }),
    );
  }

  /** The context for the constructor. During a call it reflects the context of that call. */
  #liveContext(): ToolContext {
    const { context } = this.#options;
    const betweenCalls: ToolContext = {
      ...(typeof context === 'function' ? {} : context),
      ...this.#folderContext(),
      toolCallId: '',
      meta: {},
      signal: this.#unloaded.signal,
      progress: (update) => this.#calls.getStore()?.progress(update),
      log: (level, ...data) => {
        const call = this.#calls.getStore();
        if (call) call.log(level, ...data);
        else this.#log(level, data);
      },
    };
    return new Proxy(betweenCalls, {
      get: (target, key) => Reflect.get(this.#calls.getStore() ?? target, key),
      has: (target, key) => Reflect.has(this.#calls.getStore() ?? target, key),
    });
  }

  #log(level: ToolLogLevel, data: readonly unknown[]): void {
    this.#options.logger[loggerLevel(level)](`[${this.folder.name}] ${logText(data)}`);
  }
}
