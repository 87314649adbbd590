// The floor for calls over stdio: writes lines to a pipe, and parses only the answers.
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { modernMeta } from './bare-http.ts';
import type { Connection, Endpoint } from './contender.ts';

export function bareStdio({ command, args }: Extract<Endpoint, { command: string }>): Connection {
  const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'] });
  const waiting = new Map<number, (line: string) => void>();
  let id = 0;
  createInterface(child.stdout).on('line', (line) => {
    const { id: answered } = JSON.parse(line);
    waiting.get(answered)?.(line);
    waiting.delete(answered);
  });
  return {
    async call(a, b) {
      const params = { name: 'add', arguments: { a, b }, _meta: modernMeta };
      const message = { jsonrpc: '2.0', id: ++id, method: 'tools/call', params };
      const answer = await new Promise<string>((resolve) => {
        waiting.set(id, resolve);
        child.stdin.write(`${JSON.stringify(message)}\n`);
      });
      return /"text":"([^"]*)"/.exec(answer)?.[1] ?? answer;
    },
    async close() {
      child.kill();
    },
  };
}
