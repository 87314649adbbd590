// The outcomes as a page of the documentation.
import { behaviours } from './behaviours.ts';

export interface Outcome {
  verdict: 'yes' | 'no' | 'not run';
  reason: string;
}

interface PageParts {
  subjects: readonly string[];
  versions: readonly string[];
  outcome(subject: string, id: string): Outcome | undefined;
}

export function page({ subjects, versions, outcome }: PageParts): string {
  const isBeyond = (subject: string, id: string) =>
    id.endsWith('2026') && outcome(subject, 'modernOnly')?.verdict === 'no';
  const rows = Object.entries(behaviours).map(([id, { title }]) => [
    title,
    ...subjects.map((subject) => (isBeyond(subject, id) ? '—' : (outcome(subject, id)?.verdict ?? ''))),
  ]);
  const head = ['', ...subjects];
  const table = [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
  return `# Behaviour, side by side

What an agent should do with MCP servers, tried on real servers of both protocol eras: 2025 (sessions, SDK v1) and
2026-07-28 (SDK v2, and nothing else: whoever does not speak it has — in its other rows). Only 2025 has sessions to end.

Every cell is one process with one set of MCP connections, an agent for each run, a scripted model and real sockets or
children. After a loss everybody has three tries. Others are used as their documentation says, with options turned on where
a behaviour is an option; what a program has to do itself (leave out a client that failed, call \`reconnect()\` before a
run, go past a list of tools that the framework keeps, put a trace context into the headers of a whole connection) does
not count for them. A documented callback for \`list_changed\` counts: LangChain and Mastra have one, in which they list the
tools anew here, and Mastra refuses it for servers of 2025. The rest have none: they are asked for their tools before
every run.

${table}

Made by \`npm run behaviour\` (\`-- --install\` installs the others first); \`npm run behaviour -- --only pocket-agent\` is part
of \`.ci/run\`. The programs are in \`bench/behaviour\` and \`bench/peers\`. Versions: ${versions.join(', ')}.
`;
}
