// The messages between server and page. Types only: the page is a program of its own.
import type { RunEvent, RunStatus } from '@pocket-agent/runs';
import type { AgentEvent, BudgetLimits, Capability, Exposure, Message, RouterStatus, Usage } from 'pocket-agent';

export interface AgentInfo {
  name: string;
  description?: string;
  model: string;
  /** What one run may use up at most. */
  budget: BudgetLimits;
}

export interface ChatInfo {
  id: string;
  /** The name of its agent in the studio. */
  agent: string;
  /** The beginning of its first message. */
  title: string;
  model: string;
  profile?: string;
  /** How tools are offered to the model; absent: the agent's own `exposure`. */
  exposure?: Exposure;
  createdAt: number;
  isRunning: boolean;
  /** It takes place in another program, or in another part of this one: the studio only shows it. */
  isElsewhere?: boolean;
}

/** A conversation in the database. */
export interface SavedChat {
  id: string;
  agent: string;
  title: string;
  updatedAt: number;
}

interface Asked {
  id: string;
  /** Empty if a durable run or a gateway asks. */
  chatId: string;
  /** The id of the durable run that asks. */
  durableRun?: string;
  /** The host of the gateway that asks. */
  gateway?: string;
  /** The address of the attached program that asks. */
  program?: string;
  askedAt: number;
}

/** A tool call that waits for a person. */
export interface ApprovalQuestion extends Asked {
  kind: 'approval';
  tool: string;
  /** The MCP server or tool folder that the tool is from. */
  server?: string;
  capability: Capability;
  description?: string;
  arguments: Record<string, unknown>;
  toolCallId: string;
  /** The run that makes the call, as its events name it; absent if a durable run or a gateway asks. */
  runId?: string;
  /** The agents from the one that was asked down to the one that makes the call. */
  path: readonly string[];
  /** Whether the tool has changed since it was first seen. */
  changed: boolean;
}

/** What an MCP server asks during a call: the fields of a form, or to visit an address. */
export interface FormQuestion extends Asked {
  kind: 'form';
  server: string;
  message: string;
  /** JSON Schema of the fields. */
  schema?: unknown;
  url?: string;
}

export type Question = ApprovalQuestion | FormQuestion;

/** A file that a person adds to a message. */
export interface SentFile {
  name: string;
  mediaType: string;
  /** Base64. */
  data: string;
}

export type FormAnswer = { action: 'accept'; content?: Record<string, FormValue> } | { action: 'decline' | 'cancel' };
export type FormValue = string | number | boolean | string[];

export type Answer =
  | { allow: true | Record<string, unknown>; remember?: 'call' | 'conversation' }
  /** The reason, which the model reads. */
  | { deny: string };

/** One request to the model of a chat. */
export interface ModelCallInfo {
  id: string;
  chatId: string;
  runId?: string;
  model: string;
  startedAt: number;
  endedAt?: number;
  error?: string;
  /** The deployment of a router that answered, and how long the call waited for room there. */
  deployment?: string;
  waitedMs?: number;
}

/** The request exactly as the model got it, and its answer. */
export interface ModelCallDetails extends ModelCallInfo {
  prompt: unknown;
  tools: unknown;
  settings: Record<string, unknown>;
  answer: unknown;
}

/** Another answer to a request that was made before. */
export interface Replay {
  model: string;
  answer: unknown;
  durationMs: number;
}

export interface ToolInfo {
  name: string;
  /** The MCP server or tool folder that it is from. */
  group: string | undefined;
  exposure: Exposure | undefined;
  capability: Capability;
  description: string | undefined;
  inputSchema: unknown;
  outputSchema: unknown;
  /** Why the model does not see it and nothing may call it. */
  hiddenBy: string | undefined;
}

export interface ToolList {
  tools: ToolInfo[];
  servers: { name: string; status: string; reason: string | undefined }[];
}

/** What servers offer beside tools. */
export interface ServerOffers {
  resources: { server: string; uri: string; name: string; description: string | undefined }[];
  prompts: { server: string; name: string; description: string | undefined; arguments: PromptArgument[] }[];
  /** Servers that could not be asked. */
  problems: string[];
}

export interface PromptArgument {
  name: string;
  description?: string | undefined;
  required?: boolean | undefined;
}

/** A run in a database that other processes share, such as workers. */
export interface DurableRun {
  id: string;
  agent: string;
  status: RunStatus;
  input: string;
  createdAt: number;
  updatedAt: number;
  steps: number;
  costUsd?: number;
}

/** The latest runs of all places, and which places cannot be reached. */
export interface DurableList {
  runs: DurableRun[];
  problems: string[];
}

export interface DurableRunDetails {
  id: string;
  agent: string;
  status: RunStatus;
  events: RunEvent[];
  /** Of the steps that are saved. */
  usage?: Usage;
}

/** A gateway that the studio is attached to. */
export interface GatewayInfo {
  name: string;
  /** Questions that wait for an answer. */
  waiting: number;
  /** Why it cannot be read; empty if it can. */
  problem: string;
  /** The calls of its servers; absent without the token of its metrics. */
  servers: GatewayCalls[] | undefined;
}

/** The calls of one server behind a gateway, since the gateway was started. */
export interface GatewayCalls {
  server: string;
  isUp: boolean;
  calls: number;
  failed: number;
  /** Calls that a rule or a person refused. */
  denied: number;
  meanMs: number;
}

/** A router, by the name that the studio was given for it. */
export interface RouterInfo {
  name: string;
  status: RouterStatus;
}

/** An entry of the journal. */
export type Entry =
  | { type: 'chat'; chat: ChatInfo }
  | { type: 'chat_closed'; chatId: string }
  /** The messages that a branch or a saved conversation begins with. */
  | { type: 'history'; chatId: string; messages: readonly Message[] }
  | { type: 'event'; chatId: string; event: AgentEvent }
  | { type: 'question'; question: Question }
  /** `text`: how it was answered; absent if no answer is needed any more. */
  | { type: 'question_closed'; questionId: string; closedAt: number; text?: string }
  | { type: 'model_call'; call: ModelCallInfo }
  /** Durable runs can be seen from now on. */
  | { type: 'durable_runs' }
  /** A run that could not begin. */
  | { type: 'problem'; chatId: string; text: string };

/** The beginning of a stream. After `isReset` the page forgets what it has: older entries are no longer kept. */
export interface Snapshot {
  type: 'snapshot';
  isReset: boolean;
  /** The number of the last entry so far. */
  last: number;
  /** Whether the studio is attached to durable runs. */
  hasDurableRuns: boolean;
  hasGateways: boolean;
  hasRouters: boolean;
  agents: AgentInfo[];
  chats: ChatInfo[];
  questions: Question[];
}

/** One line of the stream; `seq` counts up, with gaps. */
export type Line = { seq: number } & (Entry | Snapshot);
