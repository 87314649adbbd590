// StoreError. Programs branch on `code`; no message contains a database URL.
import { CodedError } from '@pocket-agent/kit';

/** Why a database could not be opened or used. */
export type StoreErrorCode =
  | 'CONFIG_INVALID'
  | 'PACKAGE_MISSING'
  | 'OPEN_FAILED'
  | 'BUSY'
  | 'CLOSED'
  | 'NEWER_DATABASE'
  | 'MIGRATION_FAILED';

/** The error of a database that cannot be used. */
export class StoreError extends CodedError<StoreErrorCode> {
  override readonly name = 'StoreError';
}
