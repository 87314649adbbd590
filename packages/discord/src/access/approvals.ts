// Questions before a tool is called: two buttons that only the asked person may press, and that expire.
import { randomUUID } from 'node:crypto';
import {
  AttachmentBuilder,
  type ButtonInteraction,
  escapeCodeBlock,
  MessageFlags,
  PermissionFlagsBits,
  type SendableChannels,
} from 'discord.js';
import { type ApprovalAnswer, type ApprovalRequest, isPocketError, type Logger } from 'pocket-agent';
import { messageOf } from '../base/errors.ts';
import { buttons } from '../reply/buttons.ts';
import { botMay } from './bot-permissions.ts';

/** Without the dot: a model reads them in a sentence of others. */
const texts = {
  allowed: 'Allowed',
  denied: 'Denied',
  expired: 'Nobody answered in time, so I did not',
  stopped: 'Stopped, so I did not',
};
type Outcome = keyof typeof texts;

interface Question {
  userId: string;
  answer(outcome: Outcome): void;
}

/** Where and whom to ask, and for which answer. */
interface Asked {
  channel: SendableChannels;
  userId: string;
  claim: string;
}

const SHOWN = 1_200;

export class Approvals {
  readonly #open = new Map<string, Question>();
  readonly #logger: Logger;

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /** Expires with the signal of the request. */
  async ask({ tool, capability, signal, hash, ...request }: ApprovalRequest, asked: Asked): Promise<ApprovalAnswer> {
    const { channel, userId, claim } = asked;
    // never that of a question that a process before this one has left behind
    const id = `${claim}.${randomUUID()}`;
    const args = visible(JSON.stringify(request.arguments, null, 1));
    const inBlock = escapeCodeBlock(args);
    const isLong = inBlock.length > SHOWN;
    const shown = isLong ? `${inBlock.slice(0, SHOWN).toWellFormed()} …` : inBlock;
    if (isLong && !botMay(channel, PermissionFlagsBits.AttachFiles)) {
      return { deny: 'What it would be called with is too long to be shown here, so nobody could allow it' };
    }
    const title = `<@${userId}>, may I use **${tool}**? It can ${capability} something.`;
    const answered = Promise.withResolvers<Outcome>();
    const expire = () => answered.resolve(isPocketError(signal.reason, 'TIMEOUT') ? 'expired' : 'stopped');
    signal.addEventListener('abort', expire, { once: true });
    this.#open.set(id, { userId, answer: answered.resolve });
    try {
      const message = await channel.send({
        content: `${title}\n\`\`\`json\n${shown}\n\`\`\``,
        components: buttons(['allow', 'deny'], id),
        // nobody can allow what they have not seen
        files: isLong ? [new AttachmentBuilder(Buffer.from(args), { name: 'all-of-it.json' })] : [],
        allowedMentions: { users: [userId] },
        // its arguments were written by a model
        flags: MessageFlags.SuppressEmbeds,
      });
      const outcome = await answered.promise;
      await message
        .edit({ content: `${title}\n-# ${texts[outcome]}.`, components: [] })
        .catch((error) => this.#logger.warn('A question could not be closed', { claim, reason: messageOf(error) }));
      return outcome === 'allowed' ? { allow: true, hash } : { deny: texts[outcome] };
    } finally {
      signal.removeEventListener('abort', expire);
      this.#open.delete(id);
    }
  }

  /** False when this process did not ask. */
  async press(interaction: ButtonInteraction, { id, allowed }: { id: string; allowed: boolean }): Promise<boolean> {
    const question = this.#open.get(id);
    if (!question) return false;
    const { userId } = question;
    if (interaction.user.id === userId) {
      question.answer(allowed ? 'allowed' : 'denied');
      await interaction.deferUpdate();
    } else {
      await interaction.reply({ content: `Only <@${userId}> can answer this.`, flags: MessageFlags.Ephemeral });
    }
    return true;
  }
}

/** The answer that a question was asked for. */
export function claimOfQuestion(id: string): string {
  return id.split('.')[0] ?? '';
}

/** U+2800 is a pattern of no dots, which no class of Unicode calls blank. */
const HIDDEN = /(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]/gu;

/** Characters that show nothing, or turn around what stands beside them, are spelled out. */
function visible(json: string): string {
  return json.replaceAll(HIDDEN, (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`);
}
