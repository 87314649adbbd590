// The JSON of A2A 1.0: tasks, messages, updates and cards.
import { randomUUID } from 'node:crypto';

export type TaskState =
  | 'TASK_STATE_SUBMITTED'
  | 'TASK_STATE_WORKING'
  | 'TASK_STATE_COMPLETED'
  | 'TASK_STATE_FAILED'
  | 'TASK_STATE_CANCELED'
  | 'TASK_STATE_INPUT_REQUIRED'
  | 'TASK_STATE_REJECTED'
  | 'TASK_STATE_AUTH_REQUIRED';

/** Has one of `text`, `raw` (base64), `url` and `data`. */
export interface Part {
  text?: string;
  raw?: string;
  url?: string;
  data?: unknown;
  mediaType?: string;
  filename?: string;
  metadata?: Record<string, unknown>;
}

/** Metadata of a placeholder in a stream for a part that is too large for it; the task has the real part. */
export const OMITTED = 'urn:pocket-agent:a2a:omitted';

export interface Message {
  messageId: string;
  role: 'ROLE_USER' | 'ROLE_AGENT';
  parts: Part[];
  taskId?: string;
  contextId?: string;
}

export interface Artifact {
  artifactId: string;
  name?: string;
  parts: Part[];
}

export interface TaskStatus {
  state: TaskState;
  message?: Message;
  timestamp?: string;
}

export interface Task {
  id: string;
  contextId: string;
  status: TaskStatus;
  artifacts?: Artifact[];
  history?: Message[];
}

interface TaskReference {
  taskId: string;
  contextId: string;
}

export interface ArtifactUpdate extends TaskReference {
  artifact: Artifact;
  append?: boolean;
  lastChunk?: boolean;
}

/** One event of a stream: exactly one of the fields is set. */
export interface StreamUpdate {
  task?: Task;
  message?: Message;
  statusUpdate?: TaskReference & { status: TaskStatus };
  artifactUpdate?: ArtifactUpdate;
}

export interface PushConfig {
  id: string;
  taskId: string;
  url: string;
  token?: string;
  authentication?: { scheme: string; credentials?: string };
}

interface AgentInterface {
  url: string;
  protocolBinding: string;
  protocolVersion: string;
  tenant?: string;
}

export interface AgentSkill {
  id: string;
  name: string;
  description: string;
  tags: string[];
  examples?: string[];
  inputModes?: string[];
  outputModes?: string[];
}

export interface AgentCard {
  name: string;
  description: string;
  version: string;
  supportedInterfaces: AgentInterface[];
  capabilities: {
    streaming?: boolean;
    pushNotifications?: boolean;
    extendedAgentCard?: boolean;
    extensions?: { uri: string; description?: string; required?: boolean; params?: Record<string, unknown> }[];
  };
  defaultInputModes: string[];
  defaultOutputModes: string[];
  skills: AgentSkill[];
  provider?: { organization: string; url: string };
  documentationUrl?: string;
  iconUrl?: string;
  securitySchemes?: Record<string, Record<string, unknown>>;
  securityRequirements?: { schemes: Record<string, { list?: string[] }> }[];
}

export const CARD_PATH = '.well-known/agent-card.json';
export const VERSION_HEADER = 'a2a-version';

const endStates: readonly TaskState[] = [
  'TASK_STATE_COMPLETED',
  'TASK_STATE_FAILED',
  'TASK_STATE_CANCELED',
  'TASK_STATE_REJECTED',
];

export function isOver(state: TaskState): boolean {
  return endStates.includes(state);
}

/** The task has ended, or waits for the caller. */
export function isAtRest(state: TaskState): boolean {
  return isOver(state) || state === 'TASK_STATE_INPUT_REQUIRED' || state === 'TASK_STATE_AUTH_REQUIRED';
}

export function agentMessage(parts: Part[], of: { id: string; contextId: string }): Message {
  return { messageId: randomUUID(), role: 'ROLE_AGENT', parts, taskId: of.id, contextId: of.contextId };
}

/** Whether bytes of this type are text that a model can read. */
export function isTextual(mediaType = ''): boolean {
  return /^(text\/|application\/([\w.-]+\+)?(json|xml|yaml|x-yaml|x-ndjson|toml|javascript|sql)\b)/i.test(mediaType);
}

export function textOfParts(parts: readonly Part[] = []): string {
  return parts.flatMap(({ text }) => (text ? [text] : [])).join('\n');
}

/** Adds an artifact, replaces it, or appends a chunk to it. */
export function assemble(artifacts: Artifact[], { artifact, append }: ArtifactUpdate): void {
  const known = artifacts.find(({ artifactId }) => artifactId === artifact.artifactId);
  if (!known) {
    artifacts.push({ ...artifact, parts: [...artifact.parts] });
    return;
  }
  if (!append) {
    known.parts = [...artifact.parts];
    return;
  }
  for (const part of artifact.parts) {
    const last = known.parts.at(-1);
    // chunks of a text are joined
    if (part.text !== undefined && last?.text !== undefined) known.parts.splice(-1, 1, { text: last.text + part.text });
    else known.parts.push(part);
  }
}
