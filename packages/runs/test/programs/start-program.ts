// Starts a program of a test that may kill itself.
import { execFile } from 'node:child_process';

export function startProgram(program: string, options: object): Promise<{ killed: boolean; output: string }> {
  const args = ['-C', 'pocket-agent/source', program, JSON.stringify(options)];
  return new Promise((resolve, reject) => {
    execFile(process.execPath, args, (error, output) => {
      if (error && error.signal !== 'SIGKILL') reject(error);
      else resolve({ killed: error !== null, output });
    });
  });
}
