// What an empty conversation shows.
import type { VNode } from 'preact';
import { Conversations } from '../navigation.tsx';
import { address, useKnown } from '../parts/hooks.ts';

/** The demo model has the tools for it. */
const DEMO_EXAMPLE = 'What is 17% of 2380, and what time is it in Tokyo?';
const EXAMPLE = 'Which tools do you have?';

export function Welcome({ agentName, onPick }: { agentName: string; onPick(text: string): void }): VNode {
  const { agents } = useKnown();
  const agent = agents.find(({ name }) => name === agentName);
  return (
    <div class="empty welcome">
      <h1>{agentName || 'Studio'}</h1>
      {agents.length === 0 ? (
        <p>
          The conversations of this program appear on the left when they begin. Its questions are in{' '}
          <a href={address('approvals')}>Approvals</a>.
        </p>
      ) : (
        <p>{agent?.description ?? 'Send a message, and inspect every step, tool call and token of the answer.'}</p>
      )}
      {agent?.model === 'demo' && (
        <p class="note">
          This is the demo model: a set of rules, not an LLM. Set a key, such as <code>ANTHROPIC_API_KEY</code>, or
          choose another model at the top of the conversation when it has begun.
        </p>
      )}
      {agent && (
        <p class="suggestions">
          {(agent.model === 'demo' ? [DEMO_EXAMPLE, EXAMPLE] : [EXAMPLE]).map((example) => (
            <button key={example} type="button" onClick={() => onPick(example)}>
              {example}
            </button>
          ))}
        </p>
      )}
      <div class="on-phone">
        <Conversations />
      </div>
    </div>
  );
}
