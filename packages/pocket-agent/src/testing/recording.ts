// The file of a recording: JSON with one entry for each model call. What a request shares with the one before is left out.
import { isDeepStrictEqual } from 'node:util';
import { configError, errorText, fileSystem, isRecord } from '@pocket-agent/kit';
import type { RecordedRequest } from './recordable.ts';
import type { RecordedAnswer, RecordedError } from './recorded-answer.ts';

/** Increased when older files cannot be read any more. */
const FORMAT = 1;

export interface RecordedCall {
  request: RecordedRequest;
  answer?: RecordedAnswer;
  /** Set if the call failed. */
  error?: RecordedError;
}

export interface Recording {
  provider: string;
  modelId: string;
  /** Patterns of the URLs that the provider fetches itself, by media type. */
  supportedUrls: Record<string, string[]>;
  calls: RecordedCall[];
}

interface CallInFile extends Omit<RecordedCall, 'request'> {
  /** How many messages at the beginning of the prompt are those of the call before. */
  sameMessages?: number;
  /** Other parts of the request that are those of the call before. */
  same?: string[];
  request: Partial<RecordedRequest>;
}

export function recordingText({ calls, ...recording }: Recording): string {
  const packed = calls.map((call, index) => packedCall(call, calls[index - 1]?.request));
  return `${JSON.stringify({ format: FORMAT, ...recording, calls: packed }, null, 2)}\n`;
}

export function readRecording(file: string): Recording {
  const content = parse(file);
  const isRecording = isRecord(content) && Array.isArray(content.calls) && typeof content.provider === 'string';
  if (!isRecording) throw configError(`${file} is not a recording of recordModel.`);
  if (content.format !== FORMAT)
    throw configError(
      `${file} has the format ${String(content.format)}; this version reads ${FORMAT}: record it again.`,
    );
  try {
    return { ...(content as unknown as Recording), calls: unpackedCalls(content.calls as CallInFile[]) };
  } catch (error) {
    throw configError(`${file} is not a recording of recordModel: ${errorText(error)}`, error);
  }
}

function parse(file: string): unknown {
  let text: string;
  try {
    text = fileSystem().readFileSync(file, 'utf8');
  } catch (error) {
    const isMissing = isRecord(error) && error.code === 'ENOENT';
    if (!isMissing) throw configError(`Cannot read the recording ${file}: ${errorText(error)}`, error);
    throw configError(`There is no recording ${file}: run once with recordModel(model, file) to make it.`, error);
  }
  try {
    return JSON.parse(text);
  } catch (error) {
    throw configError(`${file} is not JSON: ${errorText(error)}`, error);
  }
}

function packedCall({ request, ...result }: RecordedCall, before: RecordedRequest | undefined): CallInFile {
  if (!before) return { request, ...result };
  const { prompt, ...settings } = request;
  const firstNew = prompt.findIndex((message, index) => !isDeepStrictEqual(message, before.prompt[index]));
  const sameMessages = firstNew < 0 ? prompt.length : firstNew;
  const same = Object.keys(settings).filter((key) => isDeepStrictEqual(settings[key], before[key]));
  const changed = Object.entries(settings).filter(([key]) => !same.includes(key));
  return {
    sameMessages,
    same,
    request: { prompt: prompt.slice(sameMessages), ...Object.fromEntries(changed) },
    ...result,
  };
}

function unpackedCalls(calls: readonly CallInFile[]): RecordedCall[] {
  let before: RecordedRequest = { prompt: [] };
  return calls.map(({ sameMessages = 0, same = [], request, ...result }) => {
    const kept = Object.fromEntries(same.map((key) => [key, before[key]]));
    before = { ...kept, ...request, prompt: [...before.prompt.slice(0, sameMessages), ...(request.prompt ?? [])] };
    return { request: before, ...result };
  });
}
