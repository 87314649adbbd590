// The built-in server as its users meet it: a process on stdio, driven by the official MCP client.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { quickStart } from '../../../pocket-agent/test/fixtures/programs/quick-start.ts';
import { globMatcher } from '../../src/builtin-server/glob.ts';

const main = fileURLToPath(new URL('../../src/builtin-server/main.ts', import.meta.url));
const args = ['-C', 'pocket-agent/source', main];

let outer: string;
let folder: string;
let client: Client;

beforeAll(async () => {
  outer = await mkdtemp(join(tmpdir(), 'builtin-server-'));
  folder = join(outer, 'inside');
  await mkdir(join(folder, 'notes/deep'), { recursive: true });
  await mkdir(join(folder, 'node_modules/dependency'), { recursive: true });
  await mkdir(join(folder, '.hidden'));
  await mkdir(join(outer, 'inside-beside'));
  const files: Record<string, string | Uint8Array> = {
    'inside/readme.md': 'first line\nsecond line with Needle\nthird line\n',
    'inside/notes/deep/todo.txt': 'nothing\nneedle (again)\n',
    'inside/notes/numbers.csv': `${Array.from({ length: 20_000 }, (_, index) => `row ${index + 1}`).join('\n')}\n`,
    'inside/node_modules/dependency/index.js': 'needle',
    'inside/.hidden/file.txt': 'needle',
    'inside/.env': 'TOKEN=needle',
    'inside/.env.local': 'TOKEN=needle',
    'inside/server.pem': 'needle',
    'inside/id_rsa.backup': 'needle',
    'inside/.npmrc': 'needle',
    'inside/picture.bin': new Uint8Array([110, 0, 255, 1]),
    'inside/latin1.txt': new Uint8Array([99, 97, 102, 0xe9]),
    'inside/huge.log': 'x'.repeat(5_000_001),
    'outside.txt': 'needle outside',
    'inside-beside/secret.txt': 'needle beside',
  };
  for (const [path, content] of Object.entries(files)) await writeFile(join(outer, path), content);
  await symlink(join(outer, 'outside.txt'), join(folder, 'way-out.txt'));
  await symlink(outer, join(folder, 'way-up'));
  await symlink(join(folder, '.env'), join(folder, 'harmless.txt'));
  await symlink(join(folder, 'readme.md'), join(folder, 'inside.md'));
  client = await connect({ mode: 'auto' });
});

afterAll(async () => {
  await client.close();
  await rm(outer, { recursive: true });
});

async function connect(versionNegotiation?: { mode: 'auto' }): Promise<Client> {
  const connected = new Client({ name: 'test', version: '1' }, versionNegotiation ? { versionNegotiation } : {});
  await connected.connect(
    new StdioClientTransport({ command: process.execPath, args, cwd: folder, env: quickStart, stderr: 'inherit' }),
  );
  return connected;
}

async function call(name: string, input: Record<string, unknown>, by = client) {
  const result = await by.callTool({ name, arguments: input });
  const text = result.content.map((block) => (block.type === 'text' ? block.text : '')).join('\n');
  const structured: Record<string, unknown> = { ...Object(result.structuredContent) };
  return { text, isError: result.isError ?? false, structured };
}

describe('the protocol', () => {
  test.each([
    ['the modern era', { mode: 'auto' } as const, 'modern'],
    ['the legacy era', undefined, 'legacy'],
  ])('a client of %s sees seven read-only tools and can call them', async (_, negotiation, era) => {
    const other = negotiation ? client : await connect();
    try {
      expect(other.getProtocolEra()).toBe(era);
      const { tools } = await other.listTools();
      expect(tools.map((tool) => tool.name)).toEqual([
        'calculate',
        'current_time',
        'convert_time',
        'convert_units',
        'list_files',
        'read_text_file',
        'search_text_files',
      ]);
      for (const tool of tools) {
        expect(tool.annotations).toMatchObject({ readOnlyHint: true, idempotentHint: true, openWorldHint: false });
        expect(tool.annotations?.title).toBe(tool.title);
        expect(tool._meta).toMatchObject({ capability: 'read' });
        expect(tool.description?.length).toBeGreaterThan(40);
        for (const property of Object.values(tool.inputSchema.properties ?? {})) {
          expect(property).toHaveProperty('description');
        }
      }
      expect((await call('calculate', { expression: '6 * 7' }, other)).text).toBe('6 * 7 = 42');
    } finally {
      if (other !== client) await other.close();
    }
  });

  test('the process writes nothing by itself and ends when its standard input closes', async () => {
    const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] });
    let output = '';
    child.stdout.on('data', (chunk: Buffer) => {
      output += chunk.toString();
    });
    child.stdin.end();
    const [code] = await once(child, 'exit');
    expect({ code, output }).toEqual({ code: 0, output: '' });
  }, 30_000);

  test('wrong arguments give an error that the model can read', async () => {
    const { isError, text } = await call('calculate', { formula: '1 + 1' });
    expect(isError).toBe(true);
    expect(text).toContain('expression');
  });
});

