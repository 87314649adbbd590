// Images given by URL, fetched for models whose provider does not fetch them itself.
import type { LanguageModelV4, LanguageModelV4FilePart, LanguageModelV4Prompt } from '@ai-sdk/provider';
import { errorText, PocketError } from './errors.ts';

const LARGEST_IMAGE_BYTES = 20 * 1024 * 1024;

type RemotePart = LanguageModelV4FilePart & { data: { type: 'url' } };

// by part, so that an image is fetched once however many steps look at it
const fetched = new WeakMap<RemotePart, LanguageModelV4FilePart>();

/** The prompt with the images that this model cannot fetch put in as bytes. */
export async function inlineImages(
  prompt: LanguageModelV4Prompt,
  model: LanguageModelV4,
  signal: AbortSignal,
): Promise<LanguageModelV4Prompt> {
  const supported = await model.supportedUrls;
  return Promise.all(
    prompt.map(async (message) => {
      if (message.role !== 'user' || !message.content.some(isRemote)) return message;
      const inlined = message.content.map((part) =>
        isRemote(part) && !takesUrl(supported, part) ? inline(part, model, signal) : part,
      );
      return { ...message, content: await Promise.all(inlined) };
    }),
  );
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

async function inline(part: RemotePart, model: LanguageModelV4, signal: AbortSignal): Promise<LanguageModelV4FilePart> {
  const known = fetched.get(part);
  if (known) return known;
  const { url } = part.data;
  let response: Response;
  let bytes: Buffer;
  try {
    response = await fetch(url, { signal });
    if (!response.ok) throw new Error(`HTTP ${response.status}`);
    bytes = await readBounded(response);
  } catch (error) {
    signal.throwIfAborted();
    // a query often holds a signature, which is a secret
    throw new PocketError(
      'MODEL_FAILED',
      `Could not fetch the image ${url.origin}${url.pathname} for ${model.provider}, which takes no such URL itself: ${errorText(error)}`,
      { cause: error },
    );
  }
  const told = response.headers.get('content-type')?.split(';')[0]?.trim() ?? '';
  const inlined: LanguageModelV4FilePart = {
    ...part,
    mediaType: told.startsWith('image/') ? told : part.mediaType,
    data: { type: 'data', data: bytes.toString('base64') },
  };
  fetched.set(part, inlined);
  return inlined;
}

async function readBounded(response: Response): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body ?? []) {
    size += chunk.byteLength;
    if (size > LARGEST_IMAGE_BYTES) throw new Error(`it is larger than ${LARGEST_IMAGE_BYTES} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
