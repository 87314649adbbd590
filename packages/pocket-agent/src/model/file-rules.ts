// Which files a model takes, by the rules for its provider and by what its server has rejected.
import type { LanguageModelV4, LanguageModelV4FilePart, LanguageModelV4Prompt } from '@ai-sdk/provider';
import { isTextual, PocketError, shownFile } from '@pocket-agent/kit';
import type { FilePart } from '../base/file-input.ts';
import { fileKey, filesIn } from './prompt-repair.ts';
import { modelsOf, type ProviderRules, rulesOf, setRules } from './provider-rules.ts';

/** The types of files in the newest user message that the model does not take; images are left out with a note. */
export function refusedTypes(model: LanguageModelV4, prompt: LanguageModelV4Prompt): string[] {
  const newest = prompt.findLast((message) => message.role === 'user');
  return (newest?.content ?? []).flatMap((part) => {
    if (part.type !== 'file' || part.mediaType.startsWith('image/')) return [];
    return takesFile(rulesOf(model), part.mediaType) ? [] : [part.mediaType];
  });
}

/** Throws if the model, or a model behind it, does not take one of the files. Unknown providers may take any. */
export async function checkFileTypes(model: LanguageModelV4, files: readonly FilePart[]): Promise<void> {
  const models = await modelsOf(model);
  for (const file of files) {
    if (file.type !== 'file') continue;
    const refusing = models.find((each) => !takesFile(rulesOf(each), file.mediaType));
    if (!refusing) continue;
    const reason = `does not take ${shownFile(file)}. ${acceptedTypes(rulesOf(refusing))}`;
    throw new PocketError('FILE_UNSUPPORTED', `Model ${refusing.modelId} ${reason}`, {
      details: { mediaType: file.mediaType, publicText: `The model of this agent ${reason}` },
    });
  }
}

function takesFile({ imageTypes, fileTypes }: ProviderRules, mediaType: string): boolean {
  // the types of images by URL are known after the download
  if (mediaType.startsWith('image/')) return mediaType === 'image/*' || (imageTypes?.includes(mediaType) ?? true);
  return isTextual(mediaType) || (fileTypes?.test(mediaType) ?? true);
}

const examples = ['application/pdf', 'audio/wav', 'audio/mpeg', 'video/mp4'];

function acceptedTypes({ imageTypes = [], fileTypes }: ProviderRules): string {
  const others = examples.filter((type) => fileTypes?.test(type) ?? true);
  return `It takes text, ${[...imageTypes, ...others].join(', ')}.`;
}

const REJECTED_IMAGE =
  /could not process image|image (input|content|data|url|exceeds|format|type)|invalid image|image is not valid|unsupported (image|mime)|(image|vision|multimodal)\S{0,60} .{0,40}not (supported|support)|not support\S{0,10} .{0,20}image/i;

/** Far more than one conversation contains. A forgotten file would be rejected again. */
const MAX_REJECTED_FILES = 10_000;

/** How servers reject files that are not images. Provider packages do so before they send anything. */
const REJECTED_FILE =
  /\b(files?|documents?|pdfs?|audio|video|media|mime|input_audio|video_url|file_data)\b.{0,80}(not (supported|valid|allowed|accepted|permitted)|unsupported|invalid|unknown|could not)|(unsupported|invalid|unknown|does not (support|accept)|not support\S*|unexpected).{0,80}\b(files?|documents?|pdfs?|audio|video|media|mime|input_audio|video_url)\b/is;

interface Rejection {
  model: LanguageModelV4;
  rejection: string;
  /** The prompt that was rejected. */
  prompt: LanguageModelV4Prompt;
}

/** Leaves the images of a rejected request out of later ones. Undefined if it was not rejected because of images. */
export function learnImages({ model, rejection, prompt }: Rejection): string | undefined {
  if (!REJECTED_IMAGE.test(rejection)) return undefined;
  const fresh = addRejected(model, filesIn(prompt, 'images')).length;
  if (fresh === 0) return undefined;
  return fresh === 1 ? 'an image' : `${fresh} images`;
}

/** Other files are not left out: the call fails, because an answer that ignores the file would mislead. */
export function refuseFiles({ model, rejection, prompt }: Rejection): void {
  const fresh = REJECTED_FILE.test(rejection) ? addRejected(model, filesIn(prompt, 'others')) : [];
  if (fresh.length === 0) return;
  const what = fresh.length === 1 ? 'a file' : 'a file, one of';
  const reason = `rejected ${what}: ${fresh.map(shownFile).join(', ')}`;
  const wayOut = 'Send it in another format or continue without it; the model does not get it again.';
  throw new PocketError('FILE_UNSUPPORTED', `Model ${model.modelId} ${reason}. ${wayOut} ${rejection.trim()}`, {
    details: { publicText: `The model of this agent ${reason}. ${wayOut}` },
  });
}

/** The files that were not rejected before. */
function addRejected(model: LanguageModelV4, files: readonly LanguageModelV4FilePart[]): LanguageModelV4FilePart[] {
  const rules = rulesOf(model);
  const keyed = files.flatMap((file) => {
    const key = fileKey(file);
    return key === undefined ? [] : [{ file, key }];
  });
  const fresh = keyed.filter(({ key }) => !rules.rejectedFiles.has(key));
  if (fresh.length === 0) return [];
  // keep all files of this request: a forgotten one would be sent and rejected forever
  const kept = Math.max(MAX_REJECTED_FILES, keyed.length);
  const keys = keyed.map(({ key }) => key);
  const rejectedFiles = new Set([...rules.rejectedFiles, ...keys].slice(-kept));
  setRules(model, { ...rules, rejectedFiles });
  return fresh.map(({ file }) => file);
}
