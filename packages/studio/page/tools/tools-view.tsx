// The tools and servers of an agent, and a form to call one of them.
import type { VNode } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { ToolList } from '../../src/wire/wire.ts';
import { counted, duration } from '../parts/format.ts';
import { address, useAction, useConnection, useKnown } from '../parts/hooks.ts';
import { JsonTree } from '../parts/json-tree.tsx';
import { callsByServer } from '../state/totals.ts';
import { Offers } from './offers.tsx';
import { ToolForm } from './tool-form.tsx';

export function ToolsView({ agent, tool: name }: { agent: string | undefined; tool: string | undefined }): VNode {
  const { agents, runs } = useKnown();
  const chosen = agent || agents[0]?.name;
  const connection = useConnection();
  const { error, act } = useAction();
  const [list, setList] = useState<ToolList>();
  const [words, setWords] = useState('');
  useEffect(() => {
    setList(undefined);
    if (chosen !== undefined)
      act(async () => setList(await connection.get<ToolList>(`/agents/${encodeURIComponent(chosen)}/tools`)));
  }, [act, connection, chosen]);
  const tool = list?.tools.find((each) => each.name === name);
  const found = list?.tools.filter((each) =>
    `${each.name} ${each.description ?? ''}`.toLowerCase().includes(words.toLowerCase()),
  );
  return (
    <section class="page">
      <h1>Tools</h1>
      <p class="actions">
        <select
          aria-label="Agent"
          value={chosen ?? ''}
          onChange={(event) => {
            location.hash = address('tools', event.currentTarget.value);
          }}
        >
          {agents.map((each) => (
            <option key={each.name} value={each.name}>
              {each.name}
            </option>
          ))}
        </select>
        <input
          type="search"
          aria-label="Search tools"
          placeholder="Search tools"
          value={words}
          onInput={(event) => setWords(event.currentTarget.value)}
        />
      </p>
      {error && (
        <p class="problem" role="alert">
          {error}
        </p>
      )}
      {!list && !error && <p class="note">Asking the servers…</p>}
      {list && list.servers.length > 0 && (
        <ul class="plain servers">
          {list.servers.map(({ name: server, status, reason }) => {
            const { calls, failed, medianMs } = callsByServer(runs.values(), list.tools, server);
            return (
              <li key={server}>
                <strong>{server}</strong> <span class={status === 'connected' ? 'good' : 'bad'}>{status}</span>{' '}
                {calls > 0 && (
                  <span class="soft">
                    {counted(calls, 'call')}, median {duration(medianMs)}, {failed} failed
                  </span>
                )}{' '}
                {reason && <span class="soft">{reason}</span>}
              </li>
            );
          })}
        </ul>
      )}
      {list?.tools.length === 0 && <NoTools />}
      <ul class="plain tools">
        {found?.map((each) => (
          <li key={each.name}>
            <a href={address('tools', chosen ?? '', each.name)} aria-current={each === tool ? 'true' : undefined}>
              {each.name}
            </a>{' '}
            <span class={`capability ${each.capability}`}>{each.capability}</span>{' '}
            {each.exposure && <span class="soft">{each.exposure}</span>}{' '}
            {each.hiddenBy && <span class="hidden-tool">hidden: {each.hiddenBy}</span>}
            <p class={each === tool ? 'soft' : 'soft cut'}>{each.description}</p>
            {each === tool && (
              <>
                {each.hiddenBy === undefined && <ToolForm key={each.name} agent={chosen ?? ''} tool={each} />}
                <h4>Input schema</h4>
                <JsonTree value={each.inputSchema} />
                {each.outputSchema !== undefined && (
                  <>
                    <h4>Output schema</h4>
                    <JsonTree value={each.outputSchema} />
                  </>
                )}
              </>
            )}
          </li>
        ))}
      </ul>
      {list && list.servers.length > 0 && chosen !== undefined && <Offers key={chosen} agent={chosen} />}
    </section>
  );
}

const example = `{
  "mcpServers": {
    "files": { "command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem", "."] }
  }
}`;

function NoTools(): VNode {
  return (
    <div class="empty">
      <p>This agent has no tools yet. Put this in a file and start the studio with --mcp FILE:</p>
      <pre>{example}</pre>
    </div>
  );
}
