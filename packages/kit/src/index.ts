// The helpers that every package needs. Files of users are in `@pocket-agent/kit/private-files`, which loads more of Node.
export {
  abortable,
  abortableAfter,
  type Deadline,
  delay,
  LONGEST_TIMER_MS,
  neverAborted,
  onAbort,
  startDeadline,
  within,
} from './abort.ts';
export {
  errorText,
  isPocketError,
  isPublic,
  issuesText,
  PocketError,
  type PocketErrorCode,
  refusalReason,
  textForOthers,
} from './errors.ts';
export { oldestOfLargest } from './fair-share.ts';
export { compileCacheEnv, fileSystem, sha256, versionIn } from './late-node.ts';
export { type Logger, stderrLogger } from './logger.ts';
export { Numbered } from './numbered.ts';
export {
  aFunction,
  aText,
  can,
  checkValue,
  count,
  faultOf,
  givenIn,
  givenKeys,
  type Hint,
  isCount,
  isObject,
  isText,
  listOf,
  OptionSet,
  oneOf,
  orNull,
  positive,
  type Rule,
  type Rules,
  secretTexts,
  text,
  texts,
  textsByName,
  trueOrFalse,
  yesOrNo,
} from './options.ts';
export { bounded, PrintableStream, printable, printableJson, printableText } from './printable.ts';
export { redactError, redactErrorText, redactSecrets } from './redaction.ts';
export { copyOf, snapshot } from './snapshot.ts';
export { addressInstead, closest, didYouMean, whatThereIs } from './suggest.ts';
