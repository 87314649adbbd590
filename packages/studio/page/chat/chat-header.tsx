// Which agent, model, profile and exposure of tools a conversation has.
import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import type { ChatInfo } from '../../src/wire/wire.ts';
import { address, useAction, useConnection, useKnown } from '../parts/hooks.ts';
import { deleteChat } from './requests.ts';

/** The labels of profiles and exposures. The empty name stands for the setting of the agent. */
export const profiles = {
  '': "agent's profile",
  reader: 'at most reader',
  writer: 'at most writer',
  manager: 'at most manager',
  admin: 'at most admin',
};
export const exposures = {
  '': "agent's exposure",
  auto: 'tools: automatic',
  direct: 'tools: in the prompt',
  deferred: 'tools: searched',
};

interface HeaderProps {
  chat: ChatInfo | undefined;
  agentName: string;
  /** The id of the run whose trace can be opened. */
  runId: string | undefined;
}

export function ChatHeader({ chat, agentName, runId }: HeaderProps): VNode {
  const { agents } = useKnown();
  const model = chat?.model ?? agents.find(({ name }) => name === agentName)?.model ?? '';
  return (
    <header class="chat-header">
      {chat ? (
        <strong class="cut">{agentName}</strong>
      ) : agents.length === 0 ? null : (
        <select
          aria-label="Agent"
          value={agentName}
          onChange={(event) => location.replace(address('chat', '', event.currentTarget.value))}
        >
          {agents.map(({ name }) => (
            <option key={name} value={name}>
              {name}
            </option>
          ))}
        </select>
      )}
      {chat && !chat.isElsewhere ? (
        <Settings key={`${chat.id} ${chat.model}`} chat={chat} />
      ) : (
        <span class="soft cut">{model}</span>
      )}
      {chat && runId !== undefined && (
        <a class="to-trace" href={address('chat', chat.id, runId)}>
          Trace
        </a>
      )}
    </header>
  );
}

function Settings({ chat }: { chat: ChatInfo }): VNode {
  const connection = useConnection();
  const { error, act } = useAction();
  const [model, setModel] = useState(chat.model);
  const [isOpen, setOpen] = useState(false);
  const change = (settings: { model?: string; profile?: string; exposure?: string }) =>
    act(() => connection.post(`/chats/${chat.id}/settings`, settings));
  return (
    <>
      <button type="button" class="quiet phone-only" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        Settings
      </button>
      <div class={isOpen ? 'settings open' : 'settings'}>
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
        <Choice label="Profile" choices={profiles} value={chat.profile} onChange={(profile) => change({ profile })} />
        <Choice
          label="Exposure of tools"
          choices={exposures}
          value={chat.exposure}
          onChange={(exposure) => change({ exposure })}
        />
        <DeleteButton onDelete={() => act(() => deleteChat(connection, chat.id))} />
      </div>
      {error && (
        <span class="problem" role="alert">
          {error}
        </span>
      )}
    </>
  );
}

interface ChoiceProps {
  label: string;
  choices: Readonly<Record<string, string>>;
  value: string | undefined;
  onChange(value: string): void;
}

function Choice({ label, choices, value = '', onChange }: ChoiceProps): VNode {
  return (
    <select aria-label={label} value={value} onChange={(event) => onChange(event.currentTarget.value)}>
      {Object.entries(choices).map(([name, text]) => (
        <option key={name} value={name}>
          {text}
        </option>
      ))}
    </select>
  );
}

/** Asks once more: a deleted conversation is gone. */
function DeleteButton({ onDelete }: { onDelete(): void }): VNode {
  const [isAsking, setAsking] = useState(false);
  return (
    <button
      type="button"
      class={isAsking ? 'stop' : 'quiet'}
      onBlur={() => setAsking(false)}
      onClick={() => (isAsking ? onDelete() : setAsking(true))}
    >
      {isAsking ? 'Delete it?' : 'Delete'}
    </button>
  );
}
