// Asks a user to approve a tool call: two buttons that only this user may press, and that expire.
import { randomUUID } from 'node:crypto';
import { errorText, onAbort } from '@pocket-agent/kit';
import {
  AttachmentBuilder,
  type ButtonInteraction,
  escapeCodeBlock,
  MessageFlags,
  PermissionFlagsBits,
} from 'discord.js';
import { type ApprovalAnswer, type ApprovalRequest, isPocketError, type Logger } from 'pocket-agent';
import { buttons } from '../reply/buttons.ts';
import type { AnswerChannel } from '../reply/interaction-channel.ts';
import { botCan } from './channel-permissions.ts';

/** Without a full stop, because they become part of a sentence for the model. */
const outcomeTexts = {
  allowed: 'Allowed',
  denied: 'Denied',
  expired: 'No answer in time, so I did not do it',
  stopped: 'Stopped, so I did not do it',
  elsewhere: 'Answered in the studio',
};
type Outcome = keyof typeof outcomeTexts;

interface PendingApproval {
  userId: string;
  answer(outcome: Outcome): void;
}

/** The user to ask, the channel, and the claim that needs the approval. */
interface ApprovalTarget {
  channel: AnswerChannel;
  userId: string;
  claim: string;
}

const MAX_SHOWN = 1_200;
/** The reason of the signal if another person has answered. */
export const ANSWERED_ELSEWHERE = 'answered elsewhere';

export class Approvals {
  readonly #pending = new Map<string, PendingApproval>();
  readonly #logger: Logger;

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /** Resolves when the user answers or the signal of the request aborts. */
  async ask(
    { tool, capability, signal, hash, ...request }: ApprovalRequest,
    target: ApprovalTarget,
  ): Promise<ApprovalAnswer> {
    const { channel, userId, claim } = target;
    // never the id of an approval from an earlier process
    const id = `${claim}.${randomUUID()}`;
    const args = visible(JSON.stringify(request.arguments, null, 1));
    const inBlock = escapeCodeBlock(args);
    const isLong = inBlock.length > MAX_SHOWN;
    const shown = isLong ? `${inBlock.slice(0, MAX_SHOWN).toWellFormed()} …` : inBlock;
    if (isLong && !botCan(channel, PermissionFlagsBits.AttachFiles)) {
      return { deny: 'The arguments are too long to show here, so the user could not approve them' };
    }
    const title = `<@${userId}>, may I use **${tool}**? It can ${capability} something.`;
    const answered = Promise.withResolvers<Outcome>();
    const expire = () => answered.resolve(outcomeOf(signal.reason));
    const release = onAbort(signal, expire);
    this.#pending.set(id, { userId, answer: answered.resolve });
    try {
      const message = await channel.send({
        content: `${title}\n\`\`\`json\n${shown}\n\`\`\``,
        components: buttons(['allow', 'deny'], id),
        // users must see everything they approve
        files: isLong ? [new AttachmentBuilder(Buffer.from(args), { name: 'arguments.json' })] : [],
        allowedMentions: { users: [userId] },
        // the arguments come from a model
        flags: MessageFlags.SuppressEmbeds,
      });
      const outcome = await answered.promise;
      await channel.messages
        .edit(message.id, { content: `${title}\n-# ${outcomeTexts[outcome]}.`, components: [] })
        .catch((error) =>
          this.#logger.warn('Could not remove the buttons of an approval', { claim, reason: errorText(error) }),
        );
      return outcome === 'allowed' ? { allow: true, hash } : { deny: outcomeTexts[outcome] };
    } finally {
      release();
      this.#pending.delete(id);
    }
  }

  /** False if this process did not ask. */
  async handleButton(
    interaction: ButtonInteraction,
    { id, allowed }: { id: string; allowed: boolean },
  ): Promise<boolean> {
    const pending = this.#pending.get(id);
    if (!pending) return false;
    const { userId } = pending;
    if (interaction.user.id === userId) {
      pending.answer(allowed ? 'allowed' : 'denied');
      await interaction.deferUpdate();
    } else {
      await interaction.reply({ content: `Only <@${userId}> can answer this.`, flags: MessageFlags.Ephemeral });
    }
    return true;
  }
}

function outcomeOf(reason: unknown): Outcome {
  if (reason === ANSWERED_ELSEWHERE) return 'elsewhere';
  return isPocketError(reason, 'TIMEOUT') ? 'expired' : 'stopped';
}

/** The claim in the id of an approval. */
export function claimOfApproval(id: string): string {
  return id.split('.')[0] ?? '';
}

/** U+2800 (braille blank) belongs to no blank class of Unicode. */
const HIDDEN = /(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]/gu;

/** Escapes characters that are invisible or change the direction of text. */
function visible(json: string): string {
  return json.replaceAll(HIDDEN, (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`);
}
