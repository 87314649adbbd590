// Downloads images and other files given by URL for models whose provider does not fetch them.
import type {
  LanguageModelV4,
  LanguageModelV4FilePart,
  LanguageModelV4Prompt,
  LanguageModelV4TextPart,
} from '@ai-sdk/provider';
import type { HttpFetch } from '@pocket-agent/http/fetch';
import { errorText, isTextual, Semaphore } from '@pocket-agent/kit';
import { MAX_FILE_BYTES, MAX_TOTAL_BYTES, textPart } from '../base/file-input.ts';

interface InlineOptions {
  signal: AbortSignal;
  /** Allows addresses of this machine and its network. Users who may pass URLs to an agent could read from there. */
  allowPrivate: boolean;
}

/** Parallel downloads of one prompt. A person may name any number of large files. */
const MAX_PARALLEL = 4;

interface Download {
  mediaType: string;
  bytes: Buffer;
}

const bounds = { redirects: 'follow', timeoutMs: 10_000, maxBytes: MAX_FILE_BYTES } as const;
const fetches: { public?: HttpFetch; none?: HttpFetch } = {};

type UserMessage = Extract<LanguageModelV4Prompt[number], { role: 'user' }>;
type RemotePart = LanguageModelV4FilePart & { data: { type: 'url' } };
type InlinedPart = LanguageModelV4FilePart | LanguageModelV4TextPart;

// by part, so that a file is downloaded once, even if that fails, for all steps and models
const fetched = new WeakMap<RemotePart, InlinedPart>();
const inlined = new WeakMap<LanguageModelV4, WeakMap<UserMessage, UserMessage>>();

/** Replaces the files that the model cannot fetch by their bytes, or by a note that says why they are missing. */
export async function inlineFiles(
  prompt: LanguageModelV4Prompt,
  model: LanguageModelV4,
  options: InlineOptions,
): Promise<LanguageModelV4Prompt> {
  const downloads: Downloads = { ...options, slots: new Semaphore(MAX_PARALLEL), bytes: 0 };
  const done = inlined.get(model) ?? new WeakMap<UserMessage, UserMessage>();
  inlined.set(model, done);
  const open = prompt.filter((message) => message.role === 'user').filter((message) => !done.has(message));
  const supported = await model.supportedUrls;
  await Promise.all(
    open.map(async (message) => {
      if (!message.content.some(isRemote)) return done.set(message, message);
      const content = message.content.map(async (part) => {
        if (!isRemote(part)) return part;
        return (await mayPass(part, supported, options)) ? part : inline(part, downloads);
      });
      return done.set(message, { ...message, content: await Promise.all(content) });
    }),
  );
  return prompt.map((message) => (message.role === 'user' ? (done.get(message) ?? message) : message));
}

function isRemote(part: { type: string; data?: { type: string } }): part is RemotePart {
  return part.type === 'file' && part.data?.type === 'url';
}

/** Private addresses are not passed on: the server of a model may be in the same network. */
async function mayPass(
  part: RemotePart,
  supported: Record<string, RegExp[]>,
  { allowPrivate }: InlineOptions,
): Promise<boolean> {
  if (!takesUrl(supported, part)) return false;
  if (allowPrivate) return true;
  const { isPrivateHost } = await import('@pocket-agent/http/fetch');
  return !(await isPrivateHost(part.data.url.hostname));
}

function takesUrl(supported: Record<string, RegExp[]>, part: RemotePart): boolean {
  const url = part.data.url.toString();
  return Object.entries(supported).some(([mediaType, patterns]) => {
    const prefix = mediaType.replace(/\*.*$/, '');
    const fits = prefix.endsWith('/') || prefix === '' ? part.mediaType.startsWith(prefix) : part.mediaType === prefix;
    return fits && patterns.some((pattern) => pattern.test(url));
  });
}

interface Downloads extends InlineOptions {
  slots: Semaphore;
  /** Downloaded so far. */
  bytes: number;
}

async function inline(part: RemotePart, downloads: Downloads): Promise<InlinedPart> {
  const known = fetched.get(part);
  if (known) return known;
  const { url } = part.data;
  let result: InlinedPart;
  try {
    const { mediaType, bytes } = await download(part, downloads);
    result = isTextual(mediaType)
      ? textPart(bytes, mediaType, part.filename)
      : { ...part, mediaType, data: { type: 'data', data: bytes.toString('base64') } };
  } catch (error) {
    downloads.signal.throwIfAborted();
    // a dead link does not end the conversation; the query may contain a signature, so it is left out
    const reason = reasonOf(error).replaceAll(url.href, url.host);
    result = {
      type: 'text',
      text: `[The ${isImage(part) ? 'image' : 'file'} ${url.host}${url.pathname} could not be fetched: ${reason}]`,
    };
  }
  fetched.set(part, result);
  return result;
}

async function download(part: RemotePart, downloads: Downloads): Promise<Download> {
  const release = await downloads.slots.acquire(downloads.signal);
  try {
    const tooLarge = 'the files of a prompt may have 100 MB together';
    if (downloads.bytes >= MAX_TOTAL_BYTES) throw new Error(tooLarge);
    const found = await downloadOne(part, downloads);
    if (downloads.bytes + found.bytes.byteLength > MAX_TOTAL_BYTES) throw new Error(tooLarge); // others came first
    downloads.bytes += found.bytes.byteLength;
    return found;
  } finally {
    release();
  }
}

async function downloadOne(part: RemotePart, { signal, allowPrivate }: InlineOptions): Promise<Download> {
  const { makeFetch } = await import('@pocket-agent/http/fetch');
  const guard = allowPrivate ? 'none' : 'public';
  fetches[guard] ??= makeFetch({ ...bounds, guard });
  const response = await fetches[guard](part.data.url, { signal });
  if (response.status !== 200) {
    await response.body?.cancel();
    throw new Error(`HTTP ${response.status}`);
  }
  const sent = response.headers.get('content-type')?.split(';')[0]?.trim().toLowerCase() ?? '';
  if (!hasExpectedType(sent, part)) {
    await response.body?.cancel();
    throw new Error(`its type is "${sent}", not ${isImage(part) ? 'an image' : part.mediaType}`);
  }
  const mediaType = isImage(part) ? sent : part.mediaType;
  return { mediaType, bytes: Buffer.from(await response.arrayBuffer()) };
}

/** Refuses a page that the server sent instead of the file, such as a login page. */
function hasExpectedType(sent: string, part: RemotePart): boolean {
  if (isImage(part)) return sent.startsWith('image/');
  if (sent === '' || sent === 'application/octet-stream' || sent === 'binary/octet-stream') return true;
  if (sent === 'text/html') return part.mediaType === 'text/html';
  if (isTextual(part.mediaType)) return isTextual(sent);
  const [kind] = part.mediaType.split('/');
  return kind === 'application' ? sent === part.mediaType : sent.startsWith(`${kind}/`);
}

function isImage({ mediaType }: RemotePart): boolean {
  return mediaType.startsWith('image/');
}

function reasonOf(error: unknown): string {
  const isPrivate = error instanceof Error && 'code' in error && error.code === 'PRIVATE_ADDRESS';
  return isPrivate ? 'its address is private (POCKET_AGENT_ALLOW_PRIVATE_URLS=1 allows that)' : errorText(error);
}
