// A tool call in a conversation: a line that unfolds, and its question if it waits for an answer.
import type { VNode } from 'preact';
import type { ApprovalQuestion } from '../../src/wire/wire.ts';
import { QuestionCard } from '../approvals/question-card.tsx';
import { duration } from '../parts/format.ts';
import { JsonTree } from '../parts/json-tree.tsx';
import { ToolResultView } from '../parts/tool-result-view.tsx';
import type { ToolState } from '../state/model.ts';

interface ToolCallProps {
  tool: ToolState;
  /** If it waits for an answer. */
  question: ApprovalQuestion | undefined;
  /** How it was answered. */
  answer: string | undefined;
}

export function ToolCallView({ tool, question, answer }: ToolCallProps): VNode {
  if (question) return <QuestionCard question={question} />;
  return (
    <details class="tool">
      <summary>
        <span class="tool-name">{tool.name}</span>{' '}
        <span class="soft tool-arguments">{shortArguments(tool.arguments)}</span>{' '}
        <span class="tool-status">
          {answer && <span class="soft">{answer} · </span>}
          <ToolStatus tool={tool} />
        </span>
      </summary>
      <h4>Arguments</h4>
      <JsonTree value={tool.arguments} />
      {tool.reason && <p class="problem">{tool.reason}</p>}
      <ToolResultView tool={tool} />
    </details>
  );
}

function ToolStatus({ tool }: { tool: ToolState }): VNode {
  const { progress, total, message = '' } = tool.progress ?? { progress: 0 };
  if (tool.endedAt === undefined && tool.progress)
    return (
      <span class="soft">
        <progress value={progress} max={total ?? progress} aria-label="Progress" /> {message}
      </span>
    );
  if (tool.endedAt === undefined) return <span class="soft">running…</span>;
  const time = duration(tool.endedAt - tool.startedAt);
  if (tool.decision === 'denied' || tool.decision === 'refused') return <span class="bad">not called · {time}</span>;
  return tool.isError ? <span class="bad">failed · {time}</span> : <span class="good">✓ {time}</span>;
}

function shortArguments(args: Record<string, unknown>): string {
  const text = Object.entries(args)
    .map(([name, value]) => `${name}: ${JSON.stringify(value)}`)
    .join(', ');
  return text.length > 120 ? `${text.slice(0, 119)}…` : text;
}
