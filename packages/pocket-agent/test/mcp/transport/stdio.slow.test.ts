// Servers on stdio, also those that misbehave.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { eventually, folder, isAlive, stdio, testClient, textOfResult } from '../../fixtures/world.ts';

describe('a stdio server', () => {
  test('that prints other text to stdout still works', async () => {
    const { client, lines } = testClient({ mcpConfig: { mcpServers: { it: stdio('stdio-odd.ts', 'garbage') } } });
    expect(textOfResult(await client.callTool('echo', { text: 'fine' }))).toBe('fine');
    expect(lines.join('\n')).not.toContain('lost');
  });

  test('that exits immediately is reported with its stderr', async () => {
    const { client, reasons } = testClient({ mcpConfig: { mcpServers: { it: stdio('stdio-odd.ts', 'exits') } } });
    expect(await client.listTools()).toEqual([]);
    expect(reasons).toHaveLength(1);
    expect(reasons[0]).toMatch(
      /^Could not start MCP server "it" \(node\): it ended or closed its output before it answered/,
    );
    expect(reasons[0]).toContain('Its stderr ends with: API_TOKEN is wrong');
  });

  test('that ends later is reported with the last lines of its stderr, in a sentence of their own', async () => {
    const { args, ...entry } = stdio('stdio-plain.ts', folder());
    const greeting = ['--import', 'data:text/javascript,console.error("server up")'];
    const { client, lines } = testClient({
      mcpConfig: { mcpServers: { it: { ...entry, args: [...greeting, ...args] } } },
    });
    process.kill(Number(textOfResult(await client.callTool('pid', {}))), 'SIGKILL');
    await eventually(() =>
      expect(lines.join('\n')).toMatch(/MCP server "it" was lost: [^.]+\. Its stderr ends with: server up$/m),
    );
  });

  test.each([
    ['no-such-program', 'in the PATH'],
    ['/no/such/folder/no-such-program', 'at this path'],
    ['./no-such-program', `in ${process.cwd()}`],
  ])('whose program %s does not exist is reported with where it was searched', async (command, place) => {
    const { client, reasons } = testClient({ mcpConfig: { mcpServers: { it: { command } } } });
    expect(await client.listTools()).toEqual([]);
    expect(reasons).toEqual([
      `Could not start MCP server "it" (no-such-program): there is no program "${command}" ${place} (ENOENT). Install it, or set "command" to its full path.`,
    ]);
  });

  test('that reads its stdin gets many large calls at the same time', async () => {
    const { client } = testClient({ mcpConfig: { mcpServers: { it: stdio('stdio-plain.ts') } } });
    const text = 'x'.repeat(1_000_000);
    const calls = Array.from({ length: 20 }, async () => textOfResult(await client.callTool('echo', { text })));
    for (const answer of await Promise.all(calls)) expect(answer.length).toBe(text.length);
  });

  test('that stops reading gets at most 64 MB; calls beyond that fail immediately', async () => {
    const { client } = testClient({ mcpConfig: { mcpServers: { it: stdio('stdio-odd.ts', 'stops-reading') } } });
    const pid = Number(textOfResult(await client.callTool('pid', {})));
    await client.callTool('stop_reading', {});
    const text = 'x'.repeat(4 * 1_024 * 1_024);
    const given = new AbortController();
    const calls = Array.from({ length: 20 }, () =>
      client.callTool('echo', { text }, { signal: given.signal }).then(
        () => 'answered',
        (error: Error) => error.message,
      ),
    );
    for (const outcome of await Promise.all(calls.slice(17)))
      expect(outcome).toMatch(/node" has stopped reading its stdin: 64 MB are buffered/);
    given.abort();
    await Promise.all(calls);
    process.kill(pid, 'SIGKILL');
  });

  test('whose folder does not exist is reported, not thrown', async () => {
    const entry = { ...stdio('stdio-plain.ts'), cwd: '/no/such/folder' };
    const { client, reasons } = testClient({ mcpConfig: { mcpServers: { it: entry } } });
    expect(await client.listTools()).toEqual([]);
    expect(reasons.join()).toContain('ENOENT');
  });

  test('of 2025 that exits on a request before initialize is connected with the 2025 protocol', async () => {
    const { client, statuses } = testClient({
      mcpConfig: { mcpServers: { it: stdio('stdio-legacy.ts', 'strict') } },
    });
    expect(textOfResult(await client.callTool('echo', { text: 'fine' }))).toBe('fine');
    expect(statuses).toEqual(['it: connected']);
  });

  test('that dies while idle is started again at the next call', async () => {
    const { client, statuses } = testClient({ mcpConfig: { mcpServers: { it: stdio('stdio-plain.ts') } } });
    process.kill(Number(textOfResult(await client.callTool('pid', {}))), 'SIGKILL');
    await eventually(() => expect(statuses).toEqual(['it: connected', 'it: lost']));
    expect(textOfResult(await client.callTool('echo', { text: 'again' }))).toBe('again');
  });

  test('gets only the environment variables that every program needs', async () => {
    const program = 'console.error(Object.keys(process.env).sort().join()); process.exit(1)';
    const entry = { command: process.execPath, args: ['-e', program], env: { MINE: '1' } };
    const { client, reasons } = testClient({ mcpConfig: { mcpServers: { it: entry } } });
    await client.listTools();
    expect(reasons[0]).toContain('MINE');
    expect(reasons[0]).toContain('PATH');
    expect(reasons[0]).not.toContain('VITEST');
  });
});

describe('close', () => {
  test('ends a child and the processes it started, even if they ignore the end of stdin and SIGTERM', async () => {
    const file = join(folder(), 'pids');
    const entry = stdio('stdio-odd.ts', 'family', file);
    const { client } = testClient({ mcpConfig: { mcpServers: { it: entry } } });
    await client.listTools();
    const pids: number[] = JSON.parse(readFileSync(file, 'utf8'));
    expect(pids.map(isAlive)).toEqual([true, true]);
    await client.close();
    await eventually(() => expect(pids.map(isAlive)).toEqual([false, false]));
  });

  test('ends a child that has never answered', async () => {
    const file = join(folder(), 'pid');
    const { client } = testClient({ mcpConfig: { mcpServers: { deaf: stdio('stdio-odd.ts', 'deaf', file) } } });
    const listing = client.listTools();
    await eventually(() => expect(existsSync(file)).toBe(true));
    await client.close();
    expect(await listing).toEqual([]);
    expect(isAlive(Number(readFileSync(file, 'utf8')))).toBe(false);
  });

  test('during the start of a program that does not exist resolves', async () => {
    const mcpConfig = { mcpServers: { it: { command: 'no-such-program' } } };
    const warm = testClient({ mcpConfig }).client; // loads the modules, so that later starts take a known way
    await warm.listTools();
    for (let ticks = 0; ticks < 40; ticks++) {
      const { client } = testClient({ mcpConfig });
      const listed = client.listTools();
      for (let tick = 0; tick < ticks; tick++) await Promise.resolve();
      await client.close();
      await listed.catch(() => {});
    }
  });

  test('cuts off a call in progress', async () => {
    const { client } = testClient({ mcpConfig: { mcpServers: { it: stdio('stdio-plain.ts') } } });
    await client.listTools();
    const outcome = client.callTool('wait', {}).catch((error: unknown) => error);
    await client.close();
    expect(await outcome).toMatchObject({ code: 'AGENT_CLOSED' });
  });
});

describe('a program that is ended by a signal', () => {
  /** A program whose MCP server has a child process that ignores signals. */
  async function start(...args: string[]): Promise<{ program: ChildProcess; pids: number[] }> {
    const file = join(folder(), 'pids');
    const { command, args: own } = stdio('signalled.ts', file, ...args);
    const program = spawn(command, own, { stdio: ['ignore', 'pipe', 'inherit'] });
    onTestFinished(() => void program.kill('SIGKILL'));
    await once(program.stdout, 'data');
    return { program, pids: JSON.parse(readFileSync(file, 'utf8')) };
  }

  test.each(['SIGTERM', 'SIGINT', 'SIGHUP'] as const)('ends its servers and exits with %s', async (signal) => {
    const { program, pids } = await start();
    expect(pids.map(isAlive)).toEqual([true, true]);
    program.kill(signal);
    expect(await once(program, 'exit')).toEqual([null, signal]);
    await eventually(() => expect(pids.map(isAlive)).toEqual([false, false]));
  });

  test('ends even if the package signal-exit also listens', async () => {
    const { program, pids } = await start('polite');
    program.kill('SIGTERM');
    expect(await once(program, 'exit')).toEqual([null, 'SIGTERM']);
    await eventually(() => expect(pids.map(isAlive)).toEqual([false, false]));
  });

  test('decides itself if it handles the signal, with `once` or `on`', async () => {
    const { program, pids } = await start('handles');
    program.kill('SIGTERM');
    expect(String(await once(program.stdout ?? program, 'data'))).toBe('handled\n');
    expect(pids.map(isAlive)).toEqual([true, true]);
    program.kill('SIGINT');
    expect(String(await once(program.stdout ?? program, 'data'))).toBe('still works\n');
    program.kill('SIGINT');
    expect(await once(program, 'exit')).toEqual([7, null]);
    await eventually(() => expect(pids.map(isAlive)).toEqual([false, false]));
  });
});
