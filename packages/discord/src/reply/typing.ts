// Keeps the typing indicator on, which Discord shows for ten seconds.
import type { AnswerChannel } from './interaction-channel.ts';

const INTERVAL_MS = 8_000;

export function keepTyping(channel: AnswerChannel): () => void {
  // errors do not matter here
  const type = () => void channel.sendTyping().catch(() => {});
  type();
  const timer = setInterval(type, INTERVAL_MS).unref();
  return () => clearInterval(timer);
}
