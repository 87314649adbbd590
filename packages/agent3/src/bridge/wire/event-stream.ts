// Server-sent events, one after the other, from the body of an answer.

export interface ServerEvent {
  type: string;
  data: string;
}

/** How long the end of a stream is waited for after its last event, so that the connection can be used again. */
const END_MS = 200;

export async function* readEvents(body: ReadableStream<Uint8Array>): AsyncGenerator<ServerEvent> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let rest = '';
  let held = ''; // half of a line break
  let event = { type: 'message', data: [] as string[] };
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return; // an event without its empty line was cut off
      const chunk = held + decoder.decode(value, { stream: true });
      held = chunk.endsWith('\r') ? '\r' : '';
      const [first = '', ...others] = chunk.slice(0, chunk.length - held.length).split(/\r\n|\n|\r/);
      const lines = [rest + first, ...others];
      rest = lines.pop() ?? '';
      for (const line of lines) {
        if (line !== '') {
          readLine(line, event);
          continue;
        }
        const { type, data } = event;
        event = { type: 'message', data: [] };
        if (data.length > 0) yield { type, data: data.join('\n') };
      }
    }
  } finally {
    void letGo(reader);
  }
}

function readLine(line: string, event: { type: string; data: string[] }): void {
  const [, field, value = ''] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) ?? [];
  if (field === 'data') event.data.push(value);
  if (field === 'event') event.type = value;
}

async function letGo(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<void> {
  const timer = setTimeout(() => void reader.cancel().catch(() => {}), END_MS).unref();
  try {
    while (!(await reader.read()).done);
  } catch {
    // it broke off, which is an end as well
  } finally {
    clearTimeout(timer);
  }
}
