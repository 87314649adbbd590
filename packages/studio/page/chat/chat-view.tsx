// A conversation with an agent, and the trace of a run beside it.
import type { VNode } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { ChatInfo, SentFile } from '../../src/wire/wire.ts';
import { address, useAction, useConnection, useKnown } from '../parts/hooks.ts';
import { RunTrace } from '../runs/run-trace.tsx';
import type { State } from '../state/model.ts';
import { rootOf } from '../state/trace.ts';
import { ChatHeader } from './chat-header.tsx';
import { Composer } from './composer.tsx';
import { Inspector } from './inspector.tsx';
import { Items } from './items.tsx';
import { branch, lastMessage, type UserItem } from './requests.ts';
import { Welcome } from './welcome.tsx';

const ELSEWHERE = 'This conversation takes place in another program. Its approvals can be answered here too.';

interface ChatViewProps {
  chatId: string | undefined;
  /** The key of a row of its trace; of a new conversation, its agent. */
  selected: string | undefined;
}

export function ChatView({ chatId, selected }: ChatViewProps): VNode {
  const known = useKnown();
  const chat = chatId ? known.chats.get(chatId) : undefined;
  const connection = useConnection();
  const { error, isBusy, act } = useAction();
  const [draft, setDraft] = useState('');
  const field = useRef<HTMLTextAreaElement>(null);
  const [files, setFiles] = useState<readonly SentFile[]>([]);
  const first = known.agents.find(({ name }) => chatId === undefined && name === selected) ?? known.agents[0];
  const agentName = chat?.info.agent ?? first?.name ?? '';
  const run = shownRun(chatId, selected, known);

  const send = (text: string, sent: readonly SentFile[]) =>
    act(async () => {
      const { id } = chat?.info ?? (await connection.post<ChatInfo>('/chats', { agent: agentName }));
      await connection.post(`/chats/${id}/messages`, { text, files: sent });
      setDraft('');
      setFiles([]);
      location.hash = address('chat', id);
    });
  const edit = (item: UserItem, text: string) => chat && act(() => branch(connection, chat.info, item, text));
  const stop = () => act(() => connection.post(`/chats/${chat?.info.id}/stop`, {}));
  const isElsewhere = chat?.info.isElsewhere === true || known.agents.length === 0;

  const isUnknown = chatId !== undefined && !chat && known.connection === 'live' && known.agents.length > 0;
  const isGone = useReopened(isUnknown ? chatId : undefined);
  if (isUnknown) return isGone ? <Gone /> : <p class="empty">Opening…</p>;
  return (
    <div class={run ? 'chat with-inspector' : 'chat'}>
      <section class="conversation" aria-label="Conversation">
        <ChatHeader chat={chat?.info} agentName={agentName} runId={run?.id} />
        {chat && (isElsewhere || chat.items.length > 0) ? (
          <Items chat={chat} onEdit={isElsewhere ? undefined : edit} />
        ) : (
          <Welcome
            agentName={agentName}
            onPick={(text) => {
              setDraft(text);
              field.current?.focus();
            }}
          />
        )}
        {error && (
          <p class="problem" role="alert">
            {error}
          </p>
        )}
        {isElsewhere ? (
          <p class="composer note">{ELSEWHERE}</p>
        ) : (
          <Composer
            field={field}
            draft={draft}
            onDraft={setDraft}
            files={files}
            onFiles={setFiles}
            isRunning={chat?.info.isRunning === true}
            isBusy={isBusy}
            onSend={send}
            onStop={stop}
            lastText={lastMessage(chat)?.text ?? ''}
          />
        )}
      </section>
      {run && chatId !== undefined && (
        <Inspector
          runId={run.id}
          isOpen={Boolean(selected)}
          closed={address('chat', chatId)}
          onLeave={() => field.current?.focus()}
        >
          <RunTrace
            key={run.id}
            run={run}
            selected={selected}
            onSelect={(key) => location.replace(address('chat', chatId, key))}
          />
        </Inspector>
      )}
    </div>
  );
}

/** The run of the selected row, or the last one. */
function shownRun(chatId: string | undefined, selected: string | undefined, { chats, runs }: State) {
  const chosen = selected ? rootOf(selected, runs) : undefined;
  if (chosen && chosen.chatId === chatId) return chosen;
  const last = chatId === undefined ? undefined : chats.get(chatId)?.lastRunId;
  return last === undefined ? undefined : runs.get(last);
}

function Gone(): VNode {
  return (
    <section class="empty">
      <h1>This conversation is gone</h1>
      <p>
        The studio was started again, or the conversation was deleted. <a href={address('chat')}>Start a new one.</a>
      </p>
    </section>
  );
}

/** Opens a saved conversation. Returns true if it does not exist. */
function useReopened(chatId: string | undefined): boolean {
  const connection = useConnection();
  const [gone, setGone] = useState<string>();
  useEffect(() => {
    if (chatId !== undefined) connection.post(`/chats/${chatId}/open`, {}).catch(() => setGone(chatId));
  }, [connection, chatId]);
  return chatId !== undefined && gone === chatId;
}
