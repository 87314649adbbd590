// One header of an answer, without making the object of all of them that `message.headers` is.
import type { IncomingMessage } from 'node:http';

/** The values of a name that is there several times are joined, as in `Headers`. */
export function rawHeader({ rawHeaders }: IncomingMessage, name: string): string | undefined {
  let found: string | undefined;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const key = rawHeaders[index] ?? '';
    if (key.length !== name.length || key.toLowerCase() !== name) continue;
    const value = rawHeaders[index + 1] ?? '';
    found = found === undefined ? value : `${found}, ${value}`;
  }
  return found;
}
