// Host patterns of options: `name`, `name:port`, `*.name` or an address.

export function isHost(pattern: string, { hostname, port, protocol }: URL): boolean {
  const wanted = pattern.toLowerCase();
  const name = hostname.replace(/\.$/, ''); // a fully qualified name may end with a dot
  if (wanted.startsWith('*.')) return name.endsWith(wanted.slice(1));
  const withPort = `${name}:${port || (protocol === 'https:' ? 443 : 80)}`;
  return wanted === name || wanted === withPort || wanted === name.replace(/^\[|\]$/g, '');
}
