// What the SDK's client keeps of the answers of a server: no lists of tools that nobody will look up there.
import { InMemoryResponseCacheStore } from '@modelcontextprotocol/client';
import { declaresHeaders } from './send-call.ts';

/** The SDK keeps each list of tools as text for its `callTool`; where that has nothing to do the text only takes room. */
export class SparingCache extends InMemoryResponseCacheStore {
  override set(...[key, entry]: Parameters<InMemoryResponseCacheStore['set']>): number {
    if (key.method !== 'tools/list' || declaresHeaders(entry.value)) return super.set(key, entry);
    this.delete(key);
    return 0;
  }
}
