import { stripVTControlCharacters } from 'node:util';
import fc from 'fast-check';
import { type AgentEvent, resolveModel, type ServerStatus, type UnsignedEvent } from 'pocket-agent';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { PrintableStream, printableText } from '../../kit/src/base/printable.ts';
import { NO_APPROVER } from '../../pocket-agent/src/access/approval.ts';
import { expectLittleWork } from '../../pocket-agent/test/helpers.ts';
import { commandErrorText } from '../src/command-line/report-error.ts';
import { whileConnecting } from '../src/terminal/activity.ts';
import { MarkdownStream } from '../src/terminal/markdown.ts';
import { progressLine } from '../src/terminal/progress-bars.ts';
import { RunDisplay, type RunDisplayOptions } from '../src/terminal/run-display.ts';
import { Screen } from '../src/terminal/screen.ts';
import { canMoveCursor, hasColour, makeStyle } from '../src/terminal/style.ts';
import { fitted, padded, textWidth } from '../src/terminal/text-width.ts';
import { usageLine } from '../src/terminal/usage-line.ts';

const style = makeStyle(true);
const noUsage = {
  inputTokens: 0,
  outputTokens: 0,
  cachedInputTokens: 0,
  reasoningTokens: 0,
  costUsd: undefined,
  modelCalls: 0,
  toolCalls: 0,
};

/** Somewhere to write to. */
function page() {
  const written: string[] = [];
  return { write: (text: string) => void written.push(text), take: () => written.splice(0).join('') };
}

/** Markdown as a terminal shows it, after it came in these pieces. */
function rendered(pieces: readonly string[], columns = 80): string {
  const { write, take } = page();
  const stream = new MarkdownStream({ style, columns: () => columns, write });
  for (const piece of pieces) stream.push(piece);
  stream.end();
  return take();
}

