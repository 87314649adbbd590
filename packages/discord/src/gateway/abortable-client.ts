// Options that let discord.js stop immediately, even while it is trying to reach Discord.
import { type ClientOptions, DefaultRestOptions, SimpleShardingStrategy } from 'discord.js';

type ConnectionOptions = Required<Pick<ClientOptions, 'ws' | 'rest'>>;

/** After `ended` no request is sent, pending requests fail, and no shard connects. */
export function abortableOptions(
  ended: AbortSignal,
  { ws, rest }: Pick<ClientOptions, 'ws' | 'rest'> = {},
): ConnectionOptions {
  const makeRequest = rest?.makeRequest ?? DefaultRestOptions.makeRequest;
  return {
    rest: {
      ...rest,
      makeRequest: (url, init) => {
        const signals = init.signal ? [init.signal, ended] : [ended];
        return makeRequest(url, { ...init, signal: AbortSignal.any(signals) });
      },
    },
    ws: {
      // a shard that is destroyed while connecting starts again and first asks for its session: never answer
      buildStrategy: (manager) => {
        const { retrieveSessionInfo } = manager.options;
        manager.options.retrieveSessionInfo = (shard) =>
          ended.aborted ? new Promise(() => {}) : retrieveSessionInfo(shard);
        return new SimpleShardingStrategy(manager);
      },
      ...ws,
    },
  };
}
