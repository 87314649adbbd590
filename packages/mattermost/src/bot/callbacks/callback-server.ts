// Serves the requests that Mattermost sends to the bot: clicks on its buttons, and its slash command.
import { createHash, timingSafeEqual } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import { errorText } from '@pocket-agent/kit';
import { MattermostError } from '../../base/errors.ts';
import { objectOf, parseObject } from '../../base/json.ts';
import type { Log } from '../../base/log.ts';
import { readBody } from '../../client/body.ts';

/** How Mattermost reaches the bot, for buttons and a slash command. */
export interface CallbackOptions {
  /** The address to listen on: a port, or `host:port`. The default host is 127.0.0.1. */
  listen: string;
  /** The URL of that address for Mattermost. Default `http://host:port`. */
  url?: string;
  /** The token that Mattermost gave to the slash command. Default: no slash command. */
  commandToken?: string;
}

/** A click on a button of the bot. */
export interface Click {
  userId: string;
  /** What the bot stored with the button. */
  context: Record<string, unknown>;
}

export interface SlashCommand {
  userId: string;
  channelId: string;
  /** The words after the name of the command. */
  text: string;
}

/** Both return a text that only the user sees; an empty one shows nothing. */
interface Handlers {
  click(click: Click): Promise<string>;
  command(command: SlashCommand): Promise<string>;
}

const MAX_BYTES = 64_000;

export class CallbackServer {
  /** The URL for Mattermost, without a trailing slash. */
  readonly url: string;
  readonly #server: Server;

  private constructor(url: string, server: Server) {
    this.url = url;
    this.#server = server;
  }

  static async open(options: CallbackOptions, handlers: Handlers, log: Log): Promise<CallbackServer> {
    const address = readAddress(options.listen);
    if (!address) {
      const text = `callbacks: "${options.listen}" is not a port or host:port, such as 8090.`;
      throw new MattermostError('CONFIG_INVALID', text);
    }
    if (options.commandToken === '')
      throw new MattermostError(
        'CONFIG_INVALID',
        'callbacks.commandToken is empty: leave it out for no slash command.',
      );
    const { host, port } = address;
    const server = createServer((request, response) => {
      answer(request, { options, handlers }).then(
        ({ status, body }) => {
          response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
        },
        (error) => {
          log.warning('callback_failed', { error: errorText(error).slice(0, 200) });
          const body = { ephemeral_text: 'Sorry, that did not work. Try again later.' };
          response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
        },
      );
    });
    server.listen(port, host);
    await once(server, 'listening').catch((cause: unknown) => {
      throw new MattermostError('CONFIG_INVALID', `callbacks: ${errorText(cause)}`, { cause });
    });
    const bound = server.address();
    const actual = bound !== null && typeof bound === 'object' ? bound.port : port;
    return new CallbackServer((options.url ?? `http://${host}:${actual}`).replace(/\/+$/, ''), server);
  }

  async close(): Promise<void> {
    const closed = once(this.#server, 'close');
    this.#server.close();
    this.#server.closeAllConnections();
    await closed;
  }
}

/** Undefined if it is not a port or host:port. */
export function readAddress(listen: string): { host: string; port: number } | undefined {
  const [, host = '127.0.0.1', port = ''] = /^(?:(.+):)?(\d{1,5})$/.exec(listen) ?? [];
  return port !== '' && Number(port) <= 65_535 ? { host, port: Number(port) } : undefined;
}

interface Answer {
  status: number;
  body: object;
}

async function answer(
  request: IncomingMessage,
  { options, handlers }: { options: CallbackOptions; handlers: Handlers },
): Promise<Answer> {
  const { pathname } = new URL(request.url ?? '/', 'http://bot');
  if (request.method !== 'POST') return { status: 404, body: {} };
  // a proxy may pass the path of the public URL on
  if (pathname.endsWith('/actions')) {
    const click = parseObject((await readBody(request, MAX_BYTES)).toString('utf8'));
    if (typeof click?.user_id !== 'string') return { status: 400, body: {} };
    const text = await handlers.click({ userId: click.user_id, context: objectOf(click.context) });
    return { status: 200, body: text === '' ? {} : { ephemeral_text: text } };
  }
  if (pathname.endsWith('/command') && options.commandToken !== undefined) {
    const form = new URLSearchParams((await readBody(request, MAX_BYTES)).toString('utf8'));
    if (!isSame(form.get('token') ?? '', options.commandToken)) return { status: 403, body: {} };
    const command = { userId: form.get('user_id') ?? '', channelId: form.get('channel_id') ?? '' };
    const text = await handlers.command({ ...command, text: form.get('text') ?? '' });
    return { status: 200, body: { response_type: 'ephemeral', text } };
  }
  return { status: 404, body: {} };
}

/** Compares secrets in constant time. */
export function isSame(one: string, other: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(one), digest(other));
}
