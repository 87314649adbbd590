// A2A 1.0 as it is on the wire: the JSON of tasks, messages and cards, as far as an agent makes or reads them.
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

/** In the metadata of a part that stands in a stream for one too large for it; the task has that one. */
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

interface OfTask {
  taskId: string;
  contextId: string;
}

export interface ArtifactUpdate extends OfTask {
  artifact: Artifact;
  append?: boolean;
  lastChunk?: boolean;
}

/** One event of a stream: exactly one of these. */
export interface StreamUpdate {
  task?: Task;
  message?: Message;
  statusUpdate?: OfTask & { status: TaskStatus };
  artifactUpdate?: ArtifactUpdate;
}

export interface PushConfig {
  id: string;
  taskId: string;
  url: string;
  token?: string;
  authentication?: { scheme: string; credentials?: string };
}

export interface AgentInterface {
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

/** Whether whoever waits for a task gets an answer now: it is over, or waits itself. */
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

/** Puts an update of an artifact where it belongs, as the chunks of it arrive. */
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
    // the chunks of one text are one text
    if (part.text !== undefined && last?.text !== undefined) known.parts.splice(-1, 1, { text: last.text + part.text });
    else known.parts.push(part);
  }
}
