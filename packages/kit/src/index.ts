// Helpers that every package uses. Separate entry points: `/confined-files`, `/private-files` and `/telemetry/export` load
// more, `/require-node` and `/version` load nothing.
export {
  abortable,
  abortableAfter,
  CallClock,
  type CallClockOptions,
  type Deadline,
  type DeadlineOptions,
  delay,
  MAX_TIMER_MS,
  neverAborted,
  onAbort,
  settlesWithin,
  startDeadline,
  withDeadline,
  within,
} from './base/abort.ts';
export {
  CodedError,
  configError,
  errorText,
  isPocketError,
  isPublicError,
  PocketError,
  type PocketErrorCode,
  publicErrorText,
  readableError,
  refusalReason,
  schemaIssuesText,
  schemaIssueTexts,
} from './base/errors.ts';
export { dropOldest, estimateBytes, fairEvictionKey } from './base/eviction.ts';
export { callerOfToken, compileCacheEnv, fileSystem, isSameSecret, isWorker, sha256 } from './base/lazy-node.ts';
export {
  callListener,
  type Logger,
  type LogLevel,
  lineLogger,
  logLevels,
  logText,
  requestedLogLevel,
  stderrLogger,
  warnOnce,
} from './base/logger.ts';
export {
  booleanRule,
  checkValue,
  functionRule,
  hasMethods,
  isIntegerOrInfinity,
  isString,
  listOf,
  millisecondsUpTo,
  nonEmptyRule,
  nullable,
  nullableBoolean,
  nullableFunction,
  nullableString,
  type OptionRule,
  type OptionRules,
  OptionSet,
  objectRule,
  oneOf,
  positiveInteger,
  positiveNumber,
  readable,
  secretStringList,
  secretStringMap,
  stringList,
  stringRule,
  textOfLength,
  valueError,
} from './base/options.ts';
export {
  escapeInvisible,
  PrintableStream,
  printable,
  printableJson,
  printableText,
  truncate,
} from './base/printable.ts';
export { definedKeys, isRecord, nonEmptyString, recordsIn, stringsIn, withoutUndefined } from './base/records.ts';
export { redactData, redactError, redactSecrets } from './base/redaction.ts';
export { backoffMs, retryAfterHeader } from './base/retry-after.ts';
export { BatchQueue, EventQueue, inSlices, KeyedQueue, nextTurn, Semaphore, TimeSlices } from './base/scheduling.ts';
export { deepCopy, deepFreeze, snapshot } from './base/snapshot.ts';
export {
  closest,
  describeAvailable,
  didYouMean,
  editDistance,
  explainArguments,
  httpUrlHint,
  installCommand,
  unknownVariables,
} from './base/suggest.ts';
export {
  decodeUtf8,
  imageTypeOfBase64,
  isBase64,
  isTextual,
  matchesType,
  shownFile,
  standardBase64,
  typeOfBytes,
  typeOfName,
} from './files/file-types.ts';
export { type JsonFault, jsonFault, parseJsonFile, readJsonFile } from './files/json-file.ts';
export { makeFolder, makeFolderSync } from './files/make-folder.ts';
export { nodeVersionProblem } from './start/require-node.ts';
export { VERSION } from './start/version.ts';
export { inServedCallSpan, inToolCallSpan, type SentCall, type ServedCall } from './telemetry/mcp-spans.ts';
export {
  type CurrentSpan,
  currentSpan,
  errorTypeOf,
  hasTelemetry,
  inSpan,
  isInTrace,
  loadTelemetry,
  type Metric,
  type OpenSpan,
  recordValue,
  type SpanAttributes,
  type SpanRequest,
  startSpan,
  traceHeaders,
} from './telemetry/telemetry.ts';
