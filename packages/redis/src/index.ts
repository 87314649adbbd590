// redisRateStore(): rate limits of a Router that several processes share through Redis.
import { checkValue, isRecord, nonEmptyRule, type OptionRule, OptionSet, PocketError } from '@pocket-agent/kit';
import type { RateStoreFactory } from 'pocket-agent';
import { RedisRateStore } from './redis-rate-store.ts';

/** The Redis that holds the counters, and the processes that share them. */
export interface RedisOptions {
  /** For example redis://user:password@host:6379/0 */
  url: string;
  /** Processes with the same prefix share the limits of deployments with the same id. Default pocket-agent. */
  prefix?: string;
}

const redisUrl: OptionRule = {
  expected: 'a URL that begins with redis:// or rediss://, such as redis://localhost:6379/0',
  accepts: (value) => typeof value === 'string' && URL.canParse(value) && /^rediss?:$/.test(new URL(value).protocol),
  isSecret: true,
};
const redisOptions = new OptionSet<RedisOptions>('redisRateStore', { url: redisUrl, prefix: nonEmptyRule });

/** For the option `rateStore` of a Router. */
export function redisRateStore(options: RedisOptions): RateStoreFactory {
  if (!isRecord(options ?? {}))
    throw new PocketError('CONFIG_INVALID', 'redisRateStore takes an object: redisRateStore({ url }).');
  redisOptions.check(options ?? {});
  checkValue('redisRateStore.url', options?.url, redisUrl);
  const { url, prefix = 'pocket-agent' } = options;
  return (settings) => new RedisRateStore({ ...settings, url, prefix });
}
