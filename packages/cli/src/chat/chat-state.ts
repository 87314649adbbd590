// The state of a chat that its slash commands read and change.
import type { ToolFolder } from '@pocket-agent/tool-folder';
import type { FileInput, PocketAgent, Profile, ProfileName, ToolSource } from 'pocket-agent';
import type { SwitchableModel } from 'pocket-agent/internal';
import type { Sessions } from '../files/sessions.ts';
import type { Approver } from '../questions/approver.ts';
import type { AgentRequest } from '../setup/agent-request.ts';

export interface ChatState {
  readonly agent: PocketAgent<unknown>;
  readonly request: AgentRequest;
  readonly model: SwitchableModel;
  readonly folders: readonly ToolFolder[];
  /** The tool folders and the skills. */
  readonly sources: readonly ToolSource[];
  readonly approver: Approver;
  readonly signal: AbortSignal;
  modelName: string;
  profile: ProfileName | Profile | undefined;
  /** The name of the session in which the conversation is saved. */
  session: string | undefined;
  /** Opened at first use. */
  sessions(): Promise<Sessions>;
  images: Uint8Array[];
  /** Sent with the next message, like the images. */
  files: FileInput[];
  /** Prints the output of a command. */
  print(...lines: string[]): void;
  /** Shows which servers `work` is waiting for. */
  connecting<Value>(work: Promise<Value>): Promise<Value>;
}
