// The floor: a hand-written loop over tools in this process.

import { bareHttp } from './bare-http.ts';
import { bareStdio } from './bare-stdio.ts';
import type { BenchTool, Contender } from './contender.ts';
import { type Call, handLoop } from './hand-loop.ts';

export const contender: Omit<Contender, 'throughMcp'> = {
  inProcess(job) {
    const byName = new Map<string, BenchTool>(job.tools.map((tool) => [tool.name, tool]));
    const definitions = job.tools.map(({ name, description }) => ({ name, description, inputSchema }));
    const call: Call = async (name, { a, b }) => byName.get(name)?.run(a, b) ?? 'no such tool';
    return handLoop({ job, definitions, call });
  },
  connect: async (endpoint) => ('url' in endpoint ? bareHttp(endpoint.url) : bareStdio(endpoint)),
};

const inputSchema = {
  type: 'object' as const,
  properties: { a: { type: 'number' as const }, b: { type: 'number' as const } },
  required: ['a', 'b'],
};
