// The agent that a server needs: `PocketAgent`, or an object with these methods.
import type { Logger } from '@pocket-agent/kit';
import type { UserInput } from '../base/messages.ts';
import type { JsonSchema } from '../base/value-schema.ts';
import type { ConversationLog } from '../history/conversation-log.ts';
import type { RunOptions } from '../run/run-options.ts';
import type { ServedResources } from '../skills/served-resources.ts';

export interface ServedAgent {
  readonly name: string;
  readonly roleDescription: string | undefined;
  /** The JSON Schema of its answers, if they are values instead of text. */
  readonly outputSchema?: JsonSchema | undefined;
  readonly allowImages?: boolean;
  readonly logger: Logger;
  /** Its conversation, which counts towards `maxMemoryBytes` of the server. */
  readonly messages?: readonly unknown[];
  /** Needed for the option `conversations`. */
  continueConversation?(log: ConversationLog): Promise<void>;
  /** Finds its model, so that a missing key is known before the first request. */
  languageModel?(): Promise<unknown>;
  run(input: string | UserInput, options: RunOptions): Promise<unknown>;
  /** An agent like this one with a conversation of its own. */
  fork(): ServedAgent;
  /** Resources that clients may list and read. */
  readonly resources?: ServedResources;
  close(): Promise<void>;
  /** Closes `part` with the agent. Call the returned function when `part` was closed before. */
  closeTogether(part: { close(): Promise<void> }): () => void;
}
