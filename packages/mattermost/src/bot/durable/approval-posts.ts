// Approvals of a run in the channel of its question: a post for each call, which the person who asked answers by a button or a reaction.
import { errorText, escapeInvisible, isRecord } from '@pocket-agent/kit';
import { isMattermostError, isTransient } from '../../base/errors.ts';
import type { Log } from '../../base/log.ts';
import type { MattermostApi } from '../../client/api.ts';
import { path } from '../../client/path.ts';
import type { ApprovalButtons } from '../callbacks/approval-buttons.ts';
import { ANSWER_PROP, type WrittenPost } from '../posts/answer-post.ts';
import type { Question } from '../posts/questions.ts';
import { MAX_MESSAGE_LENGTH } from '../text/split-message.ts';
import type { BotRunQuestion, BotRuns } from './bot-runs.ts';
import { type OwnPosts, pendingIdOf } from './own-posts.ts';

interface ApprovalPostsOptions {
  api: MattermostApi;
  log: Log;
  runs: BotRuns;
  run: string;
  /** What the person asked. */
  question: Question;
  me: string;
  /** Default: reactions answer. */
  buttons: ApprovalButtons | undefined;
}

interface AskedCall {
  id: string;
  title: string;
  post: WrittenPost;
}

interface ReactionRecord {
  user_id?: string;
  emoji_name?: string;
}

const ALLOW = ['+1', 'thumbsup', 'white_check_mark'];
const DENY = ['-1', 'thumbsdown', 'x'];
const HOW_TO_ANSWER = 'React with :+1: to allow it or with :-1: to deny it.';

export class ApprovalPosts {
  readonly #options: ApprovalPostsOptions;
  /** By the id of the question of the run. */
  readonly #asked = new Map<string, AskedCall>();

  constructor(options: ApprovalPostsOptions) {
    this.#options = options;
  }

  /** Whether a person has to answer. */
  get isWaiting(): boolean {
    return this.#asked.size > 0;
  }

