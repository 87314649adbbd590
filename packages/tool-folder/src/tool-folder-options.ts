// The options of loadToolFolder(), with their checks and defaults.
import { checkValue, type Logger } from '@pocket-agent/kit';
import type { Capability, ExposureOption } from 'pocket-agent';
import { checkCapability, exposureRule } from 'pocket-agent/internal';
import type { HostContext } from './running/tool-context.ts';

/** Which folders are active, and what happens to folders that are broken or edited. */
export interface ToolFolderOptions {
  /** The directory names of the folders that are active at first. Default: all. */
  active?: readonly string[] | 'all';
  /** True: listing throws if a folder has a problem. Default false: problems are logged and the other folders work. */
  strict?: boolean;
  /** True: reload folders that are edited, added or removed. Default false. */
  watch?: boolean;
  /** Added to the context of every tool; a function is called for each call. */
  context?: HostContext;
  /** The capability of tools whose manifest declares none. Set it only for your own folders. Default `delete`. */
  defaultCapability?: Capability;
  /** The variables that `env` of a manifest can name. Default `process.env`. */
  env?: Readonly<Record<string, string | undefined>>;
  /** How tools are offered to models: for all, or by name. Default `auto`. */
  exposure?: ExposureOption;
  logger?: Logger;
  /** Time limit of a call in milliseconds; progress restarts it. Default 60,000. */
  timeoutMs?: number;
  /** Total time limit of a call in milliseconds. Default 600,000. */
  maxTimeoutMs?: number;
  /** Time limit for importing a tool.ts, in milliseconds. Default 10,000. */
  loadTimeoutMs?: number;
  /** The size limit of a result, in bytes of JSON. Longer results are truncated with a note. Default 4,000,000. */
  maxResultBytes?: number;
}

export function checkFolderOptions({ defaultCapability, exposure }: ToolFolderOptions): void {
  if (defaultCapability !== undefined) checkCapability('defaultCapability', defaultCapability);
  if (exposure !== undefined) checkValue('exposure', exposure, exposureRule);
}

/** The options of a `FolderSet`, with defaults. */
export function folderSetOptions({
  env = process.env,
  context = {},
  defaultCapability,
  loadTimeoutMs = 10_000,
  timeoutMs = 60_000,
  maxTimeoutMs = 600_000,
  maxResultBytes = 4_000_000,
}: ToolFolderOptions) {
  return { env, defaultCapability, loadTimeoutMs, running: { context, timeoutMs, maxTimeoutMs, maxResultBytes } };
}
