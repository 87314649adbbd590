// A tool call in a conversation: a line that unfolds, and its question if it waits for an answer.
import type { VNode } from 'preact';
import { QuestionCard } from '../approvals/question-card.tsx';
import { duration } from '../parts/format.ts';
import { useKnown } from '../parts/hooks.ts';
import { JsonTree } from '../parts/json-tree.tsx';
import { ToolResultView } from '../parts/tool-result-view.tsx';
import type { ToolState } from '../state/model.ts';

export function ToolCallView({ tool }: { tool: ToolState }): VNode {
  const { questions, answers } = useKnown();
  const question = [...questions.values()].find(({ toolCallId }) => toolCallId === tool.id);
  const answer = answers.get(tool.id);
  if (question) return <QuestionCard question={question} />;
  return (
    <details class="tool">
      <summary>
        <span class="tool-name">{tool.name}</span>{' '}
        <span class="soft tool-arguments">{shortArguments(tool.arguments)}</span> <ToolStatus tool={tool} />{' '}
        {answer && <span class="soft">{answer}</span>}
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
  const text = JSON.stringify(args);
  return text.length > 80 ? `${text.slice(0, 79)}…` : text;
}
