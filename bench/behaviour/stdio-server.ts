// A stdio server that returns its process id: `stdio-server.ts <2025|2026> [file]`. With a file it also starts a process that
// ignores SIGTERM, and writes both ids to the file.
import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { serverOf2025, serverOf2026 } from './tools-server.ts';

const [era, file] = process.argv.slice(2);
if (file) {
  const program = 'process.on("SIGTERM", () => {}); setInterval(() => {}, 60_000)';
  const { pid } = spawn(process.execPath, ['-e', program], { stdio: 'ignore' });
  writeFileSync(file, JSON.stringify([process.pid, pid]));
}
const tools = { pid: () => String(process.pid) };
if (era === '2025') await serverOf2025(tools).connect(new StdioServerTransport());
else serveStdio(() => serverOf2026(tools), { legacy: 'reject' });
