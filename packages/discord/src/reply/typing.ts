// "… is typing" lasts ten seconds at Discord; this keeps it up until it is told to stop.
import type { SendableChannels } from 'discord.js';

const AGAIN_MS = 8_000;

export function keepTyping(channel: SendableChannels): () => void {
  // nobody misses it when it fails
  const type = () => void channel.sendTyping().catch(() => {});
  type();
  const timer = setInterval(type, AGAIN_MS).unref();
  return () => clearInterval(timer);
}
