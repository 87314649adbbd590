// The frame of the page: navigation on the left, the view that the address names beside it.
import type { VNode } from 'preact';
import { useEffect } from 'preact/hooks';
import { ApprovalsView } from './approvals/approvals-view.tsx';
import { ChatView } from './chat/chat-view.tsx';
import { CostView } from './cost/cost-view.tsx';
import { DurableView } from './durable/durable-view.tsx';
import { GatewaysView } from './gateways/gateways-view.tsx';
import { Navigation } from './navigation.tsx';
import { Palette } from './palette/palette.tsx';
import { Guarded } from './parts/guarded.tsx';
import { useKnown, useRoute } from './parts/hooks.ts';
import { RunsView } from './runs/runs-view.tsx';
import { ToolsView } from './tools/tools-view.tsx';

export function App(): VNode {
  const { connection, questions } = useKnown();
  const route = useRoute();
  const [view = '', ...rest] = route;
  useEffect(() => {
    document.title = questions.size > 0 ? `(${questions.size}) Studio` : 'Studio';
  }, [questions.size]);
  if (connection === 'refused' || connection === 'expired') return <Refused isExpired={connection === 'expired'} />;
  return (
    <div class="frame">
      <Navigation view={view} place={rest[0]} />
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, also by keys */}
      <main tabIndex={0}>
        {connection === 'reconnecting' && (
          <p class="banner" role="status">
            The studio does not answer. Connecting again…
          </p>
        )}
        <Guarded key={`${view}/${rest[0]}`} what="This view">
          <View view={view} rest={rest} />
        </Guarded>
      </main>
      <Palette route={route} />
    </div>
  );
}

function View({ view, rest: [first, second] }: { view: string; rest: string[] }): VNode {
  if (view === 'approvals') return <ApprovalsView />;
  if (view === 'runs') return <RunsView runId={first} selected={second} />;
  if (view === 'tools') return <ToolsView agent={first} selected={second} />;
  if (view === 'cost') return <CostView />;
  if (view === 'gateways') return <GatewaysView />;
  if (view === 'durable') return <DurableView runId={first} selected={second} />;
  return <ChatView key={first ?? ''} chatId={first || undefined} selected={second} />;
}

function Refused({ isExpired }: { isExpired: boolean }): VNode {
  return (
    <main class="refused">
      <h1>{isExpired ? 'The studio has a new token' : 'This address has no token'}</h1>
      <p>
        {isExpired
          ? 'It was started again since this page was opened.'
          : 'Only those who have its token may use the studio.'}{' '}
        Open the address that it printed, which ends in <code>#token=…</code>, here or in another tab: this page goes on
        by itself.
      </p>
    </main>
  );
}
