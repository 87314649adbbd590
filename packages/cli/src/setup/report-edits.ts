// Reports which edit broke a watched tool folder, and when it works again.
import { type FolderState, problemText, type ToolFolder, undeclaredText } from '@pocket-agent/tool-folder';

/** Calls `tell` for each problem that an edit causes, and when a folder has no problems again. */
export function reportEdits(served: ToolFolder, tell: (line: string) => void): void {
  let before = byPath(served.folders);
  served.onChange(() => {
    const now = byPath(served.folders);
    for (const [path, state] of now) {
      for (const line of linesFor(state, before.get(path))) tell(line);
    }
    before = now;
  });
}

function linesFor(state: FolderState, before: FolderState | undefined): string[] {
  const known = new Set(before?.problems.map(problemText));
  const found = state.problems.map(problemText).filter((line) => !known.has(line));
  if (found.length > 0) {
    const untilFixed = state.tools.length > 0 ? 'calls use the code from before that edit' : 'it offers no tools';
    return [...found, `${state.humanName} is broken; ${untilFixed}.`];
  }
  const isFixed = state.problems.length === 0 && before !== undefined && before.problems.length > 0;
  const warning = undeclaredText(state, '--default-capability');
  const isNew = warning !== undefined && warning !== (before && undeclaredText(before, '--default-capability'));
  return [...(isFixed ? [`${state.humanName} works again.`] : []), ...(isNew ? [warning] : [])];
}

function byPath(folders: readonly FolderState[]): Map<string, FolderState> {
  return new Map(folders.map((state) => [state.path, state]));
}
