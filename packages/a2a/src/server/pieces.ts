// Splits long updates of a task into several events: clients of the SDK refuse lines of more than 4 MiB.
import { type Artifact, type ArtifactUpdate, OMITTED, type Part, type Task, type Update } from '../wire/task.ts';

/** JSON may need six bytes for a character. */
const PIECE_CHARACTERS = 500_000;
/** Files and data cannot be split. The rest of an event is small. */
const MAX_PART_BYTES = 4_000_000;

export async function* inPieces(updates: AsyncIterable<Update>): AsyncGenerator<Update> {
  for await (const update of updates) yield* piecesOf(update);
}

function* piecesOf(update: Update): Generator<Update> {
  if (update.kind === 'task' && isLong(update.task)) yield* piecesOfTask(update.task);
  else if (update.kind === 'artifact') yield* piecesOfArtifact(update);
  else yield update;
}

/** The task, then its artifacts. A long history is left out; clients can get it with the task. */
function* piecesOfTask({ artifacts = [], history = [], ...task }: Task): Generator<Update> {
  const isHistoryLong = lengthOf(history) > PIECE_CHARACTERS;
  yield { kind: 'task', task: { ...task, artifacts: [], history: isHistoryLong ? [] : history } };
  const { id: taskId, contextId } = task;
  for (const artifact of artifacts)
    yield* piecesOfArtifact({ kind: 'artifact', taskId, contextId, artifact, append: false, lastChunk: true });
}

function* piecesOfArtifact(update: ArtifactUpdate): Generator<ArtifactUpdate> {
  if (lengthOf([update.artifact]) <= PIECE_CHARACTERS) {
    yield update;
    return;
  }
  const parts = update.artifact.parts.flatMap(piecesOfPart);
  const { append, lastChunk = false } = update;
  for (const [index, part] of parts.entries()) {
    const isLast = index === parts.length - 1;
    const artifact: Artifact = { ...update.artifact, parts: [part] };
    yield { ...update, artifact, append: append || index > 0, lastChunk: lastChunk && isLast };
  }
}

function piecesOfPart(part: Part): Part[] {
  const { text } = part;
  if (text === undefined) return [streamable(part)];
  if (text.length <= PIECE_CHARACTERS) return [part];
  const pieces: Part[] = [];
  for (let start = 0; start < text.length; ) {
    const end = start + PIECE_CHARACTERS;
    const isInsideCharacter = text.slice(end - 1, end + 1).isWellFormed() && !text.slice(end - 1, end).isWellFormed();
    const cut = isInsideCharacter ? end - 1 : end;
    pieces.push({ ...part, text: text.slice(start, cut) });
    start = cut;
  }
  return pieces;
}

function streamable(part: Part): Part {
  const { raw, data, mediaType = '', filename = '' } = part;
  const size = Buffer.byteLength(raw ?? JSON.stringify(data) ?? '');
  if (size <= MAX_PART_BYTES) return part;
  const what = [filename, mediaType, `${size} bytes`].filter(Boolean).join(', ');
  return { text: `(${what}: too large for a stream; get the task to read it)`, metadata: { [OMITTED]: true } };
}

function isLong({ artifacts = [], history = [] }: Task): boolean {
  return lengthOf(artifacts) + lengthOf(history) > PIECE_CHARACTERS;
}

function lengthOf(holders: readonly { parts: readonly Part[] }[]): number {
  return holders.flatMap(({ parts }) => parts.map(partLength)).reduce((sum, length) => sum + length, 0);
}

function partLength({ text = '', raw = '', data }: Part): number {
  return text.length + raw.length + (data === undefined ? 0 : JSON.stringify(data).length);
}
