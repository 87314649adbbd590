// Downloads images and other files given by URL for models whose provider does not fetch them.
import type {
  LanguageModelV4,
  LanguageModelV4FilePart,
  LanguageModelV4Prompt,
  LanguageModelV4TextPart,
} from '@ai-sdk/provider';
import type { HttpFetch } from '@pocket-agent/http/fetch';
import { errorText, isTextual } from '@pocket-agent/kit';
import { MAX_FILE_BYTES, textPart } from '../base/file-input.ts';

interface InlineOptions {
  signal: AbortSignal;
  /** Allows addresses of this machine and its network. Users who may pass URLs to an agent could read from there. */
  allowPrivate: boolean;
}

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

async function inline(part: RemotePart, options: InlineOptions): Promise<InlinedPart> {
  const known = fetched.get(part);
  if (known) return known;
  const { url } = part.data;
  let result: InlinedPart;
  try {
    const { mediaType, bytes } = await download(part, options);
    result = isTextual(mediaType)
      ? textPart(bytes, mediaType, part.filename)
      : { ...part, mediaType, data: { type: 'data', data: bytes.toString('base64') } };
  } catch (error) {
    options.signal.throwIfAborted();
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

async function download(part: RemotePart, { signal, allowPrivate }: InlineOptions): Promise<Download> {
  const { makeFetch } = await import('@pocket-agent/http/fetch');
  const guard = allowPrivate ? 'none' : 'public';
  fetches[guard] ??= makeFetch({ ...bounds, guard });
  const response = await fetches[guard](part.data.url, { signal });
  if (response.status !== 200) {
    await response.body?.cancel();
    throw new Error(`HTTP ${response.status}`);
  }
  const sent = response.headers.get('content-type')?.split(';')[0]?.trim().toLowerCase() ?? '';
  if (!isOfType(sent, part)) {
    await response.body?.cancel();
    throw new Error(`its type is "${sent}", not ${isImage(part) ? 'an image' : part.mediaType}`);
  }
  const mediaType = isImage(part) ? sent : part.mediaType;
  return { mediaType, bytes: Buffer.from(await response.arrayBuffer()) };
}

/** A page in place of the file, such as one that asks for a login, is not sent to the model as the file. */
function isOfType(sent: string, part: RemotePart): boolean {
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
