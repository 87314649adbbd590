// Reads a response body up to a maximum size.
import type { IncomingMessage } from 'node:http';
import { MattermostError } from '../base/errors.ts';

export async function readBody(response: IncomingMessage, maxBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of response) {
    size += chunk.length;
    if (size > maxBytes) {
      throw new MattermostError(
        'TOO_LARGE',
        `The response of Mattermost is larger than ${maxBytes} bytes; ask for less.`,
      );
    }
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