describe('calculate', () => {
  test.each([
    ['17% of 2380', 404.6],
    ['17%', 0.17],
    ['200 + 10%', 220],
    ['200 - 10%', 180],
    ['200 + (10%)', 200.1],
    ['10% + 5%', 0.15],
    ['0.1 + 0.2', 0.3],
    ['0.1 + 0.2 - 0.3', 0],
    ['2 + 3 * 4', 14],
    ['2^3^2', 512],
    ['-2^2', -4],
    ['2^-1', 0.5],
    ['--3', 3],
    ['(1 + 2) * (3 - 5)', -6],
    ['2,380 * 2', 4760],
    ['1,234,567.5', 1234567.5],
    ['max(1,200)', 200],
    ['sqrt(1,600)', 40],
    ['min(3, 1, 2) + abs(-4)', 5],
    ['round(1.005, 2)', 1.01],
    ['floor(-1.5) + ceil(1.2)', 0],
    ['log(1000) + ln(e) + exp(0)', 5],
    ['sin(pi)', 0],
    ['cos(0) + tan(0)', 1],
    ['17 mod 5', 2],
    ['3 × 4 ÷ 2 =', 6],
    ['2^53 - 1', 9007199254740991],
    ['1e3 + .5', 1000.5],
  ])('%s is %d', async (expression, value) => {
    const result = await call('calculate', { expression });
    expect(result.structured).toEqual({ value });
  });

  test.each([
    ['1 + ', 'expected a number but found the end, at position 4'],
    ['2 * (3 + 4', 'to close the "(" at position 5 but found the end'],
    ['4 / (2 - 2)', 'division by zero, at position 3'],
    ['17 % 5', 'write "mod" for a remainder'],
    ['process.exit()', 'unknown name "process"'],
    ['sqrt(-1)', 'sqrt(-1) is not a real number'],
    ['10^999', 'not a finite number'],
    ['1,23', 'expected an operator but found ","'],
  ])('%s is refused with a reason', async (expression, reason) => {
    const { isError, text } = await call('calculate', { expression });
    expect(isError).toBe(true);
    expect(text).toContain(reason);
  });
});

test('an expression that is too long or nested too deep is refused', async () => {
  const nested = `${'('.repeat(60)}1${')'.repeat(60)}`;
  expect((await call('calculate', { expression: nested })).text).toContain('nested more than 50 levels deep');
  expect((await call('calculate', { expression: '-'.repeat(400) })).text).toContain('nested more than 50 levels deep');
  expect((await call('calculate', { expression: '1+'.repeat(300) })).text).toContain('at most 500');
});

