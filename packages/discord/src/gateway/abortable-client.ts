// A client of discord.js that ends when it is told to, also while it tries in vain to reach Discord.
import { type ClientOptions, DefaultRestOptions, SimpleShardingStrategy } from 'discord.js';

type Connection = Required<Pick<ClientOptions, 'ws' | 'rest'>>;

/** After `ended` nothing is sent, what is on its way is given up, and no shard connects any more. */
export function endingWith(ended: AbortSignal, { ws, rest }: Pick<ClientOptions, 'ws' | 'rest'> = {}): Connection {
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
      // a shard that is destroyed while it waits for Discord begins anew; it asks for its session first
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
