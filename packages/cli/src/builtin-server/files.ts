// Lists, reads and searches text files in one folder. Results are limited and say when something was cut off.
import { lstat, readdir, realpath } from 'node:fs/promises';
import { basename, join, relative, sep } from 'node:path';
import { createContext, Script } from 'node:vm';
import { fittingLines } from '@pocket-agent/kit/confined-files';
import { looksSecret, MAX_FILE_BYTES, readText, resolveInside } from './file-access.ts';
import { globMatcher } from './glob.ts';

const MAX_LISTED = 500;
const MAX_TEXT = 40_000;
const MAX_MATCHES = 100;
const MAX_SEARCHED_FILES = 5_000;
const MAX_VISITED = 100_000;
const MAX_SHOWN_LINE = 300;
const MAX_SEARCHED_LINE = 2_000;
const SEARCH_BUDGET_MS = 2_000;

export type Search = { query: string; regex?: boolean; caseSensitive?: boolean; glob?: string; path?: string };
type Entry = { path: string; isFolder: boolean; isLink: boolean };
type Match = { path: string; line: number; text: string };
type SearchOutcome = { matches: Match[]; searched: number; skipped: number; stopped: string };

export async function listFiles(root: string, request: { path?: string; recursive?: boolean }): Promise<string> {
  const folder = await resolveFolder(root, request.path ?? '.');
  const realRoot = await realpath(root);
  const lines: string[] = [];
  for await (const entry of walk(folder, request.recursive ?? false)) {
    if (lines.length === MAX_LISTED) {
      lines.push(`[cut off after ${MAX_LISTED} entries; list a folder further down]`);
      break;
    }
    lines.push(await describeEntry(realRoot, entry));
  }
  return lines.length > 0 ? lines.join('\n') : 'The folder is empty.';
}

export async function readTextFile(
  root: string,
  request: { path: string; startLine?: number; lineCount?: number },
): Promise<string> {
  const lines = (await readText(root, request.path)).split('\n');
  if (lines.length > 1 && lines.at(-1) === '') lines.pop();
  const start = request.startLine ?? 1;
  if (start > lines.length)
    throw new Error(`"${request.path}" has ${lines.length} line(s); there is no line ${start}.`);
  const wanted = lines.slice(start - 1, request.lineCount === undefined ? undefined : start - 1 + request.lineCount);
  const shown = fittingLines(wanted, MAX_TEXT);
  const end = start + shown.length - 1;
  const text = shown.join('\n').slice(0, MAX_TEXT);
  const notes = [
    text === '' && lines.length === 1 ? 'the file is empty' : '',
    start > 1 || end < lines.length ? `lines ${start} to ${end} of ${lines.length}` : '',
    shown[0] !== undefined && shown[0].length > MAX_TEXT ? `line ${start} is cut off after ${MAX_TEXT} characters` : '',
    end < lines.length ? `continue with startLine ${end + 1}` : '',
  ].filter(Boolean);
  return notes.length > 0 ? `${text}\n[${notes.join('; ')}]` : text;
}

/**
 * A plain query is matched literally. A regular expression is matched against the first 2,000 characters of each line;
 * after 2 seconds in total the search stops, even in a pattern that backtracks forever.
 */
export async function searchTextFiles(root: string, search: Search, signal?: AbortSignal): Promise<string> {
  const pattern = patternOf(search);
  const isWanted = nameFilter(search.glob);
  const folder = await resolveFolder(root, search.path ?? '.');
  const realRoot = await realpath(root);
  const outcome: SearchOutcome = { matches: [], searched: 0, skipped: 0, stopped: '' };
  let visited = 0;
  let budgetMs = SEARCH_BUDGET_MS;
  for await (const entry of walk(folder, true)) {
    signal?.throwIfAborted();
    visited += 1;
    if (visited > MAX_VISITED) outcome.stopped = `after ${MAX_VISITED} names`;
    if (outcome.searched + outcome.skipped > MAX_SEARCHED_FILES) outcome.stopped = `after ${MAX_SEARCHED_FILES} files`;
    if (outcome.stopped) break;
    const path = relative(realRoot, entry.path);
    if (entry.isFolder || entry.isLink || !isWanted(path)) continue;
    const text = await readText(root, path).catch(() => undefined);
    if (text === undefined) {
      outcome.skipped += 1;
      continue;
    }
    outcome.searched += 1;
    const started = performance.now();
    const cap = search.regex ? MAX_SEARCHED_LINE : undefined;
    const isFinished = withinTime(budgetMs, () => collectMatches(outcome.matches, { path, text, pattern, cap }));
    budgetMs -= performance.now() - started;
    if (!isFinished) outcome.stopped = `at ${path} because the search took too long`;
    else if (outcome.matches.length >= MAX_MATCHES) outcome.stopped = `after ${MAX_MATCHES} matches`;
  }
  return report(outcome);
}

