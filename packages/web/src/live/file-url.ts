// URLs for the files of messages.

interface FileLike {
  mediaType: string;
  data: unknown;
}

/** The URL of a file, or a data URL with its content. Undefined if the provider keeps the file. */
export function urlOf({ mediaType, data }: FileLike): string | undefined {
  const content = typeof data === 'object' && data !== null ? data : {};
  if ('url' in content) return String(content.url);
  const bytes = 'data' in content ? content.data : data;
  return typeof bytes === 'string' ? `data:${mediaType};base64,${bytes}` : undefined;
}
