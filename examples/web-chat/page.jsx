// The page: one conversation, whose id is in the URL, so that a reload shows it again.
import { useChat } from '@ai-sdk/react';
import { DefaultChatTransport, lastAssistantMessageIsCompleteWithApprovalResponses } from 'ai';
import { createElement, StrictMode } from 'react';
import { createRoot } from 'react-dom/client';

function ChatPage({ id, saved }) {
  const { messages, sendMessage, addToolApprovalResponse, status, error } = useChat({
    id,
    messages: saved,
    resume: true,
    transport: new DefaultChatTransport({ api: '/api/chat' }),
    sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses,
  });
  const send = (event) => {
    event.preventDefault();
    sendMessage({ text: new FormData(event.currentTarget).get('question') });
    event.currentTarget.reset();
  };
  return (
    <>
      {messages.map(({ id: key, role, parts }) => (
        <section key={key} aria-label={role}>
          {parts.map((part, index) => (
            <Part key={index} part={part} answer={addToolApprovalResponse} />
          ))}
        </section>
      ))}
      {error && <p role="alert">{error.message}</p>}
      <form onSubmit={send}>
        <input name="question" aria-label="Question" disabled={status !== 'ready' && status !== 'error'} />
      </form>
    </>
  );
}

function Part({ part, answer }) {
  if (part.type === 'text') return <p>{part.text}</p>;
  if (part.type !== 'dynamic-tool') return null;
  if (part.state !== 'approval-requested') {
    const { toolName, state } = part;
    return (
      <p>
        {toolName}: {state}
      </p>
    );
  }
  const { id } = part.approval;
  return (
    <p>
      May {part.toolName} run with {JSON.stringify(part.input)}?
      <button type="button" onClick={() => answer({ id, approved: true })}>
        Allow
      </button>
      <button type="button" onClick={() => answer({ id, approved: false })}>
        Deny
      </button>
    </p>
  );
}

const id = location.hash.slice(1) || 'support';
const { messages } = await (await fetch(`/api/chat/${id}`)).json();
createRoot(document.querySelector('main')).render(
  createElement(StrictMode, null, <ChatPage id={id} saved={messages} />),
);
