// `_meta` of requests.

/** Without entries of the connection, because the rest may be passed on to another server. */
export function ownMeta(meta: Record<string, unknown> = {}): Record<string, unknown> {
  const isOfConnection = (key: string) => key === 'progressToken' || key.startsWith('io.modelcontextprotocol/');
  return Object.fromEntries(Object.entries(meta).filter(([key]) => !isOfConnection(key)));
}
