// Which agent, model and profile a conversation has.
import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import type { ChatInfo } from '../../src/wire/wire.ts';
import { address, useAction, useConnection, useKnown } from '../parts/hooks.ts';

const profiles = ['reader', 'writer', 'manager', 'admin'];
const exposures = { auto: 'tools: automatic', direct: 'tools: all in the prompt', deferred: 'tools: found by search' };

interface Header {
  chat: ChatInfo | undefined;
  agentName: string;
  /** The id of its last run. */
  runId: string | undefined;
  onAgent(name: string): void;
}

export function ChatHeader({ chat, agentName, runId, onAgent }: Header): VNode {
  const { agents } = useKnown();
  const model = chat?.model ?? agents.find(({ name }) => name === agentName)?.model ?? '';
  return (
    <header class="chat-header">
      {chat ? (
        <strong>{agentName}</strong>
      ) : agents.length === 0 ? null : (
        <select aria-label="Agent" value={agentName} onChange={(event) => onAgent(event.currentTarget.value)}>
          {agents.map(({ name }) => (
            <option key={name} value={name}>
              {name}
            </option>
          ))}
        </select>
      )}
      {runId !== undefined && (
        <a class="to-trace" href={address('runs', runId)}>
          Trace
        </a>
      )}
      {chat && !chat.isElsewhere ? <Settings key={chat.id} chat={chat} /> : <span class="soft">{model}</span>}
    </header>
  );
}

function Settings({ chat }: { chat: ChatInfo }): VNode {
  const connection = useConnection();
  const { error, act } = useAction();
  const [model, setModel] = useState(chat.model);
  const change = (settings: { model?: string; profile?: string; exposure?: string }) =>
    act(() => connection.post(`/chats/${chat.id}/settings`, settings));
  const remove = () =>
    act(async () => {
      await connection.delete(`/chats/${chat.id}`);
      location.hash = address('chat');
    });
  return (
    <>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          change({ model });
        }}
      >
        <input
          aria-label="Model"
          value={model}
          size={Math.min(36, Math.max(12, model.length))}
          spellcheck={false}
          onInput={(event) => setModel(event.currentTarget.value)}
          onBlur={() => model !== chat.model && change({ model })}
        />
      </form>
      <select
        aria-label="Profile"
        value={chat.profile ?? ''}
        onChange={(event) => change({ profile: event.currentTarget.value })}
      >
        <option value="">profile of the agent</option>
        {profiles.map((name) => (
          <option key={name} value={name}>
            at most {name}
          </option>
        ))}
      </select>
      <select
        aria-label="Exposure of tools"
        value={chat.exposure ?? ''}
        onChange={(event) => change({ exposure: event.currentTarget.value })}
      >
        <option value="">tools: as the agent says</option>
        {Object.entries(exposures).map(([name, label]) => (
          <option key={name} value={name}>
            {label}
          </option>
        ))}
      </select>
      <button type="button" class="quiet" onClick={remove}>
        Delete
      </button>
      {error && (
        <span class="problem" role="alert">
          {error}
        </span>
      )}
    </>
  );
}
