// The artifacts of a remote task as they arrive, without what a cut result would not show.
import { type Artifact, type ArtifactUpdate, assemble, type Part } from '../wire/wire.ts';

/** What an artifact or a part takes at least, so that empty ones are bounded as well. */
const OVERHEAD_BYTES = 100;

export class Artifacts {
  readonly #maxBytes: number;
  #size = 0;
  list: Artifact[] = [];
  /** Whether something was left out. */
  isCut = false;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  replaceAll(artifacts: readonly Artifact[]): void {
    this.list = [];
    this.#size = 0;
    this.isCut = false;
    for (const artifact of artifacts) {
      this.isCut = this.#size > this.#maxBytes;
      if (this.isCut) return;
      this.list.push({ ...artifact, parts: artifact.parts ?? [] });
      this.#size += sizeOf(artifact.parts);
    }
  }

  add({ artifact, ...update }: ArtifactUpdate): void {
    const { parts = [], artifactId } = artifact;
    const isFull = this.#size > this.#maxBytes;
    const known = isFull || !update.append ? this.list.find((one) => one.artifactId === artifactId) : undefined;
    if (isFull && (update.append || !known)) {
      this.isCut = true;
      return;
    }
    if (known) this.#size -= sizeOf(known.parts);
    assemble(this.list, { ...update, artifact: { ...artifact, parts } });
    this.#size += sizeOf(parts);
  }
}

function sizeOf(parts: readonly Part[] = []): number {
  return parts.reduce((sum, part) => sum + OVERHEAD_BYTES + contentSize(part), OVERHEAD_BYTES);
}

function contentSize({ text, raw, data }: Part): number {
  if (data !== undefined) return JSON.stringify(data).length;
  return Buffer.byteLength(text ?? raw ?? '');
}