/** Each character with the emphasis it is shown with. */
function cells(text: string): string[] {
  const on = new Set<string>();
  const endedBy: Record<string, string[]> = { 22: ['1', '2'], 23: ['3'], 24: ['4'], 39: ['31', '32', '33', '36'] };
  return [...text.replaceAll('\u001b', '').matchAll(/\[(\d+)m|(.|\n)/gu)].flatMap(([, code, character]) => {
    if (character !== undefined) return [`${[...on].sort().join(',')}|${character}`];
    if (code === undefined) return [];
    if (!endedBy[code]) on.add(code);
    for (const ended of endedBy[code] ?? []) on.delete(ended);
    return [];
  });
}

describe('Markdown in a terminal', () => {
  test.each([
    ['# Title', style.bold(style.underline('Title'))],
    ['### Small', style.bold('Small')],
    ['a **b** c', `a ${style.bold('b')} c`],
    ['*i* and _j_', `${style.italic('i')} and ${style.italic('j')}`],
    ['`code *x*`', style.cyan('code *x*')],
    ['``a ` b``', style.cyan('a ` b')],
    ['~~gone~~', style.dim('gone')],
    ['- one', `${style.cyan('•')} one`],
    ['  * two', `  ${style.cyan('•')} two`],
    ['12. twelve', `${style.cyan('12.')} twelve`],
    ['> said', `${style.dim('│ ')}said`],
    ['>> twice', `${style.dim('│ │ ')}twice`],
    ['[here](https://a.example/b)', `here (${style.underline('https://a.example/b')})`],
    ['[https://a.example](https://a.example)', style.underline('https://a.example')],
    ['---', style.dim('─'.repeat(40))],
    // other text is unchanged
    ['2 * 3 * 4', '2 * 3 * 4'],
    ['snake_case_name', 'snake_case_name'],
    ['**open', '**open'],
    ['a ] [b] (c)', 'a ] [b] (c)'],
    ['\\*plain\\*', '*plain*'],
    ['#hashtag', '#hashtag'],
    ['-5 degrees', '-5 degrees'],
    ['2026 was', '2026 was'],
  ])('%j', (source, shown) => {
    expect(rendered([source])).toBe(`${shown}\n`);
    expect(cells(rendered([...source]))).toEqual(cells(`${shown}\n`));
  });

  test('a fence is shown as code in a frame', () => {
    expect(rendered(['```\n**b**\n# no heading\n```\nafter'])).toBe(
      `${style.dim('┌ code')}\n${style.cyan('**b**')}\n${style.cyan('# no heading')}\n${style.dim('└')}\nafter\n`,
    );
  });

  test.each([
    ['ts', 'const a = "b"; // 5', `${style.cyan('const')} a = ${style.green('"b"')}; ${style.dim('// 5')}`],
    ['js', "fetch('http://x');", `fetch(${style.green("'http://x'")});`],
    ['ts', ' * of a comment', style.dim(' * of a comment')],
    ['python', 'return 5 # five', `${style.cyan('return')} ${style.yellow('5')} ${style.dim('# five')}`],
    ['sh', 'echo "# no" $x', `${style.cyan('echo')} ${style.green('"# no"')} $x`],
    ['SQL', 'SELECT a -- all', `${style.cyan('SELECT')} a ${style.dim('-- all')}`],
    ['diff', '+added', style.green('+added')],
    ['diff', '-gone', style.red('-gone')],
    ['constructor', 'const a', style.cyan('const a')],
  ])('fenced code has the colours of its language: %s %s', (language, line, shown) => {
    expect(rendered([`~~~${language}\n${line}\n~~~`])).toBe(
      `${style.dim(`┌ ${language}`)}\n${shown}\n${style.dim('└')}\n`,
    );
  });

  test('colours do not change the characters of code, and code is not wrapped', () => {
    const code = fc.string({ unit: fc.constantFrom(...'abc 12"\'`/*#-+(){}\\=.;'), maxLength: 200 });
    fc.assert(
      fc.property(code, fc.constantFrom('ts', 'py', 'sql', 'diff', ''), (line, language) => {
        const [, shown] = stripVTControlCharacters(rendered([`~~~~~${language}\n${line}\n`], 30)).split('\n');
        expect(shown).toBe(line);
      }),
      { numRuns: 500, seed: 42 },
    );
  });

  test('a line wraps at words and keeps its indent', () => {
    const plain = (source: string, columns = 21) => stripVTControlCharacters(rendered([source], columns));
    expect(plain('The quick brown fox jumps over the lazy dog')).toBe(
      'The quick brown fox\njumps over the lazy\ndog\n',
    );
    expect(plain('- one two three four five')).toBe('• one two three four\n  five\n');
    expect(plain('10. one two three four')).toBe('10. one two three\n    four\n');
    expect(plain('> one two three four five')).toBe('│ one two three four\n│ five\n');
    expect(plain('**The quick brown fox jumps**')).toBe('The quick brown fox\njumps\n');
    expect(plain('東京東京東京東京東京東京')).toBe('東京東京東京東京東京\n東京\n');
    const address = 'https://a.example/a-very-long-address';
    expect(plain(`at ${address} here`)).toBe(`at\n${address}\nhere\n`);
    expect(plain('a window too narrow to wrap', 5)).toBe('a window too narrow to wrap\n');
  });

  test('table cells wrap in a narrow window and keep their emphasis', () => {
    const table = '| city | note |\n|--|--:|\n| Ghent | a **very long note** on canals |\n| Oostende | sea |\n';
    const shown = rendered([table], 25);
    expect(stripVTControlCharacters(shown)).toBe(
      [
        'city                 note',
        '─────────────────────────',
        'Ghent         a very long',
        '           note on canals',
        'Oostende              sea',
        '',
      ].join('\n'),
    );
    const bold = shown
      .split('\n')
      .map((line) => cells(line).flatMap((cell) => (cell.startsWith('1|') ? cell.slice(2) : [])));
    expect(bold.map((letters) => letters.join(''))).toEqual(['citynote', '', 'very long', 'note', '', '']);
    const address = `https://example.com/${'x'.repeat(40)}`;
    const lines = stripVTControlCharacters(rendered([`| a | b |\n|--|--|\n| ${address} | 東京 |\n`], 30)).split('\n');
    expect(Math.max(...lines.map(textWidth))).toBe(30);
    expect(
      lines
        .slice(2)
        .map((line) => line.slice(0, 24).trim())
        .join(''),
    ).toBe(address);
  });

  test('a table has aligned columns, also with wide characters, unless it does not fit', () => {
    const aligned = '| a | b | c |\n|:--|:-:|--:|\n| long | long | 100 |\n| x | y | 1 |\n';
    expect(stripVTControlCharacters(rendered([aligned]))).toBe(
      'a      b      c\n───────────────\nlong  long  100\nx      y      1\n',
    );
    const table = '| name | n |\n|---|---|\n| 東京 | 1 |\n| `x` | 22 |\nafter\n';
    expect(stripVTControlCharacters(rendered([table]))).toBe('name  n\n────────\n東京  1\nx     22\nafter\n');
    expect(stripVTControlCharacters(rendered([table], 5))).toBe('name | n\n東京 | 1\nx | 22\nafter\n');
  });

  test('words are shown as they stream', () => {
    const { write, take } = page();
    const stream = new MarkdownStream({ style, columns: () => 80, write });
    stream.push('The answer is **for');
    expect(take()).toBe('The answer is');
    stream.push('ty-two**, and ');
    expect(take()).toBe(` ${style.bold('forty-two')}, and`);
  });

  test('the result does not depend on the pieces in which a text arrives', () => {
    const words = fc.array(
      fc.constantFrom(
        '**',
        '*',
        '_',
        '`',
        '```',
        '\n',
        '\n\n',
        ' ',
        '# ',
        '- ',
        '1. ',
        '> ',
        '|',
        '[a](b)',
        '\\',
        'word',
        '東',
        '👩‍👩‍👧',
      ),
      { maxLength: 30 },
    );
    fc.assert(
      fc.property(words, fc.array(fc.nat(5), { maxLength: 30 }), (parts, cuts) => {
        const source = parts.join('');
        const characters = [...source];
        const pieces = cuts.map((cut) => characters.splice(0, cut).join(''));
        const rest = characters.join('');
        const whole = rendered([source]);
        expect(cells(rendered([...pieces, rest]))).toEqual(cells(whole));
        const count = (text: string, word: string) => text.split(word).length;
        expect(count(whole, 'word')).toBe(count(source, 'word'));
        expect(count(whole, '東')).toBe(count(source, '東'));
      }),
      { numRuns: 2_000, seed: 42 },
    );
  });

  test('a long line of marks is rendered in linear time', () => {
    const before = process.threadCpuUsage();
    rendered(['*_`['.repeat(25_000)]);
    expectLittleWork(before);
  });
});

describe('untrusted text', () => {
  test('loses control characters except line breaks and tabs; joined emoji and words are kept', () => {
    expect(printableText('a\u001b[31mb\r\nc\td\u0007\u009b1A\u202e\u2028')).toBe('a�[31mb\nc\td��1A��');
    expect(printableText('👩‍👩‍👧 👩🏽‍💻 🏳️‍🌈 می‌خواهم')).toBe('👩‍👩‍👧 👩🏽‍💻 🏳️‍🌈 می‌خواهم');
    expect(printableText('a\u200db \u200b')).toBe('a\u200db �');
    expect(printableText(' \u200d \ud800')).toBe(' � �');
  });

  test('is the same in pieces as in one', () => {
    const parts = fc.array(
      fc.constantFrom('a', 'ب', '\u001b[2J', '\u200d', '\u200c', '👩', '\ufe0f', '🏽', '\r', '\n', '\u202e', '❤'),
      { maxLength: 20 },
    );
    fc.assert(
      fc.property(parts, fc.array(fc.nat(3), { maxLength: 20 }), (all, cuts) => {
        const source = all.join('');
        const stream = new PrintableStream();
        let shown = '';
        let rest = source;
        for (const cut of cuts) {
          shown += stream.push(rest.slice(0, cut));
          rest = rest.slice(cut);
        }
        shown += stream.push(rest) + stream.end();
        expect(shown).toBe(printableText(source));
        expect(shown.replace(/[\n\t]/g, '')).not.toMatch(/\p{Cc}/u);
      }),
      { numRuns: 2_000, seed: 42 },
    );
  });
});

test.each([
  ['a line of code whose string never ends', ['```js\n', `"${'\\"'.repeat(100_000)}\n`, '```\n']],
  ['a line of stars that comes one by one', Array.from({ length: 40_000 }, () => '*')],
])('%s is shown in linear time', (_, pieces) => {
  const stream = new MarkdownStream({ style: makeStyle(true), columns: () => 80, write: () => {} });
  const before = process.threadCpuUsage();
  for (const piece of pieces) stream.push(piece);
  stream.end();
  expectLittleWork(before);
});

describe('widths', () => {
  test.each([
    ['abc', 3],
    ['東京', 4],
    ['👩‍👩‍👧', 2],
    ['❤️', 2],
    ['e\u0301', 1],
    ['한글', 4],
    [style.bold('x'), 1],
  ])('%j takes %i columns', (text, width) => expect(textWidth(text)).toBe(width));

  test('text is truncated and padded by columns, not by characters', () => {
    expect(fitted('東京タワー', 5)).toBe('東京…');
    expect(fitted('👩‍👩‍👧👩‍👩‍👧', 3)).toBe('👩‍👩‍👧…');
    expect(padded('東', 4)).toBe('東  ');
  });
});

describe('colours', () => {
  const terminal = { isTTY: true };
  test.each([
    [terminal, {}, true],
    [{}, {}, false],
    [terminal, { NO_COLOR: '1' }, false],
    [terminal, { NO_COLOR: '' }, true],
    [{}, { FORCE_COLOR: '1' }, true],
    [terminal, { FORCE_COLOR: '0' }, false],
    [terminal, { NO_COLOR: '1', FORCE_COLOR: '1' }, false],
    [terminal, { TERM: 'dumb' }, false],
  ])('%j with %j: %j', (output, env, isColoured) => expect(hasColour(output, env)).toBe(isColoured));

  test('a dumb terminal has no status lines', () => {
    expect(canMoveCursor(terminal, { TERM: 'dumb' })).toBe(false);
    expect(canMoveCursor(terminal, { NO_COLOR: '1' })).toBe(true);
  });
});

describe('the screen', () => {
  /** Stdout and stderr in one, as a terminal shows them. */
  function terminal(columns = 40) {
    const { write, take } = page();
    const listeners = new Set<() => void>();
    const output = {
      isTTY: true,
      columns,
      write,
      on: (_event: 'resize', listener: () => void) => listeners.add(listener),
      off: (_event: 'resize', listener: () => void) => listeners.delete(listener),
    };
    return { output, listeners, take };
  }

  test('a line never follows an unfinished line of the answer', () => {
    const { output, take } = terminal();
    const screen = new Screen(output, output);
    screen.answer('half');
    screen.line('news');
    screen.answer('rest');
    screen.close();
    expect(take()).toBe('half\nnews\nrest\n');
  });

  test('the status is erased before other output and drawn again below it', () => {
    const { output, take } = terminal();
    const screen = new Screen(output, output);
    screen.status(['one', 'two']);
    expect(take()).toBe('one\ntwo');
    screen.line('news');
    expect(take()).toBe('\r\u001b[1A\u001b[Jnews\none\ntwo');
    screen.close();
    expect(take()).toBe('\r\u001b[1A\u001b[J');
  });

  test('the status fits the window after it was resized', () => {
    const { output, listeners, take } = terminal();
    const screen = new Screen(output, output);
    screen.status(['x'.repeat(100)]);
    expect(take()).toBe(`${'x'.repeat(38)}…`);
    output.columns = 10;
    for (const resized of listeners) resized();
    expect(take()).toBe(`\r\u001b[J${'x'.repeat(8)}…`);
    screen.close();
    expect(listeners.size).toBe(0);
  });

  test('a terminal of unknown width counts as 80 columns', () => {
    const { output, take } = terminal(0);
    const screen = new Screen(output, output);
    screen.status(['a line of a few words']);
    expect(take()).toBe('a line of a few words');
    screen.close();
  });

  test('other output is held back while a question is open', async () => {
    const { output, take } = terminal();
    const screen = new Screen(output, output);
    const asked = Promise.withResolvers<string>();
    const answer = screen.question(() => asked.promise);
    screen.line('news');
    screen.status(['bar']);
    screen.answer('text\n');
    expect(take()).toBe('');
    asked.resolve('yes');
    expect(await answer).toBe('yes');
    expect(take()).toContain('news\n');
    screen.close();
  });

  test('progress is a bar with a total and a number without; its text is safe to print', () => {
    const call = { toolCallId: '1', toolName: 'copy' };
    expect(progressLine({ ...call, progress: 3, total: 4, message: 'half\u001b[2J' })).toBe(
      `  copy ${'█'.repeat(15)}${'░'.repeat(5)} 75 % half�[2J`,
    );
    expect(progressLine({ ...call, progress: 7 })).toBe('  copy 7');
    expect(progressLine({ ...call, progress: 9, total: 3 })).toContain('100 %');
    expect(progressLine({ ...call, progress: 1, total: 0 })).toBe('  copy 1');
  });
});

describe('the activity of a run', () => {
  const isTTY = true;
  const meta = { agentName: 'A', agentId: 'a', isSubAgent: false, path: ['A'], time: 0, runId: 'r' };
  const call = { toolCallId: 'c1', toolName: 'add' };
  const calling: UnsignedEvent = { type: 'tool_call', data: { id: 'c1', name: 'add', arguments: {}, ...call } };

  function watched(options: Partial<RunDisplayOptions> = {}, err: object = { isTTY, columns: 60 }) {
    const [out, below] = [page(), page()];
    const screen = new Screen({ isTTY, ...out }, { ...below, ...err });
    const hasColour = { out: true, err: true };
    const display = new RunDisplay({ screen, quiet: false, isLive: true, hasColour, ...options });
    onTestFinished(() => display.end());
    return {
      screen,
      out,
      below,
      display,
      show: (event: UnsignedEvent) => display.show({ ...event, meta } as AgentEvent),
    };
  }

  function withFakeTime(): void {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'setTimeout', 'clearTimeout', 'performance'] });
    onTestFinished(() => void vi.useRealTimers());
  }

  test('shows how long the model has been thinking, until text arrives', () => {
    withFakeTime();
    const { out, below, display, show } = watched();
    show({ type: 'step_started', data: { step: 1 } });
    expect(below.take()).toBe('⠋ thinking');
    vi.advanceTimersByTime(3_100);
    expect(below.take()).toContain(' thinking · 3 s');
    show({ type: 'text_delta', data: { delta: 'Hello ' } });
    expect(out.take()).toBe('Hello');
    expect(below.take()).toBe('\r\u001b[J');
    vi.advanceTimersByTime(3_000);
    expect(below.take()).toBe('');
    display.end();
    expect(vi.getTimerCount()).toBe(0);
  });

  test('names connecting servers and running tools', () => {
    withFakeTime();
    const { below, show } = watched();
    const drawn = () => {
      vi.advanceTimersByTime(100);
      return below.take().split('\u001b[J').at(-1)?.slice(2);
    };
    show({ type: 'step_started', data: { step: 1 } });
    show({ type: 'server_status', data: { server: 'slow\u001b[2J', status: 'connecting' } });
    expect(drawn()).toBe('thinking · connecting to slow�[2J');
    show({ type: 'server_status', data: { server: 'slow\u001b[2J', status: 'connected' } });
    expect(drawn()).toBe('thinking');
    show(calling);
    expect(drawn()).toBe('running add');
    show({ type: 'tool_progress', data: { ...call, progress: 1 } });
    expect(drawn()).toBe('add 1');
    show({ type: 'tool_result', data: { ...call, toolCallName: 'add', toolResultContent: [], extra: {} } });
    show({ type: 'step_finished', data: { step: 1, finishReason: 'tool-calls', usage: noUsage } });
    expect(drawn()).toBe('');
  });

  test('a server problem is shown once per chat, and again after the server was connected', () => {
    const shownProblems = new Map<string, string>();
    const failed = { server: 'files', status: 'failed', reason: 'no such program' } as const;
    const shownBy = (data: { server: string; status: ServerStatus; reason?: string }) => {
      const { below, show } = watched({ shownProblems });
      show({ type: 'server_status', data });
      return below.take();
    };
    expect(shownBy(failed)).toBe('server files: no such program\n');
    expect(shownBy(failed)).toBe('');
    expect(shownBy({ ...failed, reason: 'it exits' })).toBe('server files: it exits\n');
    expect(shownBy({ server: 'files', status: 'connected' })).toBe('');
    expect(shownBy({ ...failed, reason: 'it exits' })).toBe('server files: it exits\n');
  });

  test('explains --yes only if the call could not be approved', () => {
    const record = { tool: 'add', decision: 'denied', by: 'no-approver', outcome: 'not run' };
    const shownFor = (reason: string) => {
      const { below, show } = watched();
      show({ type: 'audit', data: { ...record, reason } } as unknown as UnsignedEvent);
      return below.take();
    };
    expect(shownFor(NO_APPROVER)).toContain('Calls cannot be approved');
    expect(shownFor('the run ended before the approval was answered')).toBe('');
  });

  test('a command without a run shows the connecting servers', async () => {
    withFakeTime();
    const { screen, below } = watched();
    const work = Promise.withResolvers<string>();
    const states = new Map<string, { status: ServerStatus }>();
    const waiting = whileConnecting(screen, () => states, work.promise);
    vi.advanceTimersByTime(100);
    expect(below.take()).toBe('');
    states.set('slow', { status: 'connecting' }).set('ready', { status: 'connected' });
    vi.advanceTimersByTime(2_900);
    expect(below.take()).toMatch(/. connecting to slow · 3 s$/);
    work.resolve('done');
    expect(await waiting).toBe('done');
    expect(below.take()).toBe('\r\u001b[J');
    expect(vi.getTimerCount()).toBe(0);
  });

  test('is never drawn while a question is open', async () => {
    withFakeTime();
    const { screen, below, show } = watched();
    show({ type: 'step_started', data: { step: 1 } });
    show(calling);
    await screen.question(async () => {
      expect(below.take().endsWith('\u001b[J')).toBe(true);
      vi.advanceTimersByTime(5_000);
      expect(below.take()).toBe('');
    });
    vi.advanceTimersByTime(1_000);
    expect(below.take()).toMatch(/. running add · \d s$/);
  });

  test.each([
    ['is asked for no colours', { hasColour: { out: false, err: false } }, { isTTY, columns: 60 }],
    ['is asked to be quiet', { quiet: true }, { isTTY, columns: 60 }],
    ['writes to a file', { hasColour: { out: true, err: true } }, {}],
  ])('is not shown by a command that %s', (_what, options, err) => {
    const { below, show } = watched(options, err);
    show({ type: 'step_started', data: { step: 1 } });
    expect(below.take()).toBe('');
  });
});

test('notices wrap at words in a terminal, not in a file', () => {
  const notice = '  server files: Could not start MCP server "files" (no-such-program): spawn ENOENT.';
  const shownIn = (output: object) => {
    const { write, take } = page();
    new Screen({ write }, { write, ...output }).line(notice);
    return take();
  };
  expect(shownIn({ isTTY: true, columns: 40 })).toBe(
    '  server files: Could not start MCP\n  server "files" (no-such-program):\n  spawn ENOENT.\n',
  );
  expect(shownIn({})).toBe(`${notice}\n`);
});

test.each([
  ['mistrl/small', 'Unknown model "mistrl/small". Did you mean "mistral/small"?'],
  ['wishful', 'or "demo". pocket-agent models lists the providers.'],
])('the error for model %s has advice for the command line', async (name, text) => {
  const shown = await resolveModel(name).catch(commandErrorText);
  expect(shown).toContain(text);
  expect(shown).not.toContain('model object');
});

test('one token is one token', () => {
  expect(usageLine({ ...noUsage, inputTokens: 1, outputTokens: 1, modelCalls: 1 })).toBe(
    '1 model call · 1 token in, 1 out · cost unknown',
  );
});
