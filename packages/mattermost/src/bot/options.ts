// The options of the bot and the types they use.
import type {
  ConversationStore,
  EventListener,
  ModelCallListener,
  PocketAgent,
  PocketAgentOptions,
} from 'pocket-agent';
import type { Profile } from '../base/access.ts';
import type { Log } from '../base/log.ts';
import type { MattermostConfig } from '../config/config.ts';
import type { CallbackOptions } from './callbacks/callback-server.ts';
import type { DurableAnswersOptions } from './durable/bot-runs.ts';
import type { UserMemory } from './text/memory-command.ts';

/** The account of a bot, and the agent that answers for it. */
export interface BotOptions {
  /** Must use static_token with the token of a bot account. */
  config: MattermostConfig;
  /**
   * Creates the agent of a new conversation; the bot closes it with the conversation. Options become an agent with the
   * Mattermost tools added; an agent is used unchanged.
   */
  agent?: (conversation: ConversationInfo) => MadeAgent | Promise<MadeAgent>;
  /**
   * In place of `agent`: the agent of these runs answers. Its answers continue after a restart, and approvals are requested
   * in the channel. Only the memory of `conversations` is used.
   */
  durable?: DurableAnswersOptions;
  /**
   * Saves the conversations, so that they continue after a restart: what `openConversations()` of `@pocket-agent/store`
   * returns. Default: the bot reads the thread again.
   */
  conversations?: ConversationStore & { readonly memory?: UserMemory };
  /** Profile of the Mattermost tools; `none` leaves them out. Default reader. */
  profile?: Profile | 'none';
  /** Who can stop a run with a stop sign reaction: the user who asked, or everyone in the channel. Default asker. */
  mayStop?: 'asker' | 'everyone';
  /**
   * Hosts that links and images in answers may point to, in addition to hosts named in questions: `example.com`,
   * `*.example.com`, or `*`. Other links become text, because Mattermost loads previews without a click.
   */
  allowLinkHosts?: readonly string[];
  /** Minimum time between two edits of an answer. Default 1,000. */
  editMs?: number;
  /**
   * Lets Mattermost reach the bot: people approve calls by buttons, and a slash command changes the settings of a channel.
   * Default: approvals by reactions.
   */
  callbacks?: CallbackOptions;
  log?: Log;
  /** What is told of the runs of each conversation, such as `watch` of a studio address. Not with `durable`: that sees the runs. */
  watch?: (conversation: WatchedConversation) => Watcher;
  /** Called when the token is no longer valid; the bot stops answering. */
  onRefused?: () => void;
}

/** A conversation as a studio shows it. */
export interface WatchedConversation {
  id: string;
  /** The name of the bot. */
  agent: string;
}

/** Sees the events and requests to models of the runs. */
export interface Watcher {
  onEvent: EventListener;
  onModelCall?: ModelCallListener;
}

/** What the option `agent` may return. */
export type MadeAgent = PocketAgent<unknown> | PocketAgentOptions;

/** The place of a conversation, and the user who started it. */
export interface ConversationInfo {
  channelId: string;
  /** First post of the thread; undefined in a direct channel. */
  rootId: string | undefined;
  isDirect: boolean;
  /** The user who started the conversation. */
  username: string;
}

/** A bot that is connected and answers. */
export interface MattermostBot {
  readonly username: string;
  /** Stops running answers, notes that in their channels, and disconnects. */
  close(): Promise<void>;
}
