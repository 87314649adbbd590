// Images given by URL, fetched for models whose provider does not fetch them itself.
import { lookup } from 'node:dns';
import { get as getHttp, type IncomingMessage, type RequestOptions } from 'node:http';
import { get as getHttps } from 'node:https';
import { BlockList, isIP, isIPv6 } from 'node:net';
import type {
  LanguageModelV4,
  LanguageModelV4FilePart,
  LanguageModelV4Prompt,
  LanguageModelV4TextPart,
} from '@ai-sdk/provider';
import { abortable, startDeadline } from './abort.ts';
import { errorText } from './errors.ts';

interface InlineOptions {
  signal: AbortSignal;
  /** Also from this machine and its network, which strangers who give an agent URLs must not reach through it. */
  allowPrivate: boolean;
}

const LARGEST_IMAGE_BYTES = 20 * 1024 * 1024;
const TIME_LIMIT_MS = 10_000;
const MOST_REDIRECTS = 3;

type UserMessage = Extract<LanguageModelV4Prompt[number], { role: 'user' }>;
type RemotePart = LanguageModelV4FilePart & { data: { type: 'url' } };
type InlinedPart = LanguageModelV4FilePart | LanguageModelV4TextPart;

// by part, so that an image is asked for once, whatever came of it, however many steps and models look at it
const fetched = new WeakMap<RemotePart, InlinedPart>();
const inlined = new WeakMap<LanguageModelV4, WeakMap<UserMessage, UserMessage>>();

/** The prompt with the images that this model cannot fetch put in as bytes, or as word of why they are missing. */
export async function inlineImages(
  prompt: LanguageModelV4Prompt,
  model: LanguageModelV4,
  options: InlineOptions,
): Promise<LanguageModelV4Prompt> {
  const done = inlined.get(model) ?? new WeakMap<UserMessage, UserMessage>();
  inlined.set(model, done);
  const open = prompt.filter((message) => message.role === 'user').filter((message) => !done.has(message));
  const supported = await model.supportedUrls;
  await Promise.all(
    open.map(async (message) => {
      const isMissing = (part: UserMessage['content'][number]) => isRemote(part) && !takesUrl(supported, part);
      if (!message.content.some(isMissing)) return done.set(message, message);
      const content = message.content.map((part) => (isRemote(part) && isMissing(part) ? inline(part, options) : part));
      return done.set(message, { ...message, content: await Promise.all(content) });
    }),
  );
  return prompt.map((message) => (message.role === 'user' ? (done.get(message) ?? message) : message));
}

function isRemote(part: { type: string; data?: { type: string } }): part is RemotePart {
  return part.type === 'file' && part.data?.type === 'url';
}

function takesUrl(supported: Record<string, RegExp[]>, part: RemotePart): boolean {
  const url = part.data.url.toString();
  return Object.entries(supported).some(([mediaType, patterns]) => {
    const prefix = mediaType.replace(/\*.*$/, '');
    const fits = prefix.endsWith('/') || prefix === '' ? part.mediaType.startsWith(prefix) : part.mediaType === prefix;
    return fits && patterns.some((pattern) => pattern.test(url));
  });
}

async function inline(part: RemotePart, { signal, allowPrivate }: InlineOptions): Promise<InlinedPart> {
  const known = fetched.get(part);
  if (known) return known;
  const { url } = part.data;
  const deadline = startDeadline('Fetching it', [signal], TIME_LIMIT_MS);
  let result: InlinedPart;
  try {
    const { mediaType, bytes } = await fetchImage(url, { signal: deadline.signal, allowPrivate });
    result = { ...part, mediaType, data: { type: 'data', data: bytes.toString('base64') } };
  } catch (error) {
    signal.throwIfAborted();
    // a dead link must not end the conversation; a query often holds a signature, which is a secret
    const reason = errorText(error).replaceAll(url.href, url.host);
    result = { type: 'text', text: `[The image ${url.host}${url.pathname} could not be fetched: ${reason}]` };
  } finally {
    deadline.release();
  }
  fetched.set(part, result);
  return result;
}

async function fetchImage(from: URL, options: InlineOptions): Promise<{ mediaType: string; bytes: Buffer }> {
  let url = from;
  for (let redirects = 0; redirects <= MOST_REDIRECTS; redirects++) {
    const response = await open(url, options);
    try {
      const { statusCode = 0, headers } = response;
      if (statusCode >= 300 && statusCode < 400 && headers.location) {
        url = new URL(headers.location, url);
        continue;
      }
      if (statusCode !== 200) throw new Error(`HTTP ${statusCode}`);
      const mediaType = headers['content-type']?.split(';')[0]?.trim().toLowerCase() ?? '';
      if (!mediaType.startsWith('image/')) throw new Error(`it is no image but "${mediaType}"`);
      return { mediaType, bytes: await abortable(readBounded(response), options.signal) };
    } finally {
      response.destroy();
    }
  }
  throw new Error(`it was redirected more than ${MOST_REDIRECTS} times`);
}

/** Not with `fetch`: only here the address that was checked is surely the one that is connected to. */
function open(url: URL, { signal, allowPrivate }: InlineOptions): Promise<IncomingMessage> {
  const host = url.hostname.replace(/^\[|\]$/g, '');
  if (url.protocol !== 'http:' && url.protocol !== 'https:') throw new Error('only http and https are fetched');
  if (!allowPrivate && isIP(host) && isPrivate(host)) throw new PrivateAddress();
  const get = url.protocol === 'https:' ? getHttps : getHttp;
  return new Promise((resolve, reject) => {
    get(url, { signal, agent: false, ...(allowPrivate ? {} : { lookup: lookupPublic }) }, resolve).once(
      'error',
      reject,
    );
  });
}

const lookupPublic: NonNullable<RequestOptions['lookup']> = (hostname, options, callback) => {
  lookup(hostname, { ...options, all: true }, (error, addresses) => {
    if (error) return callback(error, '');
    if (addresses.some(({ address }) => isPrivate(address))) return callback(new PrivateAddress(), '');
    if (options.all) return callback(null, addresses);
    const [first] = addresses;
    return callback(null, first?.address ?? '', first?.family);
  });
};

class PrivateAddress extends Error {
  constructor() {
    super('its address is private (POCKET_AGENT_ALLOW_PRIVATE_URLS=1 allows that)');
  }
}

const privateAddresses = new BlockList();
for (const network of [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '224.0.0.0/3',
  '::/96',
  '64:ff9b::/96',
  '2002::/16',
  'fc00::/7',
  'fe80::/10',
  'ff00::/8',
]) {
  const [address = '', prefix] = network.split('/');
  privateAddresses.addSubnet(address, Number(prefix), isIPv6(address) ? 'ipv6' : 'ipv4');
}

function isPrivate(found: string): boolean {
  const address = found.replace(/%.*$/, ''); // without the name of a network card
  return privateAddresses.check(address, isIPv6(address) ? 'ipv6' : 'ipv4');
}

async function readBounded(response: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of response) {
    size += chunk.byteLength;
    if (size > LARGEST_IMAGE_BYTES) throw new Error(`it is larger than ${LARGEST_IMAGE_BYTES} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