describe('time', () => {
  test('the current time in a city is the real one, with the offset of that city', async () => {
    const before = Date.now() - 1000;
    const { structured, text } = await call('current_time', { timeZone: 'Tokyo' });
    expect(structured).toMatchObject({ timeZone: 'Asia/Tokyo', utcOffset: '+09:00' });
    const at = Date.parse(String(structured.iso));
    expect(at).toBeGreaterThanOrEqual(before);
    expect(at).toBeLessThanOrEqual(Date.now());
    const weekday = new Intl.DateTimeFormat('en-US', { weekday: 'long', timeZone: 'Asia/Tokyo' }).format(at);
    expect(text).toContain(weekday);
    expect(structured.weekday).toBe(weekday);
  });

  test('the default is the zone of the machine', async () => {
    const { structured } = await call('current_time', {});
    expect(structured.timeZone).toBe(Intl.DateTimeFormat().resolvedOptions().timeZone);
  });

  test.each([
    ['new york', 'America/New_York'],
    ['São Paulo', 'America/Sao_Paulo'],
    ['Asia/Kolkata', 'Asia/Kolkata'],
    ['Mumbai', 'Asia/Kolkata'],
    ['Kyiv', 'Europe/Kyiv'],
    ['Germany', 'Europe/Berlin'],
    ['UK', 'Europe/London'],
    ['Paris, France', 'Europe/Paris'],
    ['PST', 'America/Los_Angeles'],
    ['UTC+5:30', '+05:30'],
  ])('%s means %s', async (timeZone, expected) => {
    expect((await call('current_time', { timeZone })).structured.timeZone).toBe(expected);
  });

  test.each([
    ['Tokio', 'Did you mean Asia/Tokyo?'],
    ['Los Angelos', 'Did you mean America/Los_Angeles?'],
    ['Atlantis', 'Unknown time zone "Atlantis"'],
    ['Australia', 'several time zones, such as'],
  ])('%s is refused with advice', async (timeZone, reason) => {
    const { isError, text } = await call('current_time', { timeZone });
    expect(isError).toBe(true);
    expect(text).toContain(reason);
  });

  test.each([
    ['2026-01-15 15:00', 'Berlin', 'New York', '2026-01-15T09:00:00-05:00'],
    ['2026-03-20 15:00', 'Berlin', 'New York', '2026-03-20T10:00:00-04:00'],
    ['2026-07-01 9 pm', 'Los Angeles', 'Tokyo', '2026-07-02T13:00:00+09:00'],
    ['2026-07-01T12:15', 'UTC', 'Nepal', '2026-07-01T18:00:00+05:45'],
    ['2026-12-31 noon', 'Sydney', 'Hawaii', '2026-12-30T15:00:00-10:00'],
    ['2026-02-28 12 am', 'London', 'UTC', '2026-02-28T00:00:00+00:00'],
  ])('%s in %s is converted to %s, daylight saving included', async (time, fromTimeZone, toTimeZone, iso) => {
    const { structured } = await call('convert_time', { time, fromTimeZone, toTimeZone });
    expect(structured.to).toMatchObject({ iso });
  });

  test('a time that a clock change skips or repeats is resolved with a note', async () => {
    const zones = { fromTimeZone: 'Europe/Berlin', toTimeZone: 'UTC' };
    const skipped = await call('convert_time', { time: '2026-03-29 02:30', ...zones });
    expect(skipped.structured.to).toMatchObject({ iso: '2026-03-29T01:30:00+00:00' });
    expect(skipped.text).toContain('02:30 does not exist');
    const repeated = await call('convert_time', { time: '2026-10-25 02:30', ...zones });
    expect(repeated.structured.to).toMatchObject({ iso: '2026-10-25T00:30:00+00:00' });
    expect(repeated.text).toContain('happens twice');
  });

  test.each(['25:00', '15', '13 pm', '15:00Z', '2026-02-30 10:00', 'soon'])('%s is not a time', async (time) => {
    const { isError } = await call('convert_time', { time, fromTimeZone: 'UTC', toTimeZone: 'UTC' });
    expect(isError).toBe(true);
  });
});

describe('convert_units', () => {
  test.each([
    [5, 'miles', 'km', 8.04672],
    [12, 'inches', 'ft', 1],
    [70, 'kg', 'pounds', 154.32358352941],
    [98.6, '°F', 'celsius', 37],
    [-40, 'C', 'F', -40],
    [1, 'litre', 'millilitres', 1000],
    [100, 'square feet', 'm²', 9.290304],
    [100, 'km/h', 'meters per second', 27.777777777778],
    [1, 'week', 'hours', 168],
    [1, 'MB', 'kB', 1000],
    [1, 'MiB', 'KiB', 1024],
    [8, 'Mb', 'MB', 1],
    [1, 'kWh', 'MJ', 3.6],
    [1, 'atm', 'hPa', 1013.25],
  ])('%d %s in %s is %d', async (value, from, to, expected) => {
    const { structured, text } = await call('convert_units', { value, from, to });
    expect(structured.value).toBe(expected);
    expect(text).toContain(`${value} ${from} = ${expected} ${to}`);
  });

  test.each([
    [1, 'kg', 'm', 'Cannot convert kilogram (mass) to meter (length). Units of mass: gram (g)'],
    [1, 'mile', 'blips', 'Unknown unit "blips". Units of length: meter (m)'],
    [1, 'blips', 'blops', 'Known dimensions: length'],
    [-300, 'C', 'F', 'below absolute zero'],
    [1, 'mPa', 'Pa', 'Unknown unit "mPa"'],
  ])('%d %s in %s is refused with the reason', async (value, from, to, reason) => {
    const { isError, text } = await call('convert_units', { value, from, to });
    expect(isError).toBe(true);
    expect(text).toContain(reason);
  });
});