function report({ matches, searched, skipped, stopped }: SearchOutcome): string {
  const lines = matches.map(({ path, line, text }) => `${path}:${line}: ${text}`);
  const skippedText =
    skipped > 0 ? `, ${skipped} skipped (binary, larger than ${MAX_FILE_BYTES / 1e6} MB, or may contain secrets)` : '';
  const summary = `${lines.length === 0 ? 'No' : lines.length} match(es) in ${searched} searched file(s)${skippedText}`;
  return [...lines, `[${summary}${stopped ? `; stopped ${stopped}, so there may be more` : ''}]`].join('\n');
}

function patternOf({ query, regex, caseSensitive }: Search): RegExp {
  const source = regex ? query : query.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&');
  try {
    return new RegExp(source, caseSensitive ? '' : 'i');
  } catch (error) {
    throw new Error(`"${query}" is not a valid regular expression: ${error instanceof Error ? error.message : error}`);
  }
}

function collectMatches(matches: Match[], file: { path: string; text: string; pattern: RegExp; cap?: number }): void {
  for (const [index, line] of file.text.split('\n').entries()) {
    const found = file.pattern.exec(line.slice(0, file.cap));
    if (!found) continue;
    matches.push({ path: file.path, line: index + 1, text: excerpt(line, found.index) });
    if (matches.length >= MAX_MATCHES) return;
  }
}

const context = createContext({});
const script = new Script('work()');

/** False if the time ran out. Only the vm timeout of Node can interrupt a running regular expression. */
function withinTime(budgetMs: number, work: () => void): boolean {
  if (budgetMs < 1) return false;
  context.work = work;
  try {
    script.runInContext(context, { timeout: Math.ceil(budgetMs) });
    return true;
  } catch (error) {
    // the error comes from another context, so `instanceof Error` does not work
    if ((error as { code?: unknown } | null)?.code === 'ERR_SCRIPT_EXECUTION_TIMEOUT') return false;
    throw error;
  }
}

function excerpt(line: string, at: number): string {
  const start = at < MAX_SHOWN_LINE / 2 ? 0 : at - 50;
  const shown = line.slice(start, start + MAX_SHOWN_LINE).trim();
  return `${start > 0 ? '…' : ''}${shown}${start + MAX_SHOWN_LINE < line.length ? '…' : ''}`;
}

function nameFilter(glob: string | undefined): (path: string) => boolean {
  if (glob === undefined) return () => true;
  const fits = globMatcher(glob);
  return glob.includes('/') ? (path) => fits(path.split(sep).join('/')) : (path) => fits(basename(path));
}

/** The entries of a folder, sorted by name. Does not follow links or enter node_modules and hidden folders. */
async function* walk(folder: string, recursive: boolean, isTop = true): AsyncGenerator<Entry> {
  const entries = await readdir(folder, { withFileTypes: true }).catch((error: unknown) => {
    if (isTop) throw error;
    return [];
  });
  entries.sort((left, right) => (left.name < right.name ? -1 : 1));
  for (const entry of entries) {
    const path = join(folder, entry.name);
    yield { path, isFolder: entry.isDirectory(), isLink: entry.isSymbolicLink() };
    const isSkipped = entry.name === 'node_modules' || entry.name.startsWith('.');
    if (recursive && entry.isDirectory() && !isSkipped) yield* walk(path, true, false);
  }
}

async function describeEntry(realRoot: string, { path, isFolder, isLink }: Entry): Promise<string> {
  const name = relative(realRoot, path);
  if (isFolder) return `${name}/`;
  if (isLink) return `${name} (link)`;
  const secret = looksSecret(name) ? ', not readable: may contain secrets' : '';
  return `${name} (${(await lstat(path)).size} bytes${secret})`;
}

async function resolveFolder(root: string, path: string): Promise<string> {
  const real = await resolveInside(root, path);
  if (!(await lstat(real)).isDirectory()) throw new Error(`"${path}" is a file, not a folder.`);
  return real;
}
