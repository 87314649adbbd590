// The address of a file of a message, for pages.

interface FileLike {
  mediaType: string;
  data: unknown;
}

/** The address of a file of a message, or a data URL; undefined if the provider keeps the file. */
export function urlOf({ mediaType, data }: FileLike): string | undefined {
  const content = typeof data === 'object' && data !== null ? data : {};
  if ('url' in content) return String(content.url);
  const bytes = 'data' in content ? content.data : data;
  return typeof bytes === 'string' ? `data:${mediaType};base64,${bytes}` : undefined;
}
