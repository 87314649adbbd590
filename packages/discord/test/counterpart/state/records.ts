// The records of a local Discord.
import type {
  APIApplicationCommand,
  APIEmbed,
  APIMessageTopLevelComponent,
  APIModalInteractionResponseCallbackData,
  APIOverwrite,
  APIPoll,
  APIRole,
  APIUser,
  ChannelType,
  InteractionResponseType,
  InteractionType,
  MessageType,
} from 'discord-api-types/v10';

export interface Member {
  user: APIUser;
  nick: string | null;
  roles: string[];
  joinedAt: string;
}

export interface Guild {
  id: string;
  name: string;
  ownerId: string;
  roles: Map<string, APIRole>;
  members: Map<string, Member>;
}

interface ThreadState {
  ownerId: string;
  archived: boolean;
  locked: boolean;
  invitable: boolean;
  autoArchiveMinutes: number;
  archivedAt: string;
  members: Set<string>;
}

export interface Channel {
  id: string;
  type: ChannelType;
  name: string;
  guildId?: string;
  parentId?: string;
  position: number;
  topic: string | null;
  nsfw: boolean;
  overwrites: APIOverwrite[];
  /** The person a direct message channel is shared with. */
  recipient?: APIUser;
  /** The people of a group without the bot. */
  people?: APIUser[];
  thread?: ThreadState;
  messages: Map<string, StoredMessage>;
}

export interface UploadedFile {
  name: string;
  contentType: string;
  bytes: Buffer;
  description?: string;
}

export interface StoredFile extends UploadedFile {
  id: string;
}

/** The users and roles that a text mentions or notifies. */
export interface Pinged {
  users: string[];
  roles: string[];
  everyone: boolean;
}

/** One version of a message, valid from `at` on. */
interface MessageVersion {
  at: number;
  content: string;
  embeds: APIEmbed[];
  components: APIMessageTopLevelComponent[];
  files: StoredFile[];
}

export interface StoredMessage extends Omit<MessageVersion, 'at'> {
  id: string;
  channelId: string;
  type: MessageType;
  author: APIUser;
  flags: number;
  createdAt: number;
  editedAt?: number;
  deletedAt?: number;
  pinned: boolean;
  nonce?: string | number;
  replyTo?: { messageId: string; channelId: string };
  forwarded?: StoredMessage;
  poll?: APIPoll;
  votes: Map<number, Set<string>>;
  reactions: Map<string, Set<string>>;
  /** Who was notified when it was sent; edits notify no one. */
  pinged: Pinged;
  /** Its current mentions. */
  mentioned: Pinged;
  /** The only person who sees an ephemeral message. */
  onlyFor?: string;
  interaction?: StoredInteraction;
  /** All versions, oldest first. */
  history: MessageVersion[];
}

export interface StoredInteraction {
  id: string;
  token: string;
  type: InteractionType;
  user: APIUser;
  channel: Channel;
  createdAt: number;
  commandName?: string;
  /** Used by a person who installed the app where the bot is not. */
  isExternal: boolean;
  /** The message whose button or menu was used. */
  source?: StoredMessage;
  response?: InteractionResponseType;
  respondedAt?: number;
  /** It was not answered in time; the person sees "The application did not respond". */
  failed: boolean;
  original?: StoredMessage;
  followUps: StoredMessage[];
  /** Runs until the interaction is answered or has failed. */
  timer?: NodeJS.Timeout;
  choices?: { name: string; value: string | number }[];
  modal?: APIModalInteractionResponseCallbackData;
}

export interface StoredCommand {
  guildId?: string;
  json: APIApplicationCommand;
}

export interface TypingRecord {
  channelId: string;
  userId: string;
  at: number;
}
