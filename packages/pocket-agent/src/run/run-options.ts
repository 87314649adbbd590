// The options of one run.
import {
  configError,
  isRecord,
  nonEmptyRule,
  nullable,
  nullableBoolean,
  nullableFunction,
  nullableString,
  OptionSet,
  positiveNumber,
} from '@pocket-agent/kit';
import type { Approve } from '../access/approval.ts';
import type { Profile, ProfileName } from '../access/capabilities.ts';
import type { OutputOption } from '../output/output-options.ts';
import type { EventListener } from './events.ts';
import type { ModelCallListener } from './model-calls.ts';
import type { ElicitationHandler } from './run-context.ts';

/** The options of one run: its time, its caller, its profile, its listener. */
export interface RunOptions {
  signal?: AbortSignal;
  /** Instead of `limits.timeoutMs`, for this run. */
  timeoutMs?: number;
  /** W3C trace context, passed on to MCP servers. */
  traceparent?: string;
  /** Gets the events of this run and of the runs inside it. */
  onEvent?: EventListener;
  /** Gets the requests to models of this run and of the runs inside it, exactly as they were sent, and their answers. */
  onModelCall?: ModelCallListener;
  /** Whether the model is asked to stream. Default: if there is an `onEvent`. */
  streaming?: boolean;
  /** A narrower profile than the agent's, for this run. */
  profile?: ProfileName | Profile | readonly (ProfileName | Profile)[];
  /** Asked instead of the agent's own `approve`. */
  approve?: Approve;
  /** Asked if neither this agent nor a parent agent in the run has an `approve`. */
  approveFallback?: Approve;
  /** Asked instead of the agent's own `elicitationHandler`. */
  elicit?: ElicitationHandler;
  /** On whose behalf the agent works: for tools, hooks and audit records. */
  caller?: string;
  /**
   * About the caller, such as a token: for tools, hooks, and `headers` and `auth` of MCP servers. Never sent to the model
   * or a server.
   */
  metadata?: Readonly<Record<string, unknown>>;
}

/** The run returns a value of the schema `output` instead of text. */
export interface TypedRunOptions<Value> extends RunOptions {
  output: OutputOption<Value>;
}

/** Options that belong elsewhere, which a run would ignore. */
const misplaced = Object.entries({
  files: 'Pass them with the text: run({ text, files }).',
  images: 'Pass them with the text: run({ text, images }).',
  messages: 'It is an option of the agent.',
  tools: 'It is an option of the agent.',
  maxSteps: 'It belongs in limits of the agent.',
  temperature: 'It belongs in completionOptions of the agent.',
});

/** Not called for an overridden run, which may have such options. */
export function refuseMisplaced(options: object): void {
  for (const [key, advice] of misplaced)
    if (key in options) throw configError(`A run has no option "${key}". ${advice}`);
}

const signal = nullable('an AbortSignal, such as controller.signal', (value) => value instanceof AbortSignal);

export const runOptions = new OptionSet<Partial<TypedRunOptions<unknown>>>('A run', {
  signal,
  timeoutMs: positiveNumber,
  traceparent: nullableString,
  onEvent: nullableFunction,
  onModelCall: nullableFunction,
  streaming: nullableBoolean,
  profile: true,
  approve: nullableFunction,
  approveFallback: nullableFunction,
  elicit: nullableFunction,
  // requests without a user, with an empty caller, would share memory and connections
  caller: nullable(nonEmptyRule.expected, nonEmptyRule.accepts),
  output: true,
  metadata: { ...nullable('an object', isRecord), isSecret: true },
});
