// The public names of `@pocket-agent/store`.
export type { Migration, RunStatement } from './migrate.ts';
export { openStore, type Store, type StoreOptions } from './store.ts';
export { StoreError, type StoreErrorCode } from './store-error.ts';
