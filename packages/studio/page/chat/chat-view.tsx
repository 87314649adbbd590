// A conversation with an agent, and the trace of its last run beside it.
import type { VNode } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { ChatInfo, SentFile } from '../../src/wire/wire.ts';
import { FormCard } from '../approvals/form-card.tsx';
import { Conversations } from '../navigation.tsx';
import { address, useAction, useConnection, useKnown } from '../parts/hooks.ts';
import { RunTrace } from '../runs/run-trace.tsx';
import type { ChatState, Item } from '../state/model.ts';
import { approvals, formsOf } from '../state/questions.ts';
import { toolsOf } from '../state/trace.ts';
import { ChatHeader } from './chat-header.tsx';
import { Composer } from './composer.tsx';
import { ItemView } from './item-view.tsx';

const ELSEWHERE = 'This conversation takes place in another program. Its approvals can be answered here too.';
/** Earlier items are behind a button. */
const SHOWN_ITEMS = 200;

export function ChatView({ chatId }: { chatId: string | undefined }): VNode {
  const known = useKnown();
  const chat = chatId ? known.chats.get(chatId) : undefined;
  const [agent, setAgent] = useState('');
  const connection = useConnection();
  const { error, isBusy, act } = useAction();
  const [draft, setDraft] = useState('');
  const field = useRef<HTMLTextAreaElement>(null);
  const [files, setFiles] = useState<readonly SentFile[]>([]);
  const agentName = chat?.info.agent ?? (agent || known.agents[0]?.name || '');
  const run = chat?.lastRunId === undefined ? undefined : known.runs.get(chat.lastRunId);

  const openChat = async (from?: { chatId: string; count: number }): Promise<ChatInfo> =>
    connection.post<ChatInfo>('/chats', { agent: agentName, ...(from ? { from } : {}) });
  const send = (text: string, files: readonly SentFile[]) =>
    act(async () => {
      const { id } = chat?.info ?? (await openChat());
      await connection.post(`/chats/${id}/messages`, { text, files });
      setDraft('');
      setFiles([]);
      if (!chat) location.hash = address('chat', id);
    });
  const branch = (item: Extract<Item, { kind: 'user' }>, text: string) =>
    act(async () => {
      const { id } = await openChat({ chatId: chat?.info.id ?? '', count: item.index });
      await connection.post(`/chats/${id}/messages`, { text, files: item.files.filter(({ data }) => data !== '') });
      location.hash = address('chat', id);
    });
  const isElsewhere = chat?.info.isElsewhere === true || known.agents.length === 0;
  const stop = () => act(() => connection.post(`/chats/${chat?.info.id}/stop`, {}));

  const isUnknown = chatId !== undefined && !chat && known.connection === 'live' && known.agents.length > 0;
  const isGone = useReopened(isUnknown ? chatId : undefined);
  if (isUnknown && !isGone) return <p class="empty">Opening…</p>;
  if (isUnknown)
    return (
      <section class="empty">
        <h1>This conversation is gone</h1>
        <p>
          The studio was started again, or the conversation was deleted. <a href={address('chat')}>Start a new one.</a>
        </p>
      </section>
    );
  return (
    <div class={run ? 'chat with-inspector' : 'chat'}>
      <section class="conversation" aria-label="Conversation">
        <ChatHeader chat={chat?.info} agentName={agentName} runId={run?.id} onAgent={setAgent} />
        {chat && (isElsewhere || chat.items.length > 0) ? (
          <Items chat={chat} onEdit={isElsewhere ? undefined : branch} />
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
            lastText={chat?.items.findLast((item) => item.kind === 'user')?.text ?? ''}
          />
        )}
      </section>
      {run && (
        <aside class="inspector" aria-label="Trace of the last run">
          <RunTrace run={run} />
        </aside>
      )}
    </div>
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

function Items({
  chat,
  onEdit,
}: {
  chat: ChatState;
  onEdit: ((item: Extract<Item, { kind: 'user' }>, text: string) => void) | undefined;
}): VNode {
  const { runs, questions, answers } = useKnown();
  const list = useRef<HTMLDivElement>(null);
  const isAtEnd = useRef(true);
  useEffect(() => {
    if (isAtEnd.current && list.current) list.current.scrollTop = list.current.scrollHeight;
  }, [chat.items, questions]);
  const [count, setCount] = useState(SHOWN_ITEMS);
  const tools = useMemo(() => toolsOf(runs.values(), chat.info.id), [runs, chat.info.id]);
  const asked = new Map(approvals(questions).map((question) => [question.toolCallId, question]));
  const isAsked = [...questions.values()].some(({ chatId }) => chatId === chat.info.id);
  const earlier = Math.max(0, chat.items.length - count);
  const last = chat.items.at(-1);
  const finished = last?.kind === 'answer' && !last.isStreaming ? last.text : '';
  return (
    <>
      <div
        class="items"
        ref={list}
        onScroll={({ currentTarget: { scrollTop, scrollHeight, clientHeight } }) => {
          isAtEnd.current = scrollHeight - scrollTop - clientHeight < 40;
        }}
      >
        {earlier > 0 && (
          <button type="button" class="quiet" onClick={() => setCount(count * 2)}>
            {earlier} earlier
          </button>
        )}
        {chat.items.slice(earlier).map((item) => {
          const id = item.kind === 'tool' ? item.toolCallId : '';
          return (
            <ItemView
              key={item.key}
              item={item}
              tool={tools.get(id)}
              question={asked.get(id)}
              answer={answers.get(id)}
              onEdit={onEdit}
            />
          );
        })}
        {formsOf(questions, chat.info.id).map((form) => (
          <FormCard key={form.id} question={form} />
        ))}
        {chat.info.isRunning && <p class="working">{isAsked ? 'Waiting for your answer.' : 'Working…'}</p>}
      </div>
      <p class="hidden" aria-live="polite">
        {finished}
      </p>
    </>
  );
}

function Welcome({ agentName, onPick }: { agentName: string; onPick(text: string): void }): VNode {
  const { agents } = useKnown();
  const agent = agents.find(({ name }) => name === agentName);
  if (agents.length === 0)
    return (
      <div class="empty">
        <h1>Studio</h1>
        <p>
          The conversations of this program appear on the left when they begin. Its questions are in{' '}
          <a href={address('approvals')}>Approvals</a>.
        </p>
        <div class="on-phone">
          <Conversations />
        </div>
      </div>
    );
  const examples = ['What is 17% of 2380, and what time is it in Tokyo?', 'Which tools do you have?'];
  return (
    <div class="empty">
      <h1>{agentName || 'Studio'}</h1>
      <p>{agent?.description ?? 'Send a message, and inspect every step, tool call and token of the answer.'}</p>
      {agent?.model === 'demo' && (
        <p class="note">
          This is the demo model: a set of rules, not an LLM. Set a key, such as <code>ANTHROPIC_API_KEY</code>, or
          choose a model above.
        </p>
      )}
      <p>
        {examples.map((example) => (
          <button key={example} type="button" class="quiet" onClick={() => onPick(example)}>
            {example}
          </button>
        ))}
      </p>
      <div class="on-phone">
        <Conversations />
      </div>
    </div>
  );
}
