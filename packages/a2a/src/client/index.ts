// The public names of `@pocket-agent/a2a/client`: an A2A client that does not need the rest of Pocket Agent.

export { canonicalJson } from '../signing/canonical-json.ts';
export {
  type ReceivedNotification,
  SIGNATURE_HEADER,
  verifyNotification,
} from '../signing/notification-jwt.ts';
export type { SigningKey } from '../signing/signing-key.ts';
export { type FindKeys, type SignatureState, verifyCard } from '../signing/verify-card.ts';
export { CARD_PATH } from '../wire/agent-card.ts';
export {
  type Artifact,
  isAtRest,
  isOver,
  type Message,
  type Metadata,
  type Part,
  type Task,
  type TaskStateName,
  type TaskStatus,
  taskStates,
  type Update,
} from '../wire/task.ts';
export {
  A2aClient,
  type A2aClientOptions,
  type A2aFetch,
  type Authorization,
  isUnsupported,
} from './a2a-client.ts';
export { A2aError, type A2aErrorCode, type A2aErrorDetails, explainFetchError } from './a2a-error.ts';
export {
  type CardInterface,
  type Dialect,
  type Endpoint,
  endpointOf,
  interfacesOf,
} from './endpoint.ts';
export { type FollowOptions, followTask } from './follow-task.ts';
export { INPUT_SCHEMA_EXTENSION, inputSchemaOf, makeSchemaCheck, type SchemaCheck } from './input-schema.ts';
export { type ClientCredentials, type DeviceGrant, type DeviceLogin, OAuthTokens } from './oauth-tokens.ts';
export { readUpdate } from './read-json.ts';
export { type Requirement, type Scheme, type Security, securityOf } from './security.ts';
export { TaskCollector } from './task-collector.ts';
export type { OutgoingMessage, PushAddress } from './write-request.ts';
