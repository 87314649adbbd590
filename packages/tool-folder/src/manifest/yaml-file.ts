// Reads YAML, checks it against a schema and reports every problem with its line and column.
import { closest, errorText } from '@pocket-agent/kit';
import { expectedCapability } from 'pocket-agent/internal';
import {
  type Document,
  isAlias,
  isMap,
  isNode,
  isPair,
  isScalar,
  isSeq,
  type LineCounter,
  type Node,
  visit,
} from 'yaml';
import type { DescribedSchema, Path } from './described-schema.ts';
import { parseYaml } from './parse-yaml.ts';
import { describeValue, type ManifestProblem } from './problem.ts';

interface Finding {
  found: string;
  expected: string;
}

interface YamlSource<Value> {
  file: string;
  text: string;
  /** What problems call the text. */
  kind?: 'file' | 'front matter';
  schema: DescribedSchema<Value>;
}

/** The advice for `description: Use this: when …`, which YAML reads as a mapping. */
const QUOTED = 'a string with ": " in quotes';

/** A parsed file that knows the position of every value. */
export class YamlFile<Value> {
  readonly file: string;
  readonly problems: ManifestProblem[] = [];
  /** The value before it was checked; undefined if the file is not YAML. */
  readonly raw: unknown;
  /** The checked value; undefined if the file does not match its schema. */
  readonly value: Value | undefined;
  readonly #schema: DescribedSchema<Value>;
  readonly #kind: string;
  readonly #lines: LineCounter;
  readonly #document: Document | undefined;

  constructor({ file, text, schema, kind = 'file' }: YamlSource<Value>) {
    this.file = file;
    this.#schema = schema;
    this.#kind = kind;
    const { documents, lines } = parseYaml(text);
    this.#lines = lines;
    this.#document = this.#onlyDocument(documents);
    this.raw = this.#document ? this.#plain(this.#document) : undefined;
    if (this.raw !== undefined) this.value = this.#check(this.raw);
  }

  /** Reports a problem at the value or the key of `path`; if that is missing, at its parent. */
  report(path: Path, finding: Finding, of: 'key' | 'value' = 'value'): void {
    this.problems.push(this.#problem(this.#offset(path, of), finding));
  }

  /** The position of the value at `path`. */
  position(path: Path): Pick<ManifestProblem, 'line' | 'column'> {
    const { line, col } = this.#lines.linePos(this.#offset(path, 'value'));
    return { line, column: col };
  }

  /** A problem for each unknown key of the mapping at `path`. */
  unknownKeys(path: Path, keys: readonly string[]): ManifestProblem[] {
    const known = this.#schema.keysAt(path);
    return keys.map((key) => {
      const meant = closest(key, known);
      const expected = meant ? `"${meant}" (did you mean that?)` : `one of ${known.join(', ')}`;
      return this.#problem(this.#offset([...path, key], 'key'), {
        found: `the unknown key ${describeValue(key)}`,
        expected,
      });
    });
  }

  #problem(offset: number, { found, expected }: Finding): ManifestProblem {
    const { line, col } = this.#lines.linePos(offset);
    return { file: this.file, line: Math.max(line, 1), column: Math.max(col, 1), found, expected };
  }

  #addProblem(offset: number, found: string, expected: string): void {
    this.problems.push(this.#problem(offset, { found, expected }));
  }

  #onlyDocument(documents: readonly Document.Parsed[]): Document | undefined {
    const [first, second] = documents;
    for (const { errors, warnings } of documents) {
      for (const fault of [...errors, ...warnings]) {
        const expected = fault.code === 'BLOCK_AS_IMPLICIT_KEY' ? QUOTED : 'valid YAML';
        this.#addProblem(fault.pos[0], `a YAML error (${fault.message})`, expected);
      }
    }
    if (this.problems.length > 0) return undefined;
    if (!first || (!second && first.contents === null))
      this.#addProblem(0, `an empty ${this.#kind}`, this.#schema.expectedAt([]));
    else if (second) this.#addProblem(second.range[0], 'a second YAML document', 'one document; remove the ---');
    else this.#findUnquotedCommas(first);
    return this.problems.length > 0 ? undefined : first;
  }

  /** Finds unquoted commas: `{ description: one, or more }` parses as a description and a key without a value. */
  #findUnquotedCommas(document: Document): void {
    visit(document, {
      Pair: (_index, { key, value }, path) => {
        const map = path.at(-1);
        const isEmptyKey =
          isMap(map) &&
          map.flow &&
          isScalar(key) &&
          (value === null || (isScalar(value) && value.value === null && value.source === ''));
        if (isEmptyKey)
          this.#addProblem(
            startOf(key) ?? 0,
            `${describeValue(key.value)} without a value`,
            'a value; put a string with a comma in quotes',
          );
      },
    });
  }

  #plain(document: Document): unknown {
    try {
      return document.toJS({ maxAliasCount: 100 });
    } catch (error) {
      this.#addProblem(0, `aliases that cannot be resolved (${errorText(error)})`, 'fewer aliases');
      return undefined;
    }
  }

  #check(value: unknown): Value | undefined {
    const result = this.#schema.zod.safeParse(value, { reportInput: true });
    for (const issue of result.error?.issues ?? []) {
      if (issue.code === 'unrecognized_keys') this.problems.push(...this.unknownKeys(issue.path, issue.keys));
      else this.#reportValue(issue.path, issue.input);
    }
    return result.success ? result.data : undefined;
  }

  #reportValue(path: Path, input: unknown): void {
    const expected = path.at(-1) === 'capability' ? expectedCapability(input) : this.#schema.expectedAt(path);
    if (input === undefined) {
      this.report(path, { found: `no "${String(path.at(-1) ?? '')}"`, expected });
      return;
    }
    this.report(path, { found: this.#schema.isSecret(path) ? `a ${typeof input}` : describeValue(input), expected });
  }

  #offset(path: Path, of: 'key' | 'value'): number {
    let node: unknown = this.#document?.contents;
    let offset = startOf(node) ?? 0;
    for (const [index, step] of path.entries()) {
      if (isAlias(node) && this.#document) node = node.resolve(this.#document);
      const isLast = index === path.length - 1;
      const next = isMap(node)
        ? node.items.find((pair) => isScalar(pair.key) && String(pair.key.value) === String(step))
        : isSeq(node)
          ? node.items[Number(step)]
          : undefined;
      if (next === undefined) return offset;
      const key = isPair(next) ? startOf(next.key) : undefined;
      node = isPair(next) ? next.value : next;
      offset = (isLast && of === 'key' ? key : startOf(node)) ?? key ?? offset;
    }
    return offset;
  }
}

function startOf(node: unknown): number | undefined {
  const range = isNode(node) ? (node as Node).range : undefined;
  return range ? range[0] : undefined;
}
