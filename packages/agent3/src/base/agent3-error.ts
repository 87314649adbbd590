// The one error class of Agent3. Programs branch on `code`; people read `message`, which names the way out.
import { CodedError } from '@pocket-agent/kit';

/** Why a registry, a hub or a call refused a request. */
export type Agent3ErrorCode =
  | 'CONFIG_INVALID'
  | 'INPUT_INVALID'
  | 'AGENT_UNKNOWN'
  | 'CARD_INVALID'
  | 'CARD_UNAVAILABLE'
  | 'SIGNATURE_INVALID'
  | 'FORBIDDEN'
  | 'SECRET_KEY'
  | 'RECEIPT_INVALID'
  | 'ALREADY_RATED'
  | 'HUB_UNAVAILABLE';

export class Agent3Error extends CodedError<Agent3ErrorCode> {
  override readonly name = 'Agent3Error';
}