describe('files', () => {
  test('a listing shows names, sizes and unreadable files', async () => {
    const { text } = await call('list_files', {});
    expect(text).toContain('readme.md (46 bytes)');
    expect(text).toContain('notes/');
    expect(text).toContain('way-out.txt (link)');
    expect(text).toContain('.env (12 bytes, not readable: may contain secrets)');
    expect(text).not.toContain('deep');
  });

  test('a recursive listing leaves out node_modules and hidden folders', async () => {
    const { text } = await call('list_files', { recursive: true });
    expect(text).toContain('notes/deep/todo.txt');
    expect(text).not.toContain('dependency');
    expect(text).not.toContain('.hidden/file.txt');
    expect((await call('list_files', { path: 'notes' })).text).toMatch(
      /^notes\/deep\/\nnotes\/numbers.csv \(\d+ bytes\)$/,
    );
  });

  test('a file can be read whole, by an absolute path, through an inner link, and in parts', async () => {
    const whole = 'first line\nsecond line with Needle\nthird line';
    for (const path of ['readme.md', './notes/../readme.md', join(folder, 'readme.md'), 'inside.md']) {
      expect((await call('read_text_file', { path })).text).toBe(whole);
    }
    const piece = await call('read_text_file', { path: 'readme.md', startLine: 2, lineCount: 1 });
    expect(piece.text).toBe('second line with Needle\n[lines 2 to 2 of 3; continue with startLine 3]');
    const beyond = await call('read_text_file', { path: 'readme.md', startLine: 9 });
    expect(beyond).toMatchObject({ isError: true, text: expect.stringContaining('has 3 line(s); there is no line 9') });
  });

  test('a long file is cut at a whole line, with a note where to continue', async () => {
    const { text } = await call('read_text_file', { path: 'notes/numbers.csv' });
    const next = Number(/continue with startLine (\d+)\]$/.exec(text)?.[1]);
    expect(text.length).toBeLessThan(41_000);
    expect(text).toContain(`\nrow ${next - 1}\n[lines 1 to ${next - 1} of 20000`);
    const rest = await call('read_text_file', { path: 'notes/numbers.csv', startLine: next });
    expect(rest.text.startsWith(`row ${next}\n`)).toBe(true);
  });

  test.each([
    ['../outside.txt', 'outside the working folder'],
    ['notes/../../outside.txt', 'outside the working folder'],
    ['../inside-beside/secret.txt', 'outside the working folder'],
    ['/etc/passwd', 'outside the working folder'],
    ['way-out.txt', 'outside the working folder'],
    ['way-up/outside.txt', 'outside the working folder'],
    ['.env', 'its name suggests secrets'],
    ['.env.local', 'its name suggests secrets'],
    ['server.pem', 'its name suggests secrets'],
    ['id_rsa.backup', 'its name suggests secrets'],
    ['.npmrc', 'its name suggests secrets'],
    ['harmless.txt', 'its name suggests secrets'],
    ['way-up/inside/.env', 'its name suggests secrets'],
    ['picture.bin', 'binary file'],
    ['latin1.txt', 'not UTF-8'],
    ['huge.log', 'too large'],
    ['notes', 'is a folder'],
    ['missing.txt', 'does not exist'],
  ])('reading %s is refused with a reason', async (path, reason) => {
    const { isError, text } = await call('read_text_file', { path });
    expect(isError).toBe(true);
    expect(text).toContain(reason);
    expect(text).not.toContain('needle');
  });

  test('a path with a null character is refused', async () => {
    const { isError, text } = await call('read_text_file', { path: 'readme.md\0.png' });
    expect(isError).toBe(true);
    expect(text).toContain('null character');
  });

  test('listing and searching stay inside the folder', async () => {
    for (const path of ['..', 'way-up', '/']) {
      expect(await call('list_files', { path })).toMatchObject({ isError: true });
      expect(await call('search_text_files', { query: 'needle', path })).toMatchObject({ isError: true });
    }
  });

  test('a search finds text in any case, and never in secrets, links, hidden folders or node_modules', async () => {
    const { text } = await call('search_text_files', { query: 'needle' });
    expect(text.split('\n').slice(0, -1)).toEqual([
      'notes/deep/todo.txt:2: needle (again)',
      'readme.md:2: second line with Needle',
    ]);
    expect(text).toContain('2 match(es) in 3 searched file(s), 8 skipped');
  });

  test('a query is literal unless regex is set, and a glob chooses the files', async () => {
    expect((await call('search_text_files', { query: '(again)' })).text).toContain('todo.txt:2');
    expect((await call('search_text_files', { query: 'n.edle' })).text).toContain('No match(es)');
    const upper = await call('search_text_files', { query: 'N[e]+dle', regex: true, caseSensitive: true });
    expect(upper.text).toContain('readme.md:2');
    expect(upper.text).not.toContain('todo.txt');
    const markdown = await call('search_text_files', { query: 'needle', glob: '*.md' });
    expect(markdown.text).toContain('1 match(es) in 1 searched file(s)');
    const deep = await call('search_text_files', { query: 'needle', glob: 'notes/**/*.txt' });
    expect(deep.text).toContain('todo.txt:2');
    expect(deep.text).not.toContain('readme');
  });

  test('a search with many matches stops and says so', async () => {
    const { text } = await call('search_text_files', { query: 'row', path: 'notes' });
    expect(text.split('\n')).toHaveLength(101);
    expect(text).toContain('stopped after 100 matches, so there may be more');
  });

  test.each([
    ['many wildcards', `${'*?'.repeat(8)}Z`],
    ['many folders', `${'**/*'.repeat(40)}Z`],
    ['many alternatives', '{a,b}'.repeat(40)],
  ])('a glob with %s is matched in linear time', async (_what, glob) => {
    const name = join(folder, 'a-name-that-is-long-enough-to-keep-a-pattern-busy-for-ever.txt');
    await writeFile(name, 'needle');
    const { text } = await call('search_text_files', { query: 'needle', glob });
    expect(text).toContain('No match(es) in 0 searched');
    await rm(name);
  });

  test.each([
    ['*.ts', 'a.ts', true],
    ['*.ts', 'a.tsx', false],
    ['*.ts', '.ts', false],
    ['*', '.hidden', false],
    ['.*', '.hidden', true],
    ['*', 'a/b', false],
    ['?.md', 'ä.md', true],
    ['a?c', 'a/c', false],
    ['**', 'a/b/c', true],
    ['**/*.ts', 'a.ts', true],
    ['**/*.ts', 'a/b/c.ts', true],
    ['**/b.ts', 'a/bb.ts', false],
    ['**/b', 'a/.x/b', false],
    ['src/**/*.md', 'src/x.md', true],
    ['src/**/*.md', 'srcs/x.md', false],
    ['a/**', 'a/b', true],
    ['a/**', 'a', false],
    ['*.{ts,js}', 'a.js', true],
    ['*.{ts,js}', 'a.css', false],
    ['{a,b{c,d}}/x', 'bd/x', true],
    ['{a,b{c,d}}/x', 'b/x', false],
    ['[a-c]1', 'b1', true],
    ['[!a-c]1', 'b1', false],
    ['[a-]', '-', true],
    ['a[', 'a[', true],
    ['\\*', '*', true],
    ['\\*', 'a', false],
    ['README.md', 'readme.md', false],
  ])('the glob %j and the name %j', (glob, name, fits) => {
    expect(globMatcher(glob)(name)).toBe(fits);
  });

  test('an invalid pattern is refused', async () => {
    const broken = await call('search_text_files', { query: '(', regex: true });
    expect(broken).toMatchObject({ isError: true, text: expect.stringContaining('not a valid regular expression') });
  });
});