  /** Asks, unless an earlier process did in `posts`; a question that is not open any more gets no new post. */
  async ask(asked: BotRunQuestion, posts: OwnPosts): Promise<void> {
    const { log, question, buttons } = this.#options;
    const isOpen = await this.#isOpen(asked.id);
    const { call } = asked;
    if (!call) {
      log.warning('elicitation_cancelled', { post_id: question.postId });
      if (isOpen) await this.#answer(asked.id, { action: 'cancel' }, 'the bot');
      return;
    }
    const title = `@${question.username}, may I use **${inProse(call.tool)}**? It can ${call.capability} something.`;
    const text = [title, block(call), ...(buttons ? [] : [HOW_TO_ANSWER])].join('\n');
    const known = posts.get(this.#keyOf(asked.id));
    if (!isOpen && !known) return;
    if ([...text].length > MAX_MESSAGE_LENGTH)
      return this.#answer(asked.id, { deny: 'its arguments are too long to show to the user' }, 'the bot');
    const post = known ?? (await this.#post(asked.id, text));
    if (!post) return;
    this.#asked.set(asked.id, { id: asked.id, title, post });
    if (isOpen) await (buttons ? this.#readReactions(post.id) : this.#offerReactions(post.id));
  }

  /** Shows the answer in the post of the question. */
  async settle(id: string, outcome: string): Promise<void> {
    const { api } = this.#options;
    const asked = this.#asked.get(id);
    if (!asked) return;
    const message = `${asked.title}\n*${inProse(outcome)}*`;
    // without attachments there are no buttons
    const props = { [ANSWER_PROP]: this.#keyOf(id) };
    if (asked.post.message !== message) await api.put(path`/posts/${asked.post.id}/patch`, { message, props });
    this.#asked.delete(id);
  }

  /** The run is over: nothing is asked any more. */
  async close(): Promise<void> {
    for (const id of [...this.#asked.keys()]) await this.settle(id, 'It is no longer needed.');
  }

  /** Reads the reactions to open questions. */
  async readReactions(): Promise<void> {
    const { log, question } = this.#options;
    for (const { post } of [...this.#asked.values()])
      try {
        await this.#readReactions(post.id);
      } catch (error) {
        if (!isMattermostError(error) || isTransient(error)) throw error;
        log.warning('reactions_not_read', { post_id: question.postId, error: errorText(error).slice(0, 200) });
      }
  }

  /** False if the post is not a question of this run. */
  async react(userId: string, postId: string, emoji: string): Promise<boolean> {
    const asked = [...this.#asked.values()].find(({ post }) => post.id === postId);
    if (!asked) return false;
    if (ALLOW.includes(emoji)) await this.decide(asked.id, userId, true);
    else if (DENY.includes(emoji)) await this.decide(asked.id, userId, false);
    return true;
  }

  /** Undefined if the question is not an open one of this run; otherwise what to tell the user. */
  async decide(id: string, userId: string, isAllowed: boolean): Promise<string | undefined> {
    // after a restart a click may come before the run has been read again
    if (!(await this.#isOpen(id))) return undefined;
    const { question } = this.#options;
    if (userId !== question.userId) return `Only @${question.username} can answer this.`;
    await this.#answer(id, isAllowed ? 'allow' : { deny: 'the user denied it' }, question.username);
    return '';
  }

  async #isOpen(question: string): Promise<boolean> {
    const { runs, run } = this.#options;
    return (await runs.questions({ run })).some(({ id }) => id === question);
  }

  async #answer(id: string, answer: Parameters<BotRuns['answer']>[1], by: string): Promise<void> {
    await this.#options.runs.answer(id, answer, { by }).catch((error) => {
      // someone else has answered, or the run is over
      if (!isRecord(error) || !['QUESTION_CLOSED', 'QUESTION_UNKNOWN'].includes(String(error.code))) throw error;
    });
  }

  /** Undefined if Mattermost refuses it, which denies the call. */
  async #post(id: string, message: string): Promise<WrittenPost | undefined> {
    const { api, question, log, buttons } = this.#options;
    const { channelId: channel_id, rootId: root_id } = question;
    const props = buttons ? { props: { attachments: buttons.attachments(id) } } : {};
    try {
      const post = { channel_id, root_id, message, pending_post_id: this.#keyOf(id), ...props };
      return { id: (await api.createPost(post, ANSWER_PROP)).id, message };
    } catch (error) {
      if (!isMattermostError(error) || isTransient(error)) throw error;
      log.warning('approval_not_asked', { post_id: question.postId, error: errorText(error).slice(0, 200) });
      await this.#answer(id, { deny: 'the user could not be asked' }, 'the bot');
      return undefined;
    }
  }

  /** Adds both reactions, so that one click answers, and reads those that came while no bot ran. */
  async #offerReactions(postId: string): Promise<void> {
    const { api, me } = this.#options;
    for (const emoji_name of ['+1', '-1']) await api.post('/reactions', { user_id: me, post_id: postId, emoji_name });
    await this.#readReactions(postId);
  }

  async #readReactions(postId: string): Promise<void> {
    const { api } = this.#options;
    for (const { user_id = '', emoji_name = '' } of await api.list<ReactionRecord>(path`/posts/${postId}/reactions`))
      await this.react(user_id, postId, emoji_name);
  }

  #keyOf(id: string): string {
    return `${pendingIdOf(this.#options.question)}:may-${id.slice(0, 8)}`;
  }
}

/** What an answer in the journal of a run says. */
export function outcomeOf(data: unknown): { question: string; text: string } {
  const { question, answer, by } = data as { question: string; answer: unknown; by?: string };
  const isDenied = answer === 'deny' || (isRecord(answer) && ('deny' in answer || answer.allow === undefined));
  const reason = isRecord(answer) && typeof answer.deny === 'string' ? `: ${answer.deny}` : '';
  const isAllowed = answer === 'allow' || !isDenied;
  return { question, text: `${isAllowed ? 'Allowed' : 'Denied'}${by === undefined ? '' : ` by ${by}`}${reason}.` };
}

/** The whole call: people must see what they approve. In a block of code nothing is a mention, a link or markup. */
function block({ arguments: args, changed }: NonNullable<BotRunQuestion['call']>): string {
  const json = JSON.stringify(args, null, 2).split('\n').map(escapeInvisible);
  const lines = json.map((line) => line.replaceAll('`', '\\u0060').replace(/(?<=\S)\s{9,}/g, showSpaces));
  const note = changed ? ['The definition of this tool has changed since it was first seen.'] : [];
  return ['```json', ...note, ...lines, '```'].join('\n');
}

function showSpaces(run: string): string {
  return ` (${run.length} spaces) `;
}

function inProse(text: string): string {
  return escapeInvisible(text.replace(/\s+/g, ' '))
    .replaceAll('@', '@\u200b')
    .replaceAll(/[`*_[\]<>~|]/g, '\\$&');
}
